"""Run folders: what is in them, and that a kill leaves no trace."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from curta.errors import ExperimentError, FileError
from curta.learn import runs
from curta.learn.experiment import EvaluationConfig, Experiment, Setup
from curta.learn.files import whole
from curta.learn.folder import RunFolder, new_path, write
from curta.learn.options import choices
from tests.support.tiny_runs import TINY, tiny, tiny_run

STOPPED = """
import os, sys, time
from pathlib import Path
from curta.learn.commands.shared import keep_compiled_programs
from curta.learn.folder import RunFolder
from curta.learn import runs
keep_compiled_programs()
def trains(report, folder):
    if report.step == 20:  # behind the checkpoint of step 16
        print("waiting", flush=True)
        time.sleep(600)
runs.trained(RunFolder.open(Path(sys.argv[1])), runs.Listener(trains=trains))
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_bit_for_bit(tmp_path: Path) -> None:
    unbroken = tiny_run()
    folder = RunFolder.create(tmp_path / "killed", TINY)
    process = subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(folder.path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "waiting\n"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert [line["step"] for line in folder.metrics] == [4, 8, 12, 16, 20]
    # As if the kill had come in the middle of a line.
    with folder.metrics_file.open("a") as file:
        file.write('{"step": 24, "lo')
    assert int(folder.state().step) == 16
    runs.trained(folder)
    assert folder.checkpoint_file.read_bytes() == unbroken.checkpoint_file.read_bytes()
    assert [line["step"] for line in folder.metrics] == [4, 8, 12, 16, 20, 24]
    for ours, theirs in zip(folder.metrics, unbroken.metrics, strict=True):
        for name in ("loss", "exact", "token", "learning_rate"):
            assert ours[name] == theirs[name]
    seconds = [line["seconds"] for line in folder.metrics]
    assert seconds == sorted(seconds)
    assert not list(folder.path.glob(".*"))


def test_what_a_folder_holds() -> None:
    import pyarrow.parquet

    folder = tiny_run()
    assert {path.name for path in folder.path.iterdir()} == {
        "experiment.json", "run.json", "metrics.jsonl", "metrics.parquet",
        "checkpoint.safetensors", "evaluation.json", "report.html",
    }  # fmt: skip
    assert RunFolder.open(folder.path).experiment == TINY
    around = folder.surroundings
    assert around["seeds"] == [0, 1]
    assert set(around["versions"]) >= {"curta", "jax", "equinox"}
    rows = pyarrow.parquet.read_table(folder.table_file).to_pylist()
    assert [(row["step"], row["seed"]) for row in rows] == [
        (step, seed) for step in range(4, 25, 4) for seed in (0, 1)
    ]
    assert [row["loss"] for row in rows] == [
        loss for line in folder.metrics for loss in line["loss"]
    ]


def test_a_finished_run_is_left_as_it_is() -> None:
    folder = tiny_run()
    before = {path: path.stat().st_mtime_ns for path in folder.path.iterdir()}
    runs.run(folder)
    after = {path: path.stat().st_mtime_ns for path in folder.path.iterdir()}
    assert {path.name for path in before if before[path] != after[path]} == {"report.html"}


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ExperimentError, match="is there already: choose another --out"):
        RunFolder.create(tmp_path, TINY)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(ExperimentError, match="is not a run: it has no experiment"):
        RunFolder.open(tmp_path)
    with pytest.raises(ExperimentError, match="there is no such run"):
        runs.runs_in(tmp_path / "missing")
    (tmp_path / "experiment.json").write_text('{"task": 1')
    with pytest.raises(FileError, match="not an experiment"):
        _ = RunFolder.open(tmp_path).experiment


def test_asking_before_the_first_checkpoint(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "new", TINY)
    with pytest.raises(ExperimentError, match="has no checkpoint yet: curta learn resume"):
        folder.models()


def test_runs_of_the_same_second_have_folders_of_their_own(tmp_path: Path) -> None:
    first = new_path("a b/c", root=tmp_path)
    first.mkdir()
    second = new_path("a b/c", root=tmp_path)
    assert first.name.startswith("a-b-c-")
    assert first != second


@pytest.mark.parametrize(("name", "package"), [("tensorboard", "tensorboardX"), ("wandb", "wandb")])
def test_loggers_that_are_not_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    folder = RunFolder.create(tmp_path / "run", tiny(steps=4))
    with pytest.raises(ExperimentError, match=f"--log {name} needs {package}: pip install"):
        runs.trained(folder, log=name)


