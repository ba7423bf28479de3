"""A run's folder: what is kept of it, so that it can be resumed, evaluated, compared and asked.

experiment.json         all choices
parts/                  copies of the user's own tasks, formats and position schemes
run.json                versions, machine, seeds, when it began
metrics.jsonl           a line for each chunk of steps
metrics.parquet         the same as a table, a row for each chunk and seed; when training is done
checkpoint.safetensors  models, optimiser and step
evaluation.json         what was measured, as the experiment says
evaluation-CHOICES.json what was measured with other choices, beside it
report.html             all of it, to look at
"""

from __future__ import annotations

import json
import platform
import shutil
import sys
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from curta.errors import ExperimentError, FileError
from curta.learn import catalogue
from curta.learn.experiment import Experiment, Setup
from curta.learn.files import whole
from curta.learn.models.transformer import Transformer
from curta.learn.training.devices import usable_cores
from curta.learn.training.state import TrainingState, load_state

KINDS = ("task", "format", "positions")
MEASURED = (
    "config", "seeds", "loops", "own_loops", "parameters", "summary", "cells", "walks", "errors",
    "samples", "data",
)  # fmt: skip
"""The parts of an evaluation."""

PACKAGES = ("curta", "jax", "jaxlib", "equinox", "optax", "numpy")


class RunFolder:
    """Of one experiment.

    measured: by which of its evaluations: the choices in which that is not the experiment's own
    """

    def __init__(self, path: Path, measured: str = "") -> None:
        self.path, self.measured = path, measured
        self.experiment_file = path / "experiment.json"
        self.metrics_file = path / "metrics.jsonl"
        self.table_file = path / "metrics.parquet"
        self.checkpoint_file = path / "checkpoint.safetensors"
        self.evaluation_file = path / f"evaluation{measured and '-'}{measured}.json"
        self.report_file = path / "report.html"

    @staticmethod
    def create(path: Path, experiment: Experiment) -> RunFolder:
        """A new folder; one that holds something already is left alone."""
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise ExperimentError(
                f"{path} is there already: choose another --out, or curta learn resume {path}"
            )
        make(path)
        folder = RunFolder(path)
        for kind, files in own_files(experiment).items():
            make(path / "parts" / kind)
            for file in files:
                shutil.copyfile(file, path / "parts" / kind / file.name)
        write(path / "run.json", json.dumps(surroundings(experiment), indent=2))
        write(folder.experiment_file, experiment.to_json())
        return folder

    @staticmethod
    def open(path: Path) -> RunFolder:
        """A folder that is there."""
        folder = RunFolder(path)
        if not folder.experiment_file.is_file():
            raise ExperimentError(f"{path} is not a run: it has no experiment.json")
        return folder

    @cached_property
    def experiment(self) -> Experiment:
        """All choices."""
        try:
            written = Experiment.from_json(self.experiment_file.read_text(encoding="utf-8"))
        except (ValueError, TypeError, KeyError) as error:
            raise FileError(f"{self.experiment_file}: not an experiment ({error})") from error
        copies = {
            kind: catalogue.moved(getattr(written, kind), self.path / "parts" / kind)
            for kind in own_files(written)
        }
        return written.with_(**copies)

    @cached_property
    def setup(self) -> Setup:
        """Its parts."""
        return Setup(self.experiment)

    @property
    def name(self) -> str:
        """What reports call it."""
        return " ".join(filter(None, (self.path.resolve().name, self.measured)))

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The lines that are whole: a kill may have cut the last one."""
        return read_lines(self.metrics_file)

    @property
    def evaluation(self) -> dict[str, Any] | None:
        """What was measured, if it was."""
        if not self.evaluation_file.is_file():
            return None
        found = read_object(self.evaluation_file)
        missing = [part for part in MEASURED if part not in found]
        if missing:
            raise FileError(
                f"{self.evaluation_file}: not a whole evaluation, {missing[0]} is missing: measure "
                f"again with curta learn evaluate {self.path}"
            )
        return found

    @property
    def measured_step(self) -> int | None:
        """The step of training that the evaluation was made behind, where there is one."""
        measured: int | None = (self.evaluation or {}).get("step")
        return measured

    @property
    def figures(self) -> dict[str, Any]:
        """The summary of the evaluation; empty before there is one."""
        found: dict[str, Any] = (self.evaluation or {}).get("summary", {})
        return found

    @property
    def all_measured(self) -> list[RunFolder]:
        """The run by each of its evaluations, its own first; those of fewer steps are past."""
        others = sorted(file.stem.partition("-")[2] for file in self.path.glob("evaluation-*.json"))
        found = [RunFolder(self.path, measured) for measured in ("", *others)]
        newest = max(one.measured_step or 0 for one in found)
        return [one for one in found if not one.measured or one.measured_step == newest]

    @property
    def surroundings(self) -> dict[str, Any]:
        """Versions, machine, time."""
        file = self.path / "run.json"
        return read_object(file) if file.is_file() else {}

    def state(self) -> TrainingState:
        """The last checkpoint."""
        if not self.checkpoint_file.is_file():
            raise ExperimentError(
                f"{self.path} has no checkpoint yet: curta learn resume {self.path}"
            )
        return load_state(self.setup, self.checkpoint_file)

    def models(self) -> Transformer:
        """Those of the last checkpoint, all seeds stacked."""
        return self.state().model


def own_files(experiment: Experiment) -> dict[str, list[Path]]:
    """The files of parts that are the user's own. A run keeps copies: the originals may change."""
    found = {kind: catalogue.files_of(getattr(experiment, kind)) for kind in KINDS}
    for kind, files in found.items():
        if len({file.name for file in files}) < len(files):
            raise ExperimentError(f"{kind}: two files of one name; rename one of them")
    return {kind: files for kind, files in found.items() if files}


