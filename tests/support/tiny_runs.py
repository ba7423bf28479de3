"""A small run that several test modules look at; it is trained once."""

from __future__ import annotations

import atexit
import fcntl
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import jax

from curta.learn import runs
from curta.learn.commands.shared import keep_compiled_programs
from curta.learn.experiment import EvaluationConfig, Experiment
from curta.learn.folder import RunFolder
from curta.learn.models.config import ModelConfig
from curta.settings import read_settings
from curta.store import key_of, sources_digest

TINY = Experiment(
    name="tiny",
    format="reversed",
    positions="abacus",
    model=ModelConfig(width=16, layers=1, heads=2, feedforward=16),
    evaluation=EvaluationConfig(
        digits=(1, 3), grid=True, samples=8, test=64, values=(0, 999), loops=(1, 2), probes=True
    ),
).with_(steps=24, batch=8, chunk=4, checkpoint=8, seeds=2, digits=(1, 2), warmup=0, test_share=0.1)


def tiny(**changes: object) -> Experiment:
    """The same experiment with other options."""
    return TINY.with_(**changes)


@cache
def tiny_run() -> RunFolder:
    """Trained, evaluated, with its report: a copy for this process, of what the first one made."""
    keep_compiled_programs()
    made_by = sources_digest("learn/**/*.py") or os.urandom(16)
    key = key_of(made_by, jax.__version__.encode(), TINY.to_json().encode())
    shared, own = (
        read_settings().cache_directory / f"tests-{key}",
        tempfile.mkdtemp(prefix="curta-"),
    )
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    shared.mkdir(parents=True, exist_ok=True)
    with open(shared / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "made").exists():
            shutil.rmtree(shared / "tiny-run", ignore_errors=True)
            runs.run(RunFolder.create(shared / "tiny-run", TINY))
            (shared / "made").touch()
    return RunFolder.open(shutil.copytree(shared / "tiny-run", Path(own) / "tiny-run"))
