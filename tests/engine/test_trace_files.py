"""Trace files: what is written comes back, what is damaged is refused; their page holds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from curta.compiler import Graph, Model, compile
from curta.compiler.model import load_model, model_digest, tensor_shapes
from curta.engine import load, load_trace, save_trace
from curta.engine.model_cache import compile_cached
from curta.errors import FileError
from curta.gallery import PROGRAMS
from tests.support.model_page import PAGE, differences, function


def parity() -> Model:
    graph = Graph(["0", "1", "=", "odd", "even"])
    ones = graph.running_sum(graph.is_token("1"))
    even = graph.position_feature(1, modulus=2)
    found = graph.lookup(query=ones, key=graph.position, value=even, missing="nearest")
    graph.emit(["even", "odd"], found)
    graph.stop_after("even", "odd")
    return compile(graph, max_tokens=64)


@pytest.fixture(scope="module")
def model() -> Model:
    return parity()


@pytest.fixture
def path(model: Model, tmp_path: Path) -> Path:
    """Two sequences; in the second the model is asked twice."""
    tokens = [1, 0, 1, 1, 2, 3, 1, 2, 3, 0, 2, 3]
    given = [1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    save_trace(tmp_path / "trace.safetensors", model, tokens, given, [0, 6], "two questions")
    return tmp_path / "trace.safetensors"


def test_a_file_is_the_trace(model: Model, path: Path) -> None:
    trace = load_trace(path, model)
    assert trace.tokens.tolist() == [1, 0, 1, 1, 2, 3, 1, 2, 3, 0, 2, 3]
    assert trace.given.tolist() == [1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0]
    assert trace.starts.tolist() == [0, 6]
    assert (trace.tokens.dtype, trace.given.dtype, trace.starts.dtype) == ("i4", "u1", "i8")
    assert trace.model == model_digest(model)
    assert trace.note == "two questions"
    assert "12 tokens, 3 of them said" in repr(trace)


def test_a_trace_is_of_its_model_only(model: Model, path: Path) -> None:
    program = PROGRAMS["parity"]
    other = compile_cached(program.build(), program.max_tokens)
    assert model_digest(other) != model_digest(model)
    with pytest.raises(FileError, match="a trace of another model"):
        load_trace(path, other)


def rewrite(path: Path, tensors: dict[str, Any], metadata: dict[str, str]) -> None:
    """The file with some tensors and entries replaced; those that are None, left out."""
    with safetensors.safe_open(path, framework="numpy") as file:
        old = {name: file.get_tensor(name) for name in ("tokens", "given", "starts")}
        about = {**file.metadata(), **metadata}
    kept = {name: value for name, value in {**old, **tensors}.items() if value is not None}
    path.write_bytes(safetensors.numpy.save(kept, metadata=about))


COUNT = 12
BROKEN: list[tuple[dict[str, Any], dict[str, str], str]] = [
    ({}, {"curta": "{}"}, "but no trace"),
    ({}, {"curta": "trace 2"}, "a 'trace 2', this curta reads 'trace 1'"),
    ({}, {"model": "abc"}, "'model' is no digest"),
    ({}, {"model": "A" * 64}, "'model' is no digest"),
    ({}, {"model": "0" * 64}, "a trace of another model"),
    ({"tokens": None}, {}, "tensor tokens is missing"),
    ({"given": None}, {}, "tensor given is missing"),
    ({"starts": None}, {}, "tensor starts is missing"),
    ({"more": np.zeros(1)}, {}, "tensor more does not belong in a trace"),
    ({"tokens": np.zeros(COUNT, "i8")}, {}, "tensor tokens is I64 of shape (12,), expected I32"),
    ({"given": np.zeros(COUNT, "?")}, {}, "tensor given is BOOL"),
    ({"given": np.ones((2, 6), "u1")}, {}, "tensor given is U8 of shape (2, 6)"),
    ({"starts": np.zeros((), "i8")}, {}, "tensor starts is I64 of shape ()"),
    ({"tokens": np.zeros(0, "i4"), "given": np.zeros(0, "u1")}, {}, "there are no tokens"),
    ({"given": np.ones(COUNT - 1, "u1")}, {}, "12 tokens, but given has 11 entries"),
    ({"tokens": np.full(COUNT, -1, "i4")}, {}, "a token is negative"),
    ({"tokens": np.full(COUNT, 5, "i4")}, {}, "a token beyond the 5 that the model has"),
    ({"given": np.full(COUNT, 2, "u1")}, {}, "neither 0 nor 1"),
    ({"given": np.zeros(COUNT, "u1")}, {}, "begins with a token that nobody gave"),
    ({"starts": np.zeros(0, "i8")}, {}, "does not start at 0"),
    ({"starts": np.array([1])}, {}, "does not start at 0"),
    ({"starts": np.array([0, 6, 6])}, {}, "starts do not ascend"),
    ({"starts": np.array([0, 12])}, {}, "starts do not ascend within the 12 tokens"),
    ({"starts": np.array([0, 8])}, {}, "begins with a token that nobody gave"),
    (
        {"tokens": np.zeros(COUNT, "i4"), "given": np.array([1, 0] * 6, "u1"), "starts": [0]},
        {},
        "token 2 was given where the model had not stopped",
    ),
]


@pytest.mark.parametrize(("tensors", "metadata", "words"), BROKEN)
def test_malformed(
    model: Model, path: Path, tensors: dict[str, Any], metadata: dict[str, str], words: str
) -> None:
    if "starts" in tensors and isinstance(tensors["starts"], list):
        tensors = {**tensors, "starts": np.array(tensors["starts"])}
    rewrite(path, tensors, metadata)
    with pytest.raises(FileError, match=re.escape(words)) as caught:
        load_trace(path, model)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("share", [0, 7, 0.1, 0.5, 0.9, 0.999])
def test_truncated(path: Path, share: float) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole)) if share < 1 else int(share)])
    with pytest.raises(FileError, match="not a complete safetensors file"):
        load_trace(path)


def test_a_model_is_no_trace(model: Model, tmp_path: Path) -> None:
    model.save(tmp_path / "model.safetensors")
    with pytest.raises(FileError, match="but no trace"):
        load_trace(tmp_path / "model.safetensors")
    with pytest.raises(FileError, match="no such file"):
        load_trace(tmp_path / "absent.safetensors")


@pytest.mark.parametrize(
    ("tokens", "given", "starts", "words"),
    [
        ([], [], [0], "tokens has to be a list of numbers that int32 holds"),
        ([1.5], [1], [0], "tokens has to be a list"),
        ([2**40], [1], [0], "tokens has to be a list"),
        ([1], [256], [0], "given has to be a list of numbers that uint8 holds"),
        (1, [1], [0], "tokens has to be a list"),
        ([1, 3], [1, 0], [1], "does not start at 0"),
        ([1, 1, 1], [1, 0, 1], [0], "token 2 was given where the model had not stopped"),
    ],
)
def test_what_is_no_trace_is_not_written(
    model: Model, tmp_path: Path, tokens: Any, given: Any, starts: list[int], words: str
) -> None:
    path = tmp_path / "trace.safetensors"
    with pytest.raises(FileError, match=words):
        save_trace(path, model, tokens, given, starts)
    assert not path.exists()
    with pytest.raises(FileError, match="choose another place"):
        save_trace(tmp_path / "no" / "folder", model, [1, 3], [True, False])


# -- the page ---------------------------------------------


@pytest.mark.parametrize("name", ["addition", "sort_records", "histogram", "multiplication"])
def test_the_forward_pass_of_the_page_is_the_softmax_model(name: str, tmp_path: Path) -> None:
    """Slot by slot at every half layer; and so it finds every answer of a trace, and any fault."""
    pytest.importorskip("torch")
    program = PROGRAMS[name]
    model = compile_cached(program.build(), program.max_tokens)
    engine = load(model, "plain")
    prompt = engine.encode(program.encode(program.cases[0].input))
    said = load(model).run(prompt).tolist()
    ids = np.array([*prompt, *said])
    ours = np.stack(list(function("streams")(model.weights, ids[:-1])), axis=1)
    theirs = engine.residuals(ids[:-1])
    exact = ~_means(model, ours.shape)
    np.testing.assert_array_equal(ours[exact], theirs[exact])
    np.testing.assert_allclose(ours, theirs)
    assert function("said_after")(model.weights, ids[:-1])[len(prompt) - 1 :].tolist() == said

    model.save(tmp_path / "model.safetensors")
    given = np.arange(len(ids)) < len(prompt)
    path = tmp_path / "trace.safetensors"
    save_trace(path, model, ids, given)
    assert differences(tmp_path / "model.safetensors", path) == []
    ids[-1] = (ids[-1] + 1) % len(model.vocabulary)
    save_trace(path, model, ids, given)
    assert differences(tmp_path / "model.safetensors", path) == [len(ids) - 1]


def _means(model: Model, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Where the residual stream holds a mean, which is rounded."""
    rounded = np.zeros(shape, dtype=bool)
    for slot in model.plan["slots"]:
        if any(member["kind"] in ("Mean", "Restore") for member in slot["members"]):
            rounded[:, slot["first"] : slot["last"] + 1, slot["slot"]] = True
    return rounded