def test_experiments_survive_json() -> None:
    changed = tiny(priming=(3, 4), learning_rate=1e-4, loops=3)
    assert Experiment.from_json(changed.to_json()) == changed
    assert json.loads(changed.to_json())["sampling"]["priming"] == [3, 4]


DIGIT_SUM = """
from dataclasses import dataclass

from curta.learn.numbers import from_natural
from curta.learn.problem import Problem, operand, symbol
from curta.learn.tasks.base import Task


@dataclass(frozen=True)
class DigitSum(Task):
    name = "digit_sum"
    about = "the digits of a number, added up"
    symbols = ("=",)
    operands = (1, 1)
    factor: int = 1

    def problem(self, operands, *, base, key):
        a = operand(operands, 0)
        return Problem((a, symbol("=")), (from_natural(self.factor * a.digits.sum(), 3, base),))
"""


def test_a_run_keeps_its_own_copy_of_the_users_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "digit_sum.py"
    file.write_text(DIGIT_SUM)
    monkeypatch.chdir(tmp_path)
    experiment = tiny(
        task="digit_sum.py(factor=2)", positions="rope", evaluation=EvaluationConfig()
    )
    RunFolder.create(tmp_path / "run", experiment)
    file.unlink()
    monkeypatch.chdir("/")
    again = RunFolder.open(tmp_path / "run")
    assert again.setup.language.task.name == "digit_sum"
    assert again.setup.language.task.factor == 2
    assert choices(again.experiment)["task"] == "digit_sum.py(factor=2)"


OWN_SCHEME = """
from curta.learn.positions.absolute import Sinusoidal


class Slow(Sinusoidal):
    name = "slow"
    about = "sinusoidal, by another name"
"""


def test_files_within_a_combination_are_kept_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "slow.py"
    file.write_text(OWN_SCHEME)
    written = f'combined(first="{file}", second="fire")'
    folder = RunFolder.create(tmp_path / "run", tiny(positions=written))
    file.unlink()
    again = RunFolder.open(folder.path)
    assert [part.name for part in again.setup.positions.parts] == ["slow", "fire"]
    assert choices(again.experiment)["positions"] == 'combined(first="slow.py", second="fire")'
    (tmp_path / "other").mkdir()
    for place in (file, tmp_path / "other" / "slow.py"):
        place.write_text(OWN_SCHEME)
    both = f'combined(first="{file}", second="{tmp_path / "other" / "slow.py"}")'
    with pytest.raises(ExperimentError, match="positions: two files of one name"):
        RunFolder.create(tmp_path / "third", tiny(positions=both))


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", TINY)
    folder.evaluation_file.write_text("{")
    with pytest.raises(FileError, match=r"evaluation\.json: not JSON"):
        print(folder.evaluation)
    (tmp_path / "recipe.json").write_text("[]")
    with pytest.raises(FileError, match=r"recipe\.json: not what a run keeps"):
        runs.RecipeFolder.open(tmp_path)


def test_part_of_an_evaluation_is_not_one(tmp_path: Path) -> None:
    folder = RunFolder.create(tmp_path / "run", TINY)
    folder.evaluation_file.write_text('{"step": 24}')
    with pytest.raises(FileError, match="not a whole evaluation, config is missing: measure again"):
        print(folder.evaluation)


@pytest.mark.slow
def test_who_trains_on_is_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "longer"
    shutil.copytree(tiny_run().path, path)
    file = path / "experiment.json"
    file.write_text(file.read_text().replace('"steps": 24', '"steps": 28'))
    before = tiny_run().evaluation or {}
    runs.run(RunFolder.open(path))
    after = RunFolder.open(path).evaluation or {}
    assert (before["step"], after["step"]) == (24, 28)
    assert before["summary"]["loss.test"] != after["summary"]["loss.test"]


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    def half(path: Path) -> None:
        with whole(path) as partial:
            partial.write_text("half")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(FileError, match=r"report\.html cannot be written \(No space left"):
        half(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match=r"nowhere/page\.html cannot be written \(No such file"):
        write(tmp_path / "nowhere" / "page.html", "")


def test_what_cannot_be_an_option_of_a_part_is_refused() -> None:
    for written, why in {
        "learned(offset='x')": "must be a whole number",
        "abacus(offset=2.5)": "must be a whole number",
        "abacus(offset=-3)": "at least 0",
        "aligned(reach='a')": "must be a whole number",
        "aligned(reach=-1)": "at least 0",
        "rope(base=True)": "must be a number",
    }.items():
        with pytest.raises(ExperimentError, match=why):
            Setup(tiny(positions=written))
