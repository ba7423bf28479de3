"""curta learn: what is said, exit codes, one line for mistakes."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

pytest.importorskip("jax")
from curta.app.command_line import main
from curta.learn import profile
from curta.learn.commands import profile as profile_command
from curta.learn.commands import units as unit_command
from curta.learn.evaluation.walks import walk_accuracy
from curta.learn.experiment import Experiment, Setup
from curta.learn.folder import RunFolder
from curta.learn.profile import costs_of, count, step_of
from curta.learn.recipes import units
from curta.learn.report import profile as report
from curta.learn.report.parts import written
from curta.learn.training.state import new_state, picked
from curta.learn.units.benchmark import PRESETS, UnitResult, run_benchmark
from curta.learn.units.training import TrainingOptions
from tests.support.commands_page import differences
from tests.support.tiny_runs import tiny_run

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(["learn", *arguments])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_the_list_has_a_line_for_everything(capsys: Capture) -> None:
    code, out, _ = run(capsys, "list")
    assert code == 0
    for title, name in (("tasks", "addition"), ("formats", "reversed"), ("positions", "abacus")):
        assert f"{title}:\n" in out
        assert f"\n  {name} " in out
    for recipe in ("alga", "caef", "units"):
        assert f"\n  {recipe} " in out
    code, out, _ = run(capsys, "list", "options")
    assert code == 0
    assert "\n  --learning-rate " in out
    assert "\n  --walks " in out
    assert "recipes:" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "adition"], "no recipe or task is called 'adition': did you mean addition?"),
        (["run", "addition", "--stpes", "3"], "no option --stpes: did you mean --steps"),
        (["run", "addition", "--steps", "-5"], "steps = -5: must be at least 1"),
        (["run", "addition", "--positions", "abcus"], "did you mean abacus?"),
        (["run", "addition", "--format", "plain", "--positions", "coupled"], "use reversed"),
        (["run", "missing.py"], "missing.py: there is no such file"),
        (["run"], "NAME"),
        (["run", "addition", "--log", "paper"], "--log paper: one of tensorboard, wandb"),
        (["resume", "nowhere"], "nowhere: there is no such run"),
        (["evaluate", "nowhere", "--digits", "1..3"], "nowhere: there is no such run"),
        (["evaluate", "nowhere", "--steps", "1"], "there is no option --steps"),
        (["ask", "nowhere", "1+1="], "nowhere: there is no such run"),
        (["compare", "nowhere"], "nowhere: there is no such run"),
        (["sweep", "nowhere.toml"], "nowhere.toml: No such file"),
        (["run", "addition", "--test-values", "0..5"], "lie within the trained ones"),
        (["run", "addition", "--walks", "5"], "walks: task addition has no steps to walk"),
        (["run", "digit_step", "--walks", "0"], "evaluation walks = (0,): each must be at least 1"),
        (["run", "digit_step", "--walks", "x"], "--walks x: write numbers as in 1,2,4"),
        (
            ["run", "digit_step", "--walks", "5", "--pauses", "2"],
            "format reversed writes '2+8+0=~~01#'; choose --format plain, without pauses",
        ),
        (["run", "units", "--preset", "tiny"], "recipe units has no preset 'tiny'; its presets:"),
        (["run", "units", "--steps", "5"], "--steps: recipe units trains no transformers"),
        (["units", "--preset", "tiny"], "recipe units has no preset 'tiny'; its presets:"),
        (["units", "--seed", "-1"], "--seed -1: must be at least 0"),
        (["profile", "adition"], "no recipe or task is called 'adition'"),
        (["profile", "goat:products"], "has no experiment 'products'; it has products-plain,"),
        (["profile", "goat", "--preset", "huge"], "recipe goat has no preset 'huge'"),
        (["profile", "addition", "--repeats", "0"], "--repeats 0: must be at least 1"),
        (["profile", "addition", "--stpes", "0"], "no option --stpes: did you mean --steps"),
        (["inside", "nowhere"], "nowhere: there is no such run"),
        (["inside", "nowhere", "--samples", "0"], "--samples 0: must be at least 1"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    words: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_run_from_the_command_line(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options of the run that other tests share, so that its programs are used again."""
    whole = tiny_run()
    words = (
        "run addition --name tiny --width 16 --layers 1 --heads 2 --feedforward 16 --steps 24 "
        "--batch 8 --chunk 4 --checkpoint 8 --seeds 2 --digits 1..2 --warmup 0 --test-share 0.1 "
        "--test-digits 1..3 --grid --test-samples 8 --test 64 --test-values 0..999 "
        "--test-loops 1,2 --probes --out here"
    )
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, *words.split())
    assert code == 0, err
    here = RunFolder.open(tmp_path / "here")
    assert here.experiment == whole.experiment
    found, wanted = load_file(here.checkpoint_file), load_file(whole.checkpoint_file)
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, atol=1e-5, err_msg=name)
    assert here.evaluation.keys() == whole.evaluation.keys()
    assert "exact.test" in out
    assert f"report: {Path('here/report.html')}" in out
    assert "here: 24/24 loss" in err


