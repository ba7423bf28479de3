"""The command line: exit codes, one-line errors, figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from curta.app.command_line import main
from curta.compiler import load_model

Capture = pytest.CaptureFixture[str]


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    try:
        code = main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err


def test_gallery_lists_every_program(capsys: Capture) -> None:
    from curta.gallery import PROGRAMS

    code, out, _ = run(capsys, "gallery")
    assert code == 0
    assert all(f"\n{name} " in f"\n{out}" for name in PROGRAMS)


@pytest.mark.parametrize("level", ["evaluate", "plain", "hull", "native"])
def test_gallery_answers_at_every_level(capsys: Capture, level: str) -> None:
    code, out, err = run(capsys, "gallery", "parity", "0111", "--level", level)
    assert (code, out) == (0, "odd\n")
    assert f"level {level}" in err


def test_figures_as_json(capsys: Capture) -> None:
    _, _, err = run(capsys, "gallery", "parity", "0111", "--stats", "json")
    figures = json.loads(err)
    assert figures["prompt_tokens"] == 5
    assert figures["tokens"] == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["gallery", "nonsense"], "no program 'nonsense'"),
        (["gallery", "parity", "012"], "'2' in '012'"),
        (["gallery", "parity", "1", "--max-new-tokens", "-1"], "max_new_tokens=-1"),
        (["build", "nonsense", "-o", "x"], "no program 'nonsense'"),
        (["build", "missing.py", "-o", "x"], "missing.py: no such file"),
        (["build", "parity", "-o", "/nowhere/at/all"], "choose another place"),
        (["inspect", "missing.safetensors"], "no such file"),
        (
            ["gallery", "parity", "--level", "magic"],
            "--level magic: one of evaluate, plain, hull, native",
        ),
        ([], "COMMAND"),
    ],
)
def test_mistakes_of_the_user_are_one_line_and_exit_2(
    capsys: Capture, arguments: list[str], words: str
) -> None:
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert words in err
    assert err.count("\n") == 1


def test_building_the_users_own_file(tmp_path: Path, capsys: Capture) -> None:
    source = tmp_path / "echo.py"
    source.write_text(
        "from curta.compiler import Graph\n"
        "def build():\n"
        "    graph = Graph(['a', 'b'])\n"
        "    graph.emit(['a', 'b'], graph.is_token('b'))\n"
        "    return graph\n"
    )
    out = tmp_path / "echo.safetensors"
    code, text, _ = run(capsys, "build", str(source), "-o", str(out), "--max-tokens", "64")
    assert code == 0
    assert "exact for sequences of up to 64 tokens" in text
    assert load_model(out).vocabulary == ["a", "b"]


def test_the_c_of_the_machine_is_what_comes_with_curta(tmp_path: Path, capsys: Capture) -> None:
    from curta.machine.weights import machine_c

    out = tmp_path / "machine.c"
    assert run(capsys, "build", "machine", "--emit", "c", "-o", str(out))[0] == 0
    assert machine_c().decode().endswith(f"\n{out.read_text()}")
    assert "int64_t curta_generate(" in out.read_text()


def test_the_torch_folder_needs_nothing_of_curta(tmp_path: Path, capsys: Capture) -> None:
    import subprocess
    import sys

    folder = tmp_path / "parity"
    assert run(capsys, "build", "parity", "--emit", "torch", "-o", str(folder))[0] == 0
    code = (
        "import sys; sys.modules['curta'] = None\n"
        "from transformer import Transformer\n"
        "names = open('vocabulary.txt').read().splitlines()\n"
        "model = Transformer.from_folder('.')\n"
        "said = model.generate([names.index(t) for t in '0111='], 10)\n"
        "print([names[token] for token in said])\n"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (finished.stdout, finished.stderr) == ("['odd', '.']\n", "")
    assert torch.__version__


def test_the_torch_folder_stops_where_curta_stops(tmp_path: Path, capsys: Capture) -> None:
    from curta.engine.transformer import Transformer

    program = tmp_path / "program.py"
    program.write_text(
        "from curta.compiler import Graph\n"
        "def build():\n"
        "    graph = Graph('ab')\n"
        "    graph.emit('ab', graph.assume(graph.running_sum(graph.is_token('b')), 0, 1))\n"
        "    return graph\n"
    )
    folder = tmp_path / "model"
    arguments = ("--emit", "torch", "-o", str(folder), "--max-tokens", "6")
    assert run(capsys, "build", str(program), *arguments)[0] == 0
    model = Transformer.from_folder(folder)
    assert model.generate([0, 0], 3) == [0, 0, 0]
    with pytest.raises(ValueError, match="proved exact for 6 tokens"):
        model.generate([0, 0], 6)
    with pytest.raises(ValueError, match=r"position 2: .* leaves \[0, 1\]"):
        model.generate([0, 1], 3)


def test_inspect_names_heads_and_bounds(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "parity.safetensors"
    run(capsys, "build", "parity", "-o", str(path))
    code, out, _ = run(capsys, "inspect", str(path), "--verify")
    assert code == 0
    for words in ("running_sum", "certificate: exact", "verified"):
        assert words in out
