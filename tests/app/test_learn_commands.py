"""curta learn: what is said, exit codes, one line for mistakes."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

pytest.importorskip("jax")
from curta.app.command_line import main
from curta.learn.folder import RunFolder
from tiny_runs import tiny_run

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
    code, out, _ = run(capsys, "list", "options")
    assert code == 0
    assert "\n  --learning-rate " in out
    assert "recipes:" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "adition"], "no recipe or task is called 'adition': did you mean addition?"),
        (["run", "addition", "--stpes", "3"], "no option --stpes: did you mean --steps"),
        (["run", "addition", "--positions", "abcus"], "did you mean abacus?"),
        (["run", "addition", "--format", "plain", "--positions", "coupled"], "use reversed"),
        (["run", "missing.py"], "missing.py: there is no such file"),
        (["run"], "NAME"),
        (["run", "addition", "--log", "paper"], "invalid choice: 'paper'"),
        (["resume", "nowhere"], "nowhere: there is no such run"),
        (["evaluate", "nowhere", "--digits", "1..3"], "nowhere: there is no such run"),
        (["evaluate", "nowhere", "--steps", "1"], "there is no option --steps"),
        (["ask", "nowhere", "1+1="], "nowhere: there is no such run"),
        (["compare", "nowhere"], "nowhere: there is no such run"),
        (["sweep", "nowhere.toml"], "nowhere.toml: No such file"),
        (["run", "addition", "--test-values", "0..5"], "lie within the trained ones"),
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
    code, _, err = run(capsys, "evaluate", str(copy), *words)
    assert code == 0, err
    evaluation = RunFolder.open(copy).evaluation
    assert evaluation is not None
    assert [cell["sizes"] for cell in evaluation["cells"]] == [[2, 2]]
    assert "exact.ood" not in evaluation["summary"]
    out = tmp_path / "compare.html"
    code, said, _ = run(capsys, "compare", str(copy), str(tiny_run().path), "-o", str(out))
    assert (code, said) == (0, f"report: {out}\n")
    assert "copy" in out.read_text()
    code, _, err = run(capsys, "evaluate", str(copy), "--digits", "1..900", "--stride", "300")
    assert code == 2
    assert "train with evaluation digits that long" in err


def test_without_jax_there_is_a_line(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "jax" else found(name)
    )
    code, out, err = run(capsys, "list")
    assert (code, out) == (2, "")
    assert err == "curta: curta learn needs jax: pip install 'curta[learn]'\n"


def test_the_command_line_does_not_import_jax() -> None:
    code = (
        "import sys\nfor name in ('jax', 'torch', 'matplotlib'): sys.modules[name] = None\n"
        "from curta.app.command_line import parser\nparser()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
