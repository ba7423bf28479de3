"""A run that is kept, once for all tests of kept runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from curta.machine.kept.file import KeptRun
from curta.machine.kept.keeping import Ready
from curta.machine.kept.resume import ready_for
from tests.machine.kept.kept_program import GIVEN, MODULE, OPTIONS, REFERENCE


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended, in several chapters."""
    path = tmp_path_factory.mktemp("kept") / "run.curta"
    REFERENCE.run(MODULE, keep=path, keep_tokens=True, **OPTIONS)  # type: ignore[arg-type]
    return path


@pytest.fixture(scope="session")
def expected() -> bytes:
    """What it writes."""
    return REFERENCE.run(MODULE, stdin=GIVEN).stdout


@pytest.fixture(scope="session")
def ready(whole: Path) -> Ready:
    with KeptRun.open(whole) as kept:
        return ready_for(kept)
