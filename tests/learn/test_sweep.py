"""Sweeps: which experiments a file makes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import jax
import pytest

from curta.errors import ExperimentError
from curta.learn import cluster, sweep
from curta.learn.folder import RunFolder
from curta.learn.runs import Listener, trained
from curta.learn.training.loop import ChunkMetrics
from curta.settings import read_settings
from tests.support.tiny_runs import TINY, tiny, tiny_run

BASE = """
[base]
task = "addition"
model = "tiny"
steps = 20
"""


def read(tmp_path: Path, text: str) -> sweep.SweepPlan:
    file = tmp_path / "sweep.toml"
    file.write_text(BASE + text)
    return sweep.read(file)


def test_a_grid_is_every_combination(tmp_path: Path) -> None:
    plan = read(tmp_path, '[grid]\npositions = ["abacus", "rope"]\nwidth = [32, 64, 128]\n')
    found = [(one.positions, one.model.width) for one in plan.experiments]
    assert found == [(p, w) for p in ("abacus", "rope") for w in (32, 64, 128)]
    assert {one.training.steps for one in plan.experiments} == {20}
    assert plan.experiments[1].name == "positions=abacus width=64"


def test_what_is_written_twice_runs_once(tmp_path: Path) -> None:
    plan = read(tmp_path, '[grid]\npositions = ["rope", "abacus", "rope"]\n')
    assert [one.positions for one in plan.experiments] == ["rope", "abacus"]


@pytest.mark.slow
def test_random_runs_lie_in_their_ranges_and_repeat(tmp_path: Path) -> None:
    text = (
        "[random]\nruns = 20\nseed = 3\nwidth = [32, 64]\n"
        "learning_rate = {low = 1e-4, high = 1e-2, log = true}\nbatch = {low = 8, high = 12}\n"
    )
    plan = read(tmp_path, text)
    assert plan == read(tmp_path, text)
    assert plan != read(tmp_path, text.replace("seed = 3", "seed = 4"))
    rates = [one.training.learning_rate for one in plan.experiments]
    assert all(1e-4 <= rate <= 1e-2 for rate in rates)
    assert 4 <= sum(rate < 1e-3 for rate in rates) <= 16  # half of them, for a logarithmic range
    batches = {one.training.batch for one in plan.experiments}
    assert batches <= {8, 9, 10, 11, 12}
    assert len(batches) >= 3
    assert {one.model.width for one in plan.experiments} == {32, 64}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "write either [grid] or [random]"),
        ("[grid]\n", "[grid] is empty"),
        ("[random]\nruns = 2\n", "[random] names no option"),
        ("[grid]\nwidth = 32\n", "[grid] width = 32: write a list"),
        ("[grid]\nwdith = [32]\n", "no option --wdith: did you mean --width"),
        ("[grid]\npositions = ['abcus']\n", "'abcus': did you mean abacus?"),
        ("[random]\nwidth = [32]\n", "runs = None: say how many"),
        ("[random]\nruns = 2\nwidth = {low = 3}\n", "write a list, or {low = , high = , log = }"),
        ("[random]\nruns = 2\nwidth = {low = 0, high = 9, log = true}\n", "is not a range"),
        ("[gird]\n", "[gird] is none of [base], [grid] and [random]"),
        ("[grid\n", "not TOML"),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ExperimentError) as error:
        read(tmp_path, text)
    assert words in str(error.value)


def test_a_cluster_without_ray(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    plan = read(tmp_path, "[grid]\nwidth = [32]\n")
    with pytest.raises(ExperimentError, match="--cluster needs Ray: pip install"):
        sweep.run(plan, tmp_path / "out", cluster=True)
    assert not (tmp_path / "out").exists()


@pytest.fixture
def ray_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Two workers' room, a token, and a word that is in the environment of all its processes."""
    pytest.importorskip("ray")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    home = tempfile.mkdtemp(prefix="ray-")
    for name, setting in (
        ("HOME", home),
        ("RAY_ADDRESS", f"127.0.0.1:{port}"),
        ("RAY_USAGE_STATS_ENABLED", "0"),
        ("CURTA_CACHE", str(read_settings().cache_directory)),
    ):
        monkeypatch.setenv(name, setting)
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    subprocess.run([*ray, "get-auth-token", "--generate"], check=True, capture_output=True)
    words = ["start", "--head", "--block", "--num-cpus=2", f"--port={port}", f"--temp-dir={home}"]
    head = subprocess.Popen(
        [*ray, *words, "--include-dashboard=false", "--disable-usage-stats"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    assert head.stdout is not None
    assert any("Ray runtime started" in line for line in head.stdout)
    yield home
    head.terminate()
    head.communicate()
    shutil.rmtree(home, ignore_errors=True)


def worker_of(home: str) -> int | None:
    """A process of the cluster that trains."""
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            trains = (place / "cmdline").read_bytes().startswith(b"ray::run_in_task")
            if trains and home.encode() in (place / "environ").read_bytes():
                return int(place.name)
    return None


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
def test_a_worker_that_ends_loses_nothing(
    tmp_path: Path, ray_cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """JAX has begun in this process, so a fork would be a warning, and warnings are errors."""
    jax.devices()
    monkeypatch.setattr(cluster, "SECONDS_BETWEEN_LOOKS", 0.1)
    pair = [tiny(steps=1_000, checkpoint=100, seed=seed, name=f"seed-{seed}") for seed in (0, 2)]
    steps: dict[str, list[int]] = {}
    ended: list[int] = []

    def trains(chunk: ChunkMetrics, folder: RunFolder) -> None:
        steps.setdefault(folder.name, []).append(chunk.step)
        worker = worker_of(ray_cluster)
        if not ended and chunk.step >= 200 and worker is not None:
            ended.append(worker)
            os.kill(worker, signal.SIGKILL)

    sweep.run(sweep.SweepPlan(tuple(pair)), tmp_path / "out", Listener(trains=trains), cluster=True)
    assert len(ended) == 1
    assert sorted(steps) == ["001-seed-0", "002-seed-2"]
    for experiment, name in zip(pair, sorted(steps), strict=True):
        unbroken = RunFolder.create(tmp_path / name, experiment)
        trained(unbroken)
        folder = RunFolder.open(tmp_path / "out" / name)
        assert folder.checkpoint_file.read_bytes() == unbroken.checkpoint_file.read_bytes()
        assert [line["step"] for line in folder.metrics] == list(range(4, 1_001, 4))
        assert folder.measured_step == 1_000


def test_what_is_done_is_left_and_shown(tmp_path: Path) -> None:
    """A sweep that goes on finds its first run finished; a folder of another sweep is refused."""
    out = tmp_path / "out"
    shutil.copytree(tiny_run().path, out / "001-tiny")
    before = (out / "001-tiny" / "checkpoint.safetensors").stat().st_mtime_ns
    sweep.run(sweep.SweepPlan((TINY,)), out)
    assert (out / "001-tiny" / "checkpoint.safetensors").stat().st_mtime_ns == before
    assert "001-tiny" in (out / "report.html").read_text()
    figures = (tiny_run().evaluation or {})["summary"]
    lines = sweep.table(out).splitlines()
    (row,) = [line for line in lines if "001-tiny" in line]
    assert f"{figures['loss.test']['value']:.4g}" in row
    with pytest.raises(ExperimentError, match="is a run of another experiment"):
        sweep.run(sweep.SweepPlan((tiny(width=32),)), out)
