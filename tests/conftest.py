"""Every test session has a cache of its own; all its tests and worker processes share it."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.support.slow import THOROUGH, draws

MADE_HERE = pytest.StashKey[str]()
FUSION_EMITTERS = "--xla_cpu_use_fusion_emitters=false"
"""Without them XLA compiles in half the time; one that does not know a flag ends the process."""
KNOWN_BY = ("0.10.",)


def pytest_configure(config: pytest.Config) -> None:
    """The user's cache is neither read nor written. Workers inherit the environment: the C library
    that the first program is linked with takes half a minute to build, once is enough.
    """
    if "not slow" not in config.option.markexpr:
        os.environ[THOROUGH] = "1"
    # Machines are shared: how long something takes is no property of the code.
    settings.register_profile(
        "shared",
        deadline=None,
        max_examples=draws(100),
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("shared")
    # Each worker has a core of its own: more threads would only wait for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    # Models here are tiny and run a few times: compiling them well would take longer.
    os.environ.setdefault("JAX_DISABLE_MOST_OPTIMIZATIONS", "true")
    # Where an operation was written, for profilers: a tenth of the time of compiling.
    os.environ.setdefault("JAX_INCLUDE_FULL_TRACEBACKS_IN_LOCATIONS", "false")
    os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
    flags = os.environ.get("XLA_FLAGS", "")
    with suppress(PackageNotFoundError):
        if version("jaxlib").startswith(KNOWN_BY) and FUSION_EMITTERS not in flags:
            os.environ["XLA_FLAGS"] = f"{flags} {FUSION_EMITTERS}".strip()
    if "CURTA_CACHE" not in os.environ:
        config.stash[MADE_HERE] = os.environ["CURTA_CACHE"] = tempfile.mkdtemp(prefix="curta-")
    # What one test compiled, another need not: most of them run the same few tiny models.
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", f"{os.environ['CURTA_CACHE']}/jax")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of the machine last: while one worker compiles it, the other has others to run."""
    items.sort(key=lambda item: bool({"examples", "machine"} & set(item.path.parts)))


def pytest_collection_finish() -> None:
    """What was imported stays: otherwise every full collection of garbage, of which transformers
    has one in each training, looks at millions of objects, which takes most of a second.
    """
    gc.collect()
    gc.freeze()


def pytest_unconfigure(config: pytest.Config) -> None:
    if MADE_HERE in config.stash:
        del os.environ["CURTA_CACHE"]
        shutil.rmtree(config.stash[MADE_HERE], ignore_errors=True)


@pytest.fixture(autouse=True, scope="session")
def machine_read_once() -> Iterator[None]:
    """The machine's weights take a second or two to read: a process does so once. What is told of
    passes, or has extensions, does it anew. All of its code is there before anything is said.
    """
    from curta.compiler import Model
    from curta.compiler.compile import OnPass
    from curta.machine import weights
    from curta.machine.parts.operations import Extension

    read = weights.machine_model
    default = cache(read)
    begun = weights.CachedNative.__init__

    def machine_model(extensions: Sequence[Extension] = (), on_pass: OnPass | None = None) -> Model:
        return read(extensions, on_pass) if extensions or on_pass else default()

    def whole(engine: weights.CachedNative, *given: Any) -> None:
        begun(engine, *given)
        engine.library.complete()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(weights, "machine_model", machine_model)
        patch.setattr(weights.CachedNative, "__init__", whole)
        yield
