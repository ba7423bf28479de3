"""The README's commands and code, run as they stand."""

from __future__ import annotations

import copy
import dataclasses
import io
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from curta.app.command_line import main

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def commands() -> list[str]:
    lines = [line for block in blocks("console") for line in block.splitlines()]
    return [line.removeprefix("$ ").split("  #")[0].split(" # ")[0] for line in lines]


@pytest.fixture
def smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """What takes minutes is done by less: a baked program is executed by the reference machine, and
    its weights are those of a small one; a thread verifies in place of processes, by the code that
    said it all.
    """
    from curta.compiler import compile
    from curta.gallery import PROGRAMS
    from curta.machine.bake import BakedMachine
    from curta.machine.processes import WorkerSetup, prepared
    from curta.machine.talkers import ReferenceTalker

    def natively(setup: WorkerSetup) -> object:
        return prepared(dataclasses.replace(setup, level="native"))

    weights = compile(PROGRAMS["length"].build(), max_tokens=64)
    monkeypatch.setattr("curta.machine.bake.compile", lambda *_: weights)
    monkeypatch.setattr(
        BakedMachine, "talker", lambda self: ReferenceTalker((), self.program.core_program())
    )
    monkeypatch.setattr(
        "curta.machine.verify.jobs.processes", lambda _: (ThreadPoolExecutor(1), io.BytesIO())
    )
    monkeypatch.setattr("curta.machine.verify.jobs.prepared", natively)


@pytest.mark.usefixtures("smaller")
def test_every_command_of_the_readme_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    succeed(tmp_path, monkeypatch, capsys)


@pytest.mark.slow
def test_every_command_of_the_readme_succeeds_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    succeed(tmp_path, monkeypatch, capsys)


def succeed(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex

    monkeypatch.chdir(folder)
    Path("examples").symlink_to(ROOT / "examples")
    assert len(commands()) >= 6
    for command in commands():
        program, *arguments = shlex.split(command)
        assert program == "curta"
        assert main(arguments) == 0, command
        assert capsys.readouterr().out.strip(), command


SHORT = {
    "train": ["--steps", "2"],
    "ask": ["--max-new-tokens", "4"],
    "evaluate": ["--count", "2", "--negatives", "0", "--max-new-tokens", "4"],
    "verify": [],
}
"""What makes a command end soon, by its first argument or its second."""


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_the_commands_with_a_language_model_succeed_with_a_tiny_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import shlex

    pytest.importorskip("peft")
    from tests.support.tiny_language_models import chat_tokenizer, model

    monkeypatch.chdir(tmp_path)
    copy.deepcopy(model("grouped queries")).float().save_pretrained("tiny")
    chat_tokenizer().save_pretrained("tiny")
    arithmetic = ["--train", "20", "--negatives", "0", "--arithmetic", "1"]
    assert main(["delegate", "data", "--out", "calls", *arithmetic]) == 0
    lines = [line for block in blocks("text") for line in block.splitlines() if "curta" in line]
    run = set()
    for line in lines:
        program, room, *arguments = shlex.split(line.removeprefix("$ ").split("  #")[0])
        if program != "curta" or room not in ("calc", "delegate", "hybrid"):
            continue
        arguments = ["tiny" if "Instruct" in word else word for word in arguments]
        command = "ask" if room == "calc" else arguments[0]
        given = [] if "--model" in arguments else ["--model", "tiny"]
        assert main([room, *arguments, *given, *SHORT[command]]) == 0, line
        assert capsys.readouterr().out.strip(), line
        run.add(command)
    assert run == SHORT.keys()


@pytest.mark.parametrize("source", blocks("python"))
def test_the_python_of_the_readme_prints_what_it_says(source: str, tmp_path: Path) -> None:
    """`# ...` after a print is its output; three dots at its end stand for anything."""
    expected = re.findall(r"^ *print\(.*\)  # (.*)$", source, flags=re.MULTILINE)
    finished = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr
    said = finished.stdout.splitlines()
    assert len(said) == len(expected) >= 2
    for line, text in zip(said, expected, strict=True):
        assert line == text or (text.endswith("...") and line.startswith(text[:-3])), text


def test_ci_runs_the_test_command_of_the_readme() -> None:
    _, tests = blocks("sh")
    assert tests.strip() in (ROOT / ".ci" / "run").read_text()


def test_the_set_up_command_ends_in_a_gallery_run(capsys: pytest.CaptureFixture[str]) -> None:
    import shlex

    set_up, _ = blocks("sh")
    command = shlex.split(set_up.split("&&")[-1])
    assert main(command[1:]) == 0
    assert str(12345678 * 87654321) in capsys.readouterr().out
