"""Every mistake of a user has its own clear error: from Python, at each level, and from the shell.

One table: what is done, the class of the error, and words that its message has to contain.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from curta import compiler, store
from curta.app.command_line import main
from curta.compiler import Graph, Model, compile, load_model
from curta.compiler.model import digest
from curta.engine import LEVELS, Engine, Level, load
from curta.engine.model_cache import compile_cached
from curta.errors import FileError, GraphError, RegionError, TokenError, UserError

Action = Callable[[Path], object]


def program() -> Graph:
    """Says high while it has been fed at most two of them; four promised."""
    graph = Graph(["low", "high"])
    count = graph.assume(graph.running_sum(graph.is_token("high")).named("count"), 0, 4)
    graph.emit(["low", "high"], graph.gate(3 - count, 1))
    return graph


@cache
def model() -> Model:
    return compile(program(), 8)


# -- files --------------------------------------------------------------------------------------


def rewritten(path: Path, edit: Callable[[dict[str, Any]], object], *, sign: bool) -> Path:
    """The model file with other metadata; with `sign`, under the digest that belongs to it."""
    content = json.loads(whole_metadata(path)["curta"])
    weights = dict(model().weights)
    edit(content)
    if sign:
        content.pop("digest")
        content["digest"] = digest(weights, content)
    path.write_bytes(safetensors.numpy.save(weights, metadata={"curta": json.dumps(content)}))
    return path


def whole_metadata(path: Path) -> dict[str, str]:
    model().save(path)
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata: dict[str, str] = file.metadata()
    return metadata


def truncated(path: Path) -> None:
    path.write_bytes(model().to_bytes()[:-9])


def no_tensors(path: Path) -> None:
    path.write_text("{}")


def of_another_program(path: Path) -> None:
    path.write_bytes(safetensors.numpy.save({"x": np.zeros(3)}))


def of_a_later_version(path: Path) -> None:
    rewritten(path, lambda content: content.update(version=2), sign=True)


def tampered_certificate(path: Path) -> None:
    rewritten(path, lambda content: content["certificate"].update(max_tokens=10**6), sign=False)


def tampered_weight(path: Path) -> None:
    metadata = whole_metadata(path)
    weights = {**model().weights, "unembedding.weight": model().weights["unembedding.weight"] + 1}
    path.write_bytes(safetensors.numpy.save(weights, metadata=metadata))


def without_plan(path: Path) -> None:
    rewritten(path, lambda content: content.pop("plan"), sign=True)


def length_as_text(path: Path) -> None:
    rewritten(path, lambda content: content["certificate"].update(max_tokens="many"), sign=True)


def slot_too_high(path: Path) -> None:
    rewritten(path, lambda content: content["plan"]["slots"][0].update(slot=99), sign=True)


def other_vocabulary(path: Path) -> None:
    rewritten(path, lambda content: content["plan"].update(vocabulary=["a", "b"]), sign=True)


def missing_tensor(path: Path) -> None:
    weights = {n: t for n, t in model().weights.items() if n != "layers.0.attention.key.weight"}
    Model(weights, model().plan, model().certificate, model().graph).save(path)


def in_half_precision(path: Path) -> None:
    metadata = whole_metadata(path)
    weights = {n: np.zeros(t.shape, np.float16) for n, t in model().weights.items()}
    path.write_bytes(safetensors.numpy.save(weights, metadata=metadata))


FILES: dict[str, tuple[Action, str]] = {
    "truncated": (truncated, "not a complete safetensors file"),
    "no tensors": (no_tensors, "not a complete safetensors file"),
    "of another program": (of_another_program, "not one that curta wrote"),
    "of a later version": (of_a_later_version, "format version 2, this curta reads version 1"),
    "tampered certificate": (tampered_certificate, "changed after compilation"),
    "tampered weight": (tampered_weight, "changed after compilation"),
    "without plan": (without_plan, "content lacks 'plan'"),
    "length as text": (length_as_text, "certificate.max_tokens is 'many', expected an integer"),
    "slot too high": (slot_too_high, "plan.slots[0].slot is 99, expected an integer from 0 to"),
    "other vocabulary": (other_vocabulary, "the vocabulary of plan and graph differ"),
    "missing tensor": (missing_tensor, "tensor layers.0.attention.key.weight is missing"),
    "in half precision": (in_half_precision, "is F16, expected F64, F32 or I64"),
    "missing": (lambda path: None, "no such file"),
    "a folder": (Path.mkdir, "is a folder"),
}


def one_line(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What the command line says about a mistake: one line, and exit code 2."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("curta: ")
    assert err.count("\n") == 1
    return err


@pytest.mark.parametrize("case", FILES)
def test_files(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write, words = FILES[case]
    path = tmp_path / "model.safetensors"
    write(path)
    with pytest.raises(FileError) as caught:
        load_model(path)
    assert words in str(caught.value)
    assert str(path) in str(caught.value)
    for level in LEVELS:
        with pytest.raises(FileError):
            load(path, level)
    assert words in one_line(capsys, "inspect", str(path))


@pytest.mark.parametrize("path", [None, 5, b"model"])
def test_what_is_no_path(path: Any) -> None:
    with pytest.raises(FileError, match="expected the path of a model file"):
        load_model(path)


@pytest.mark.parametrize("level", ["Native", None, 4])
def test_what_is_no_level(level: Any) -> None:
    with pytest.raises(UserError, match="expected one of evaluate, plain, hull, native"):
        load(model(), level)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="No such file or directory; choose another place"):
        model().save(tmp_path / "missing" / "model.safetensors")
    with pytest.raises(FileError, match="Is a directory; choose another place"):
        model().save(tmp_path)
    with pytest.raises(FileError, match="null byte; choose another place"):
        model().save(tmp_path / "a\0b")


# -- tokens, at every level ---------------------------------------------------------------------

TOKENS: dict[str, tuple[Callable[[Engine], object], type[Exception], str]] = {
    "unknown token": (
        lambda engine: engine.generate(["low", "hihg"]),
        TokenError,
        "unknown token 'hihg'; this model knows: low high",
    ),
    "text": (lambda engine: engine.generate("low"), TokenError, "'low' is one string"),
    "number": (lambda engine: engine.generate(3), TokenError, "3 is a int; a prompt is a list"),  # type: ignore[arg-type]
    "nested": (lambda engine: engine.generate([["low"]]), TokenError, "unknown token ['low']"),  # type: ignore[list-item]
    "unknown id": (lambda engine: engine.run([0, 2]), TokenError, "token id 2: this model has 2"),
    "names as ids": (
        lambda engine: engine.run(["low"]),  # type: ignore[list-item]
        TokenError,
        "['low'] is no list of token ids (integers from 0 to 1)",
    ),
    "fractions": (
        lambda engine: engine.run([0.5]),  # type: ignore[list-item]
        TokenError,
        "[0.5] is no list of token ids",
    ),
    "generator": (
        lambda engine: engine.run(n for n in range(2)),  # type: ignore[arg-type]
        TokenError,
        "is no list of token ids",
    ),
    "empty": (lambda engine: engine.generate([]), TokenError, "the prompt is empty"),
    "too long": (
        lambda engine: engine.run([0] * 9),
        TokenError,
        "the prompt has 9 tokens, the certificate covers 8; compile the graph with a larger",
    ),
    "negative count": (lambda engine: engine.run([0], -1), TokenError, "max_new_tokens=-1"),
    "fraction of a count": (
        lambda engine: engine.run([0], 1.5),  # type: ignore[arg-type]
        TokenError,
        "max_new_tokens=1.5: expected an integer",
    ),
    "fed an unknown id": (lambda engine: engine.session().feed(2), TokenError, "token id 2"),
    "fed a negative id": (lambda engine: engine.session().feed(-1), TokenError, "token id -1"),
    "fed a huge id": (lambda engine: engine.session().feed(2**64), TokenError, "token id 1844"),
    "fed a name": (
        lambda engine: engine.session().feed("low"),  # type: ignore[arg-type]
        TokenError,
        "token id='low': expected an integer",
    ),
    "beyond the certificate": (
        lambda engine: engine.run([0] * 7, 3),
        RegionError,
        "reached the 8 tokens that the certificate covers",
    ),
    "broken promise": (
        lambda engine: engine.run([1] * 6, 1),
        RegionError,
        "position 4: count is 5, promised in [0, 4]",
    ),
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("case", TOKENS)
def test_tokens(case: str, level: Level) -> None:
    action, error, words = TOKENS[case]
    with pytest.raises(error) as caught:
        action(load(model(), level))
    assert words in str(caught.value)


@pytest.mark.parametrize("level", LEVELS)
def test_ids_of_any_integer_type(level: Level) -> None:
    engine = load(model(), level)
    expected = engine.run([0, 1], 2).tolist()
    for prompt in ((0, 1), range(2), np.array([0, 1], np.uint8), [np.int64(0), np.int64(1)]):
        assert engine.run(prompt, np.int64(2)).tolist() == expected  # type: ignore[arg-type]
    assert engine.session().feed(np.int32(0)) == 1  # type: ignore[arg-type]


@pytest.mark.parametrize("level", LEVELS)
def test_a_session_that_was_stopped_stays_stopped(level: Level) -> None:
    session = load(model(), level).session()
    for _ in range(4):
        session.feed(1)
    for token in (1, 0, 0):
        with pytest.raises(RegionError, match="position 4: count is 5"):
            session.feed(token)


@pytest.mark.parametrize("level", LEVELS)
def test_a_sequence_that_is_read_stops_where_one_that_is_fed_does(level: Level) -> None:
    engine = load(model(), level)
    fed, said = engine.session(), list[int]()
    blocks = engine.session().read(np.ones(6, np.int32), np.ones(6, np.bool_))
    with pytest.raises(RegionError, match="position 4: count is 5"):
        said.extend(token for block in blocks for token in block.tolist())
    assert said == [fed.feed(1) for _ in range(4)]


def test_blocks_of_tokens_are_checked_too() -> None:
    session = load(model(), "native").session()
    with pytest.raises(TokenError):
        session.generate(2, 3)  # type: ignore[attr-defined]
    with pytest.raises(RegionError):
        session.generate(0, 10)  # type: ignore[attr-defined]
    assert session.generate(0, 0).tolist() == []  # type: ignore[attr-defined]


# -- programs, from a file of the user's ---------------------------------------------------------

GRAPH = "from curta.compiler import *\ndef build():\n    g = Graph(['a', 'b'])\n"
PROGRAMS: dict[str, tuple[str, str]] = {
    "cycle": (
        GRAPH + "    x = g.declare('x'); g.define(x, g.gate(x, 1)); g.emit(['a'], x)\n    return g",
        "cycle: x -> gate",
    ),
    "undefined feature": (
        GRAPH + "    g.emit(['a', 'b'], g.declare('x'))\n    return g",
        "'x' is used but never defined",
    ),
    "unknown token": (GRAPH + "    g.is_token('c')", "unknown token 'c'; declared are: a b"),
    "no output": (GRAPH + "    return g", "the graph never says anything"),
    "two outputs": (
        GRAPH + "    g.emit_token('a'); g.emit_token('a')",
        "token 'a' is scored twice",
    ),
    "no build": ("x = 1", "has no function build()"),
    "build is no function": ("build = 5", "has no function build()"),
    "build takes something": ("def build(n): pass", "TypeError: build() missing 1 required"),
    "no graph": ("def build(): return 5", "build() returned 5, expected a Graph"),
    "not Python": ("def build(:", "program.py, line 1: SyntaxError"),
    "missing module": ("x = 1\nimport no_such_module", "program.py, line 2: ModuleNotFoundError"),
    "error of its own": (
        "def build():\n    return helper()\ndef helper():\n    return [][0]",
        "program.py, line 4: IndexError: list index out of range",
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_programs(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, words = PROGRAMS[case]
    path = tmp_path / "program.py"
    path.write_text(source)
    assert words in one_line(capsys, "build", str(path), "-o", str(tmp_path / "out"))


COMMANDS: list[tuple[list[str], str]] = [
    (["build", "no_such.py", "-o", "x"], "no such file"),
    (["build", "nonsense", "-o", "x"], "no program 'nonsense' in the gallery"),
    (["build", "parity", "-o", "x", "--max-tokens", "0"], "max_tokens=0"),
    (["build", "parity", "-o", "/nowhere/at/all"], "cannot write /nowhere/at/all"),
    (["gallery", "nonsense"], "no program 'nonsense' in the gallery"),
    (["gallery", "parity", "2"], "'2' in '2': expected 01"),
    (["gallery", "parity", "1", "--max-new-tokens", "-1"], "max_new_tokens=-1"),
    (["inspect", "no_such.safetensors"], "no such file"),
]


@pytest.mark.parametrize(("arguments", "words"), COMMANDS)
def test_commands(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert words in one_line(capsys, *arguments)


def test_a_prompt_longer_than_certified(capsys: pytest.CaptureFixture[str]) -> None:
    assert "the certificate covers" in one_line(capsys, "gallery", "addition", "1" * 2**20 + "+1")


def test_tokens_that_are_no_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.py"
    path.write_text(GRAPH.replace("'b'", r"'\n'") + "    g.emit_token('a'); return g")
    arguments = ["build", str(path), "--emit", "torch", "-o", str(tmp_path / "folder")]
    assert "one line per token" in one_line(capsys, *arguments)


def test_any_name_can_be_inspected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = Graph(["[/red]", "b"])
    graph.emit(["[/red]", "b"], graph.running_sum(graph.is_token("b")).named("[/bold] é"))
    compile(graph, 8).save(tmp_path / "model")
    assert main(["inspect", str(tmp_path / "model")]) == 0
    assert "[/bold] é" in capsys.readouterr().out


# -- the cache ----------------------------------------------------------------------------------


def another_model(path: Path) -> None:
    graph = program()
    graph.stop_after("low")
    compile(graph, 8).save(path)


DAMAGES: dict[str, Action] = {
    "empty": lambda path: path.write_bytes(b""),
    "another model": another_model,
    "another length": lambda path: compile(program(), 16).save(path),
    "a folder": lambda path: (path.unlink(), path.mkdir()),
    "a link to nothing": lambda path: (path.unlink(), path.symlink_to("nowhere")),
    **{case: write for case, (write, _) in FILES.items() if case not in ("missing", "a folder")},
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_cache_is_compiled_again(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    compile_cached(program(), 8)
    (path,) = (tmp_path / "models").iterdir()
    DAMAGES[damage](path)
    assert compile_cached(program(), 8).to_bytes() == model().to_bytes()
    if damage != "a folder":
        assert zlib.decompress(path.read_bytes()[32:]) == model().to_bytes()


def test_a_cached_model_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    expected = compile_cached(program(), 8).to_bytes()
    monkeypatch.setattr(compiler, "compile", None)
    assert compile_cached(program(), 8).to_bytes() == expected


@pytest.mark.parametrize("cache_directory", ["file", "name" * 100, "file/below"])
def test_a_cache_that_cannot_be_written_is_done_without(
    cache_directory: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path / cache_directory))
    assert compile_cached(program(), 8).to_bytes() == model().to_bytes()


def test_a_full_disk_is_done_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    monkeypatch.setattr(store, "write_atomically", full)
    assert compile_cached(program(), 8).to_bytes() == model().to_bytes()


@pytest.mark.parametrize("length", ["8", 8.0, 0, None])
def test_lengths_of_cached_models(length: Any) -> None:
    with pytest.raises(GraphError, match="max_tokens="):
        compile_cached(program(), length)