def test_an_interruption_says_how_to_go_on(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("curta.learn.runs.train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(capsys, "run", "addition", "--steps", "2", "--out", "here")
    assert capsys.readouterr().err.endswith("checkpoint: curta learn resume here\n")


@pytest.mark.slow
def test_asking(capsys: Capture) -> None:
    code, out, err = run(capsys, "ask", str(tiny_run().path), "57+24=", "--seed", "1")
    assert code == 0
    first, *tokens = out.splitlines()
    assert first.startswith("57+24=")
    assert len(tokens) == len(first) - len("57+24=")
    assert "probability of the whole answer" in err
    code, _, err = run(capsys, "ask", str(tiny_run().path), "57+24=", "--seed", "2")
    assert code == 2
    assert "--seed 2: the run has 0 to 1" in err


def test_asking_a_recipe(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The part that has such questions answers; of several, and of none, all are named."""
    monkeypatch.chdir(tmp_path)
    place = tmp_path / "runs" / "caef-small-20260101-120000"
    for number, task in (("01", "addition"), ("02", "subtraction"), ("03", "addition")):
        part = place / f"{number}-{task}"
        shutil.copytree(tiny_run().path, part)
        experiment = tiny_run().experiment.with_(name=f"{task}-{number}", task=task)
        (part / "experiment.json").write_text(experiment.to_json())
    (place / "recipe.json").write_text('{"recipe": "caef", "preset": "small"}')
    code, out, err = run(capsys, "ask", "caef", "57-24=")
    assert (code, out[:6]) == (0, "57-24="), err
    code, _, err = run(capsys, "ask", "caef", "57+24=")
    assert code == 2
    assert "01-addition" in err
    assert "03-addition" in err
    assert "subtraction" not in err
    code, out, err = run(capsys, "ask", f"{place}/addition-03", "57+24=")
    assert (code, out[:6]) == (0, "57+24="), err
    _, _, err = run(capsys, "ask", str(place), "57*24=")
    assert err.count("-addition") == 2
    assert "02-subtraction" in err


def test_exporting(capsys: Capture, tmp_path: Path) -> None:
    torch_module = pytest.importorskip("curta.learn.export.torch_module")
    out = tmp_path / "model.safetensors"
    code, said, err = run(capsys, "export", str(tiny_run().path), "--seed", "1", "-o", str(out))
    assert (code, said) == (0, f"model: {out}\n"), err
    _, answer, _ = run(capsys, "ask", str(tiny_run().path), "57+24=", "--seed", "1")
    assert torch_module.load(out).say("57+24=").startswith(answer.splitlines()[0][6:].rstrip("#"))


@pytest.mark.slow
def test_measuring_again_and_comparing(capsys: Capture, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_run().path, copy)
    words = (
        "--digits",
        "2..2",
        "--samples",
        "72",
        "--loops",
        "1,2",
        "--no-grid",
        "--values",
        "none",
        "--no-probes",
    )
    code, said, err = run(capsys, "evaluate", str(copy), *words)
    assert code == 0, err
    assert "probes-false: from step 24 of 24, in " in err
    assert said.startswith("copy digits-2..2")
    own, beside = RunFolder.open(copy).all_measured
    assert own.evaluation == tiny_run().evaluation
    assert beside.measured == "digits-2..2-grid-false-samples-72-values-none-probes-false"
    assert beside.evaluation is not None
    assert [cell["sizes"] for cell in beside.evaluation["cells"]] == [[2, 2]]
    assert "exact.ood" not in beside.figures
    assert beside.name in own.report_file.read_text()
    out = tmp_path / "compare.html"
    code, said, _ = run(capsys, "compare", str(copy), str(tiny_run().path), "-o", str(out))
    assert (code, said) == (0, f"report: {out}\n")
    assert "copy" in out.read_text()
    code, _, err = run(capsys, "evaluate", str(copy), "--digits", "1..900", "--stride", "300")
    assert code == 2
    assert "train with evaluation digits that long" in err


@pytest.mark.slow
def test_walks_are_figures_of_a_run(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (
        "run digit_step --format plain --positions none --width 8 --layers 1 --heads 1 "
        "--feedforward 8 --steps 4 --chunk 4 --batch 8 --seeds 2 --digits 1..1 --test-share 0 "
        "--test 16 --test-samples 8 --walks 1,2 --out here"
    )
    code, out, err = run(capsys, *words.split())
    assert code == 0, err
    folder = RunFolder.open(tmp_path / "here")
    evaluation = folder.evaluation
    assert evaluation is not None
    assert [(cell["operation"], cell["digits"]) for cell in evaluation["walks"]] == [
        ("+", 1),
        ("+", 2),
    ]
    assert "exact.train" in folder.figures
    assert not [name for name in folder.figures if name.endswith(".test")]
    models = folder.models()
    for seed in range(2):
        for cell in walk_accuracy(picked(models, seed), folder.setup, (1, 2), 8):
            figure = evaluation["summary"][f"walk.+@{cell.digits}"]
            assert figure["seeds"][seed] == cell.exact / 8
            assert figure["interval"] == "t and wilson"
    shown = written(evaluation["summary"], "walk.+@2")
    assert f"walk.+@2 {shown}" in out
    page = folder.report_file.read_text()
    assert "<h2>Walks</h2>" in page
    assert "<th>steps by the model, bookkeeping outside</th>" in page
    assert "No problem is kept from training" in page
    assert f"<tr><td>+</td><td>{written(evaluation['summary'], 'walk.+@1')}</td>" in page


@pytest.mark.slow
def test_looking_inside(capsys: Capture, tmp_path: Path) -> None:
    out = tmp_path / "new" / "inside.html"
    words = ("inside", str(tiny_run().path), "--seed", "1", "--samples", "60", "-o", str(out))
    code, said, err = run(capsys, *words)
    assert (code, said) == (0, f"report: {out}\n"), err
    page = out.read_text()
    titles = ("Attention", "Probes", "The shape of numbers", "Ablation of heads")
    for title in titles:
        assert f"<h2>{title}</h2>" in page
    assert "seed 1" in page
    assert "Not shown: activation gelu: only bilinear layers have a spectrum." in page
    assert page.count("<svg") == 5
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(set(ids)) == len(ids)
    code, _, err = run(capsys, "inside", str(tiny_run().path), "--seed", "2")
    assert code == 2
    assert "--seed 2: the run has 0 to 1" in err


def test_a_profile_is_shown_with_what_its_figures_mean(tmp_path: Path) -> None:
    line = profile.Roofline("cpu", flops=1e11, bandwidth=1e10)
    assert (line.ridge, line.bound(2.0), line.bound(20.0)) == (10.0, 2e10, 1e11)
    step = profile.StepProfile("unrolled", 1.5, 0.01, (0.009, 0.012), 1e8, 5e7, 3_000_000)
    assert (step.intensity, step.rate, step.attained(line)) == (2.0, 1e10, 0.5)
    given = profile.Profile(
        parameters=12_345,
        tokens=640,
        roofline=line,
        steps=(step, replace(step, name="scanned", step_seconds=0.02)),
        parts={"data": 0.001, "forward": 0.004, "forward and backward": 0.009},
    )
    rows = {row[0]: row[1:3] for row in report.step_rows(given)}
    assert rows["step time"] == ("10 ms", "20 ms")
    assert rows["steps/s"] == ("100", "50")
    assert rows["memory"] == ("3.0 MB", "3.0 MB")
    assert rows["of the roofline"] == ("50%", "25%")
    assert rows["fastest to slowest"][0] == "9 ms to 12 ms"
    out = tmp_path / "new" / "profile.html"
    report.write_profile(given, Experiment(), out)
    page = out.read_text()
    assert page.count("<svg") == 2
    for words in ("12,345", "10.0 FLOP/byte", "<td>9 ms</td>", "<h2>Roofline</h2>"):
        assert words in page


def test_a_time_of_compilation_is_one_of_compiling() -> None:
    import jax

    before = jax.config.jax_enable_compilation_cache
    with profile.compiling_anew():
        assert not jax.config.jax_enable_compilation_cache
    assert jax.config.jax_enable_compilation_cache == before


@pytest.mark.slow
def test_a_profile(capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    # Without optimisations, as in tests, large products take seconds.
    small = partial(profile.measure_roofline, size=64, copied=1024)
    monkeypatch.setattr(profile, "measure_roofline", small)
    before = jax.config.jax_enable_compilation_cache
    out = tmp_path / "profile.html"
    words = (
        "profile digit_step --positions none --width 8 --layers 2 --heads 1 --feedforward 8 "
        "--batch 4 --digits 1..1 --test-share 0 --repeats 2"
    )
    code, said, err = run(capsys, *words.split(), "-o", str(out))
    assert code == 0, err
    assert jax.config.jax_enable_compilation_cache == before
    code, figures, _ = run(capsys, *words.split(), "--json")
    assert list(differences(profile_command.Report, json.loads(figures))) == []
    assert json.loads(figures)["profile"]["parameters"] > 0
    for name in ("parameters", "compile time", "step time", "steps/s", "intensity", "forward"):
        (line,) = [line for line in said.splitlines() if line.startswith(f"{name}  ")]
        assert line.strip() != name
    assert "a step" in said
    assert "unrolled layers" in said
    assert "scanned layers" in said
    page = out.read_text()
    assert page.count("<svg") == 2
    assert "<h2>Roofline</h2>" in page


def test_the_benchmark_of_units(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one unit and one operation; the presets take minutes."""
    options = TrainingOptions(seeds=2, steps=20, evaluate_every=10)
    small = replace(PRESETS["smoke"], name="small", arithmetic=options)

    def benchmark(preset: str, **given: Any) -> list[UnitResult]:
        assert preset == "small"
        return run_benchmark(small, units=("linear",), operations=("add",), **given)

    monkeypatch.setattr(units, "BENCHMARKS", {"arithmetic": benchmark})
    out = tmp_path / "units.html"
    code, said, err = run(capsys, "units", "--seed", "3", "-o", str(out))
    assert code == 0, err
    assert "arithmetic, linear: 20/20 steps" in err
    assert "success over 2 seeds after 20 steps" in said
    assert f"report: {out}" in said
    _, figures, _ = run(capsys, "units", "--seed", "3", "--json")
    assert list(differences(unit_command.Report, json.loads(figures))) == []
    assert json.loads(figures)["benchmarks"]["arithmetic"][0]["unit"] == "linear"
    page = out.read_text()
    assert "preset small, seed 3" in page
    assert page.count("<svg") == 1
    folder = tmp_path / "folder"
    words = ("run", "units", "--preset", "small", "--seed", "3", "--out", str(folder))
    code, again, _ = run(capsys, *words)
    assert code == 0
    assert again.splitlines()[:-1] == said.splitlines()[:-1]
    assert (folder / "report.html").read_text() == page
    (figures,) = json.loads((folder / "report.json").read_text())["arithmetic"]
    assert (figures["unit"], figures["operation"], figures["seeds"]) == ("linear", "add", 2)


@pytest.mark.slow
def test_loops_are_counted_as_layers_are() -> None:
    plain = Experiment(task="digit_step").with_(digits=(1, 1), test_share=0.0, layers=2, batch=8)
    unrolled, given = step_of(Setup(plain), new_state(Setup(plain)))
    flops, _ = costs_of(unrolled.lower(*given).compile())
    assert count(plain) is None
    looped = count(plain.with_(loops=3))
    assert looped is not None
    assert 2.5 < looped[0] / flops < 3.5
    parts = count(plain.with_(accumulate=4))
    assert parts is not None
    assert parts[0] == pytest.approx(flops, rel=0.01)


@pytest.mark.slow
def test_all_units(capsys: Capture) -> None:
    code, said, _ = run(capsys, "units", "--preset", "smoke")
    assert code == 0
    for name in ("nalu", "nsr", "minimum"):
        assert name in said


def test_without_jax_there_is_a_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "jax" else found(name)
    )
    code, out, err = run(capsys, "list")
    assert (code, out) == (2, "")
    assert err == "curta: curta learn list needs jax: pip install 'curta[learn]'\n"


def test_the_command_line_does_not_import_jax() -> None:
    code = (
        "import sys\nfor name in ('jax', 'torch', 'matplotlib'): sys.modules[name] = None\n"
        "from curta.app.command_line import read\nread('learn run', ['addition'])\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
