"""A small run that several test modules look at; it is trained once per process."""

from __future__ import annotations

import atexit
import dataclasses
import shutil
import tempfile
from functools import cache
from pathlib import Path

from curta.learn import runs
from curta.learn.commands.shared import keep_compiled_programs
from curta.learn.experiment import EvaluationConfig, Experiment
from curta.learn.folder import RunFolder
from curta.learn.models.config import ModelConfig

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
    """Trained, evaluated, with its report."""
    keep_compiled_programs()
    place = Path(tempfile.mkdtemp(prefix="curta-learn-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    folder = RunFolder.create(place / "tiny-run", dataclasses.replace(TINY))
    runs.run(folder)
    return folder
