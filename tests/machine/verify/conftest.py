"""A run that is kept, once for all tests of verifying."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from curta.machine.kept.file import KeptRun
from curta.machine.kept.keeping import Ready
from curta.machine.kept.resume import ready_for
from curta.machine.processes import WorkerSetup
from tests.machine.verify.kept_chapters import GIVEN, MODULE, REFERENCE


@pytest.fixture(scope="session")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that ended, in several chapters."""
    path = tmp_path_factory.mktemp("kept") / "run.curta"
    REFERENCE.run(MODULE, keep=path, stdin=GIVEN, chapter_tokens=700)
    return path


@pytest.fixture(scope="session")
def with_tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, with its tokens."""
    path = tmp_path_factory.mktemp("kept") / "tokens.curta"
    REFERENCE.run(MODULE, keep=path, keep_tokens=True, stdin=GIVEN, chapter_tokens=700)
    return path


@pytest.fixture(scope="session")
def ready(path: Path) -> Ready:
    with KeptRun.open(path) as kept:
        return ready_for(kept)


@pytest.fixture
def worker(ready: Ready) -> WorkerSetup:
    return WorkerSetup("hull", ready.program.to_bytes(), False, None, (), os.getcwd())
