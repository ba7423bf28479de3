"""Metrics of a run under way: JSON lines, a table at the end, and loggers if they are asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Literal, Protocol, get_args

import optax

from curta.errors import ExperimentError
from curta.learn.experiment import Experiment
from curta.learn.files import whole
from curta.learn.folder import read_lines, write
from curta.learn.training.loop import ChunkMetrics
from curta.learn.training.optimiser import learning_rate

Log = Literal["tensorboard", "wandb"]


class Logger(Protocol):
    """Something else that wants the metrics."""

    def log(self, step: int, values: dict[str, float]) -> None:
        """Take the values of a step."""

    def close(self) -> None:
        """There are no more."""


class Metrics:
    """The lines of a run; those behind the checkpoint that it goes on from are dropped."""

    def __init__(
        self, path: Path, experiment: Experiment, step: int, loggers: list[Logger]
    ) -> None:
        kept = [line for line in read_lines(path) if line["step"] <= step]
        write(path, "".join(f"{json.dumps(line)}\n" for line in kept))
        self.before = kept[-1]["seconds"] if kept else 0.0
        """Seconds that were spent before the run was resumed."""
        self.rate: optax.Schedule = learning_rate(experiment.training)
        self.first_seed = experiment.training.seed
        self.loggers = loggers
        self.file = path.open("a", encoding="utf-8")

    def add(self, chunk: ChunkMetrics) -> dict[str, Any]:
        """Write a line."""
        line = {
            "step": chunk.step,
            "seconds": round(self.before + chunk.seconds, 3),
            "steps_per_second": round(chunk.steps_per_second, 3),
            "learning_rate": float(self.rate(chunk.step)),
            "loss": chunk.loss,
            "exact": chunk.exact,
            "token": chunk.token,
        }
        self.file.write(f"{json.dumps(line)}\n")
        self.file.flush()
        for logger in self.loggers:
            logger.log(chunk.step, by_seed(line, self.first_seed))
        return line

    def sync(self) -> None:
        """Make sure that no checkpoint is newer than the lines."""
        os.fsync(self.file.fileno())

    def close(self) -> None:
        """There are no more lines."""
        self.file.close()
        for logger in self.loggers:
            logger.close()


def by_seed(line: dict[str, Any], first_seed: int) -> dict[str, float]:
    """Values under names such as loss/seed0."""
    values = {name: line[name] for name in ("learning_rate", "steps_per_second")}
    for name in ("loss", "exact", "token"):
        for index, value in enumerate(line[name]):
            values[f"{name}/seed{first_seed + index}"] = value
    return values


def write_table(lines: list[dict[str, Any]], first_seed: int, path: Path) -> None:
    """A row for each chunk and seed, as Parquet."""
    import pyarrow
    import pyarrow.parquet

    rows = [
        {
            **{name: line[name] for name in ("step", "seconds", "steps_per_second")},
            "learning_rate": line["learning_rate"],
            "seed": first_seed + index,
            **{name: line[name][index] for name in ("loss", "exact", "token")},
        }
        for line in lines
        for index in range(len(line["loss"]))
    ]
    with whole(path) as partial:
        pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), partial)


class TensorBoard:
    """Event files in the run's folder."""

    def __init__(self, path: Path) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError as error:
            raise not_installed("tensorboard", "tensorboardX") from error
        self.writer = SummaryWriter(logdir=str(path / "tensorboard"))

    def log(self, step: int, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.writer.add_scalar(name, value, step)

    def close(self) -> None:
        self.writer.close()


class WeightsAndBiases:
    """A run of Weights & Biases."""

    def __init__(self, path: Path, experiment: Experiment) -> None:
        try:
            import wandb
        except ImportError as error:
            raise not_installed("wandb", "wandb") from error
        self.run = wandb.init(
            project="curta", name=path.name, dir=str(path), config=json.loads(experiment.to_json())
        )

    def log(self, step: int, values: dict[str, float]) -> None:
        self.run.log(values, step=step)

    def close(self) -> None:
        self.run.finish()


def not_installed(name: str, package: str) -> ExperimentError:
    """What to do about it."""
    return ExperimentError(f"--log {name} needs {package}: pip install {package}")


def logger(name: str, path: Path, experiment: Experiment) -> Logger:
    """The logger of this name."""
    if name == "tensorboard":
        return TensorBoard(path)
    if name == "wandb":
        return WeightsAndBiases(path, experiment)
    raise ExperimentError(f"--log {name}: there are {', '.join(get_args(Log))}")