def test_the_page_names_every_tensor(model: Model) -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (float64|int64)\b", PAGE.read_text(), flags=re.MULTILINE)
    named = {(re.sub(r"\.N\.", ".0.", name), kind) for name, kind in rows}
    shapes = tensor_shapes(model.plan, "float64", 3)
    first_layer = {(n, kind) for n, (kind, _) in shapes.items() if not re.search(r"\.[1-9]\.", n)}
    assert named - {("starts", "int64")} == first_layer


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_digest_of_the_page_is_ours(name: str, tmp_path: Path) -> None:
    """Of a model that was compiled, saved, and read again; with notes or without."""
    model = compile_cached(PROGRAMS[name].build(), PROGRAMS[name].max_tokens)
    model.save(tmp_path / "model.safetensors", {"note": "of a baked program, say"})
    tensors, metadata = function("read")(tmp_path / "model.safetensors")
    assert function("digest")(tensors, metadata["curta"]) == model_digest(model)
    assert model_digest(load_model(tmp_path / "model.safetensors")) == model_digest(model)


@pytest.mark.parametrize(("name", "value"), [("stops", [0]), ("guards", [{}])])
def test_whoever_edits_a_plan_has_another_model(model: Model, name: str, value: Any) -> None:
    assert model.plan[name] != value
    edited = replace(model, plan={**model.plan, name: value})
    assert model_digest(edited) != model_digest(model)
    longer = replace(model.certificate, softmax_tokens=model.certificate.softmax_tokens + 1)
    assert model_digest(replace(model, certificate=longer)) != model_digest(model)


@pytest.mark.parametrize("name", ["addition", "subleq"])
def test_scores_are_as_the_page_says(name: str) -> None:
    """Multiples of 2**10 below 2**63; the highest is alone, or all are 0."""
    program = PROGRAMS[name]
    model = compile_cached(program.build(), program.max_tokens)
    tokens = np.arange(40) % len(model.vocabulary)
    for number, x in enumerate(list(function("streams")(model.weights, tokens))[:-1:2]):
        part = f"layers.{number}.attention"
        query, key = (model.weights[f"{part}.{name}.weight"] for name in ("query", "key"))
        width = int(model.weights[f"{part}.head_width"])
        for first in range(0, len(query), width):
            rows = slice(first, first + width)
            scores = (x[-1] @ query[rows].T) @ (x @ key[rows].T).T
            assert (scores % 2**10 == 0).all()
            assert abs(scores).max() < 2**63
            assert (scores == 0).all() or np.count_nonzero(scores == scores.max()) == 1
