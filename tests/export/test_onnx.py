"""A graph for onnxruntime says the tokens of the plain level."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.app.command_line import main
from curta.compiler import Graph, compile
from curta.engine import load
from curta.gallery import NAMES, PROGRAMS
from tests.export.test_huggingface import counting, model_of, narrow_model_of
from tests.support.slow import some

pytest.importorskip("onnx", reason="the onnx package is not installed: pip install 'curta[export]'")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
MOST = 40


def run(path: Path, *rows: list[int]) -> tuple[Any, Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    logits, kept = session.run(None, {"input_ids": np.array(rows)})
    return logits, kept


@pytest.mark.parametrize("name", some(10, [name for name in NAMES if name != "division"]))
def test_it_says_what_the_plain_level_says(name: str, tmp_path: Path) -> None:
    from curta.export.onnx import write_onnx

    path = tmp_path / "model.onnx"
    write_onnx(model_of(name), path)
    plain = load(model_of(name), "plain")
    prompt = plain.encode(PROGRAMS[name].encode(PROGRAMS[name].cases[0].input))
    expected = list(plain.generate_ids(prompt, MOST))
    logits, kept = run(path, [*prompt, *expected[:-1]])
    assert logits.argmax(-1)[0, len(prompt) - 1 :].tolist() == expected
    assert kept.all()


@pytest.mark.parametrize("name", some(4, [name for name in NAMES if name != "subleq"]))
def test_models_in_float32(name: str, tmp_path: Path) -> None:
    from curta.export.onnx import write_onnx

    path, model = tmp_path / "model.onnx", narrow_model_of(name)
    write_onnx(model, path)
    plain = load(model, "plain")
    prompt = plain.encode(PROGRAMS[name].encode(PROGRAMS[name].cases[0].input))
    expected = list(plain.generate_ids(prompt, MOST))
    logits, kept = run(path, [*prompt, *expected[:-1]])
    assert logits.dtype == np.float32
    assert logits.argmax(-1)[0, len(prompt) - 1 :].tolist() == expected
    assert kept.all()


def test_it_says_where_a_promise_is_broken_and_the_proof_ends(tmp_path: Path) -> None:
    from curta.export.onnx import write_onnx

    path = tmp_path / "model.onnx"
    write_onnx(counting(8, 3), path)
    logits, kept = run(path, [0, 1, 0, 1, 1, 0, 0, 0, 0], [1, 1, 1, 1, 0, 0, 0, 0, 0])
    assert logits.argmax(-1)[0].tolist() == [0, 1, 0, 1, 1, 0, 0, 0, 0]
    assert kept.tolist() == [[True] * 8 + [False], [True] * 3 + [False] * 6]


def test_a_model_without_layers_and_the_command(tmp_path: Path) -> None:
    from curta.export.onnx import write_onnx

    graph = Graph(["a", "b"])
    graph.emit(["a", "b"], graph.is_token("a"))
    write_onnx(compile(graph, 8), tmp_path / "swap.onnx")
    assert run(tmp_path / "swap.onnx", [0, 1])[0].argmax(-1).tolist() == [[1, 0]]
    path = tmp_path / "dyck1.onnx"
    assert main(["build", "dyck1", "--emit", "onnx", "-o", str(path)]) == 0
    assert run(path, [0, 1])[1].all()
