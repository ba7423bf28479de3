"""Models that are exact in float32: 24 bits in place of 53, and so shorter sequences."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from curta.app.command_line import main
from curta.compiler import Graph, Model, compile, load_model
from curta.engine import load
from curta.errors import CertificateError, FileError, GraphError
from curta.gallery import NAMES, PROGRAMS
from tests.support.slow import all_but, some

TOKENS = 2048
REFUSED = {"subleq": r"score of token '#1': this sum needs 35 bits and float32 leaves 24"}
"""Words of 16 bits come out of the arg-max as bytes."""
COMPILED = [name for name in NAMES if name not in REFUSED]


@cache
def model_of(name: str) -> Model:
    return compile(PROGRAMS[name].build(), TOKENS, arithmetic="float32")


@pytest.mark.parametrize("name", COMPILED)
def test_programs_are_proved_for_so_many_tokens(name: str) -> None:
    model = model_of(name)
    assert model.certificate.arithmetic == "float32"
    assert model.certificate.softmax_tokens == TOKENS
    assert max(bound.limit for bound in model.certificate.tightest) == 24
    for tensor in model.weights.values():
        assert tensor.dtype in (np.float32, np.int64)


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_more_bits_is_refused(name: str) -> None:
    with pytest.raises(CertificateError, match=REFUSED[name]):
        model_of(name)


@pytest.mark.parametrize("name", some(10, COMPILED))
def test_softmax_in_float32_says_what_the_program_says(name: str) -> None:
    pytest.importorskip("torch")
    program, engine = PROGRAMS[name], load(model_of(name), "plain")
    for case in program.cases:
        prompt = program.encode(case.input)
        said = islice(engine.generate(prompt), 300 if name == "counter" else TOKENS - len(prompt))
        assert program.decode(list(said)) == case.output


LONG: dict[str, Callable[[int], str]] = {
    "parity": lambda n: "10110" * (n // 5),
    "sort": lambda n: "qjz" * (n // 6),
    "histogram": lambda n: "abz" * (n // 3 - 10),
    "dyck1": lambda n: "(" * (n // 2) + ")" * (n // 2),
    "majority": lambda n: "abb" * (n // 3),
    "reverse": lambda n: "abcde" * (n // 10),
}


@pytest.mark.parametrize("name", all_but(LONG.keys() - {"sort"}, LONG))
def test_it_holds_to_the_last_token(name: str) -> None:
    pytest.importorskip("torch")
    program = PROGRAMS[name]
    text = LONG[name](TOKENS - 20)
    prompt = program.encode(text)
    said = list(islice(load(model_of(name), "plain").generate(prompt), TOKENS - len(prompt)))
    assert program.decode(said) == program.reference(text)


def test_float64_reaches_further() -> None:
    graph = Graph(["a", "b"])
    count = graph.running_sum(graph.is_token("a"))
    graph.emit(["a", "b"], graph.lookup(query=count, key=graph.position, value=1, missing=0))
    assert compile(graph, 2**20)
    with pytest.raises(CertificateError, match="float32"):
        compile(graph, 2**20, arithmetic="float32")


def test_a_model_file_is_of_one_arithmetic(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model_of("parity").save(path)
    again = load_model(path)
    assert again.certificate == model_of("parity").certificate
    assert again.weights["embedding.weight"].dtype == np.float32
    wide = {name: tensor.astype(np.float64) for name, tensor in again.weights.items()}
    Model(wide, again.plan, again.certificate, again.graph).save(path)
    with pytest.raises(FileError, match="expected"):
        load_model(path)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "dyck1.safetensors")
    assert main(["build", "dyck1", "--arithmetic", "float32", "-o", out]) == 0
    said = capsys.readouterr().out
    assert "exact for sequences of up to 2,048 tokens, in float32" in said
    assert main(["inspect", out, "--verify"]) == 0
    asked = ["build", "dyck1", "--arithmetic", "float32", "--emit", "attribution", "-o", out]
    assert main(asked) == 2
    assert "is of models in float64" in capsys.readouterr().err
    assert main(["build", "machine", "--arithmetic", "float32", "-o", out]) == 2
    assert "the machine's weights need float64" in capsys.readouterr().err


def test_other_arithmetics_are_refused() -> None:
    with pytest.raises(GraphError, match="expected one of float64, float32"):
        compile(Graph(["a"]), 10, arithmetic="bfloat16")