def new_path(name: str, out: Path | None = None, root: Path = Path("runs")) -> Path:
    """`runs/NAME-TIMESTAMP`, or what the user wants."""
    if out is not None:
        return out
    stem = f"{safe(name)}-{datetime.now():%Y%m%d-%H%M%S}"
    path, number = root / stem, 2
    while path.exists():
        path, number = root / f"{stem}-{number}", number + 1
    return path


def safe(name: str) -> str:
    """A name as part of a path."""
    kept = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in name)
    return kept.strip("-.") or "run"


def surroundings(experiment: Experiment) -> dict[str, Any]:
    """What a run depends on beside its experiment."""
    import jax

    training = experiment.training
    device = jax.devices()[0]
    return {
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "seeds": list(range(training.seed, training.seed + training.seeds)),
        "python": sys.version.split()[0],
        "versions": {name: installed(name) for name in PACKAGES},
        "machine": platform.platform(),
        "processor": platform.machine(),
        "cores": usable_cores(),
        "device": device.device_kind,
        "devices": jax.device_count(),
    }


def installed(name: str) -> str | None:
    """The version of a package."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def make(path: Path) -> None:
    """A folder, with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"{path} cannot be made ({error.strerror}): choose another --out"
        ) from error


def write(path: Path, text: str) -> None:
    """A file as a whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def read_object(path: Path) -> dict[str, Any]:
    """What a JSON file holds."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileError(f"{path}: not JSON ({error}); delete it, or the run") from error
    if not isinstance(found, dict):
        raise FileError(f"{path}: not what a run keeps; delete it, or the run")
    return found


def read_lines(path: Path) -> list[dict[str, Any]]:
    """JSON lines up to the first that is not whole."""
    found: list[dict[str, Any]] = []
    if not path.is_file():
        return found
    for line in path.read_text(encoding="utf-8").splitlines(keepends=True):
        try:
            if not line.endswith("\n"):
                break
            found.append(json.loads(line))
        except ValueError:
            break
    return found
