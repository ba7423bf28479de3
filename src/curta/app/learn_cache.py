"""Compiled programs are kept between calls: compiling takes longer than most of what is run.

A program from the cache is the one that was compiled, so runs stay the same bit for bit.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable
from pathlib import Path

from curta.settings import read_settings

SECONDS_WORTH_KEEPING = 0.2


def keep_compiled_programs() -> None:
    """Let JAX keep them in curta's cache, unless the user has told it where to."""
    if "JAX_COMPILATION_CACHE_DIR" in os.environ:
        return
    import jax

    place = read_settings().cache_directory / "learn" / machine()
    update: Callable[[str, object], None] = jax.config.update
    update("jax_compilation_cache_dir", str(place))
    update("jax_persistent_cache_min_compile_time_secs", SECONDS_WORTH_KEEPING)


def machine() -> str:
    """Names the processor: a cache that several machines share holds programs for each."""
    file = Path("/proc/cpuinfo")
    flags = ""
    if file.is_file():
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        flags = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    named = f"{platform.machine()} {platform.processor()} {flags}"
    return hashlib.sha256(named.encode()).hexdigest()[:12]
