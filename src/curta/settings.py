"""The environment, read in one place.

| variable      | meaning                                                                |
|---------------|------------------------------------------------------------------------|
| `CURTA_CC`    | the C compiler to use, with its arguments: `gcc-13`, `zig cc`, …        |
| `CURTA_CACHE` | where what can be made again is kept; by default the user cache directory |
| `CURTA_PLACES` | when runs get code that knows their program: `later` (default), `now`, `off` |
| `PATH`        | where `cc`, `clang` and `gcc` are looked for                           |
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from curta.errors import UserError


@dataclass(frozen=True, slots=True)
class Settings:
    """What curta takes from its surroundings."""

    compiler_command: str | None
    cache_directory: Path
    search_path: str
    places: str = "later"


def read_settings() -> Settings:
    """Read the environment as it is now; nothing is remembered between calls."""
    return Settings(
        compiler_command=os.environ.get("CURTA_CC") or None,
        cache_directory=_cache_directory(os.environ.get("CURTA_CACHE")),
        search_path=os.environ.get("PATH", ""),
        places=_places(os.environ.get("CURTA_PLACES") or "later"),
    )


def _places(chosen: str) -> str:
    if chosen not in ("later", "now", "off"):
        raise UserError(f"CURTA_PLACES is set to {chosen!r}: expected later, now or off")
    return chosen


def _cache_directory(override: str | None) -> Path:
    if override:
        try:
            return Path(override).expanduser().absolute()
        except RuntimeError as error:
            raise UserError(f"CURTA_CACHE is set to {override!r}: {error}") from error
    import platformdirs  # only when needed: start-up time is part of every run

    return Path(platformdirs.user_cache_dir("curta"))
