"""Files that were cut, damaged, edited or never written by curta: refused, with the reason."""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors
import safetensors.numpy

from curta.compiler import Graph, Model, compile, load_model
from curta.compiler.model import FORMAT_VERSION, digest
from curta.compiler.verify import verify
from curta.engine import LEVELS, load
from curta.errors import CurtaError, FileError

Content = dict[str, Any]


@pytest.fixture(scope="module")
def model() -> Model:
    graph = Graph(["0", "1", "end"])
    count = graph.running_sum(graph.is_token("1")).named("ones")
    kept = graph.assume(count, 0, 5)
    graph.emit(["0", "1"], graph.lookup(query=count, key=graph.position, value=kept, missing=0.5))
    graph.stop_after("end")
    return compile(graph, max_tokens=16)


@pytest.fixture
def path(model: Model, tmp_path: Path) -> Path:
    model.save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def test_a_file_is_the_model(model: Model, path: Path) -> None:
    again = load_model(path)
    assert again.to_bytes() == model.to_bytes() == path.read_bytes()
    assert again.certificate == model.certificate
    verify(again)
    for level in LEVELS:
        assert (
            load(path, level).run([1, 0, 1], 4).tolist()
            == load(model, level).run([1, 0, 1], 4).tolist()
        )


@pytest.mark.parametrize("share", [0, 1, 7, 8, 9, 100, 0.1, 0.3, 0.5, 0.9, 0.999, -8, -1])
def test_truncated(path: Path, share: float) -> None:
    whole = path.read_bytes()
    end = int(share * len(whole)) if 0 < share < 1 else int(share)
    path.write_bytes(whole[:end])
    with pytest.raises(FileError, match="not a complete safetensors file"):
        load_model(path)


def test_longer_than_it_was(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")
    with pytest.raises(FileError, match="not a complete safetensors file"):
        load_model(path)


def test_flipped_bits(model: Model, path: Path) -> None:
    """Every flip is refused, or (white space in the header) changes nothing that was read."""
    whole, generator = path.read_bytes(), random.Random(1)
    header = 8 + struct.unpack("<Q", whole[:8])[0]
    places = [generator.randrange(len(whole)) for _ in range(150)]
    places += [generator.randrange(8) for _ in range(10)]
    places += [generator.randrange(header, len(whole)) for _ in range(100)]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << generator.randrange(8)
        path.write_bytes(damaged)
        try:
            again = load_model(path)
        except FileError:
            continue
        assert place < header
        assert again.to_bytes() == model.to_bytes(), f"byte {place} of {len(whole)}"


def rewrite(path: Path, edit: Callable[[Content], None], *, sign: bool) -> None:
    """Edit the metadata; with `sign`, put in the digest that belongs to it."""
    with safetensors.safe_open(path, framework="numpy") as file:
        content = json.loads(file.metadata()["curta"])
        weights = {name: file.get_tensor(name) for name in sorted(file.keys())}
    edit(content)
    if sign:
        content.pop("digest")
        content["digest"] = digest(weights, content)
    metadata = {"curta": json.dumps(content)}
    path.write_bytes(safetensors.numpy.save(weights, metadata=metadata))


def put(value: object, *keys: str | int) -> Callable[[Content], None]:
    def edit(content: Content) -> None:
        place: Any = content
        for key in keys[:-1]:
            place = place[key]
        place[keys[-1]] = value

    return edit


EDITS = [
    put(2**40, "certificate", "softmax_tokens"),
    put(17, "certificate", "max_tokens"),
    put("float32", "certificate", "arithmetic"),
    put([], "certificate", "promises"),
    put([], "plan", "guards"),
    put(99, "plan", "guards", 0, "high"),
    put([0], "plan", "stops"),
    put(["1", "0", "end"], "plan", "vocabulary"),
    put([], "graph", "stops"),
    put(["0", "1", "stop"], "graph", "tokens"),
    put({}, "graph", "names"),
]


@pytest.mark.parametrize("edit", EDITS)
def test_edited(path: Path, edit: Callable[[Content], None]) -> None:
    rewrite(path, edit, sign=False)
    with pytest.raises(FileError, match="changed after compilation"):
        load_model(path)


@pytest.mark.parametrize("edit", EDITS)
def test_edited_and_signed_again(path: Path, edit: Callable[[Content], None]) -> None:
    rewrite(path, edit, sign=True)
    with pytest.raises(CurtaError):
        verify(load_model(path))


def test_an_edited_weight(path: Path, model: Model) -> None:
    for name in sorted(model.weights):
        tensor = model.weights[name].copy()
        if not tensor.size:
            continue
        tensor.flat[-1] += 1
        changed = Model({**model.weights, name: tensor}, model.plan, model.certificate, model.graph)
        changed.save(path)
        with pytest.raises(FileError, match=f"tensor {name} is not what (the|a) graph compiles to"):
            verify(load_model(path))


@pytest.mark.parametrize("version", [0, FORMAT_VERSION + 1, "1", None])
def test_another_version(path: Path, version: object) -> None:
    rewrite(path, put(version, "version"), sign=True)
    with pytest.raises(FileError, match=f"format version {version!r}, this curta reads"):
        load_model(path)


BROKEN: list[tuple[Callable[[Content], None], str]] = [
    (put([], "certificate"), "certificate is [], expected an object"),
    (put(None, "certificate"), "certificate is None, expected an object"),
    (put({}, "certificate"), "certificate lacks 'arithmetic'"),
    (put(1, "certificate", "more"), "certificate has an odd entry 'more'"),
    (put(None, "certificate", "tightest"), "tightest is None, expected a list"),
    (put([{"kind": "sum"}], "certificate", "tightest"), "tightest[0] lacks 'bits'"),
    (put(True, "certificate", "max_tokens"), "max_tokens is True, expected an integer"),
    (put(0, "certificate", "max_tokens"), "max_tokens is 0, expected an integer from 1"),
    (put([], "graph"), "graph is [], expected an object"),
    (put({}, "graph"), "graph lacks 'families'"),
    (put(None, "graph", "nodes"), "graph.nodes is None, expected a list"),
    (put([["Nonsense", 1]], "graph", "nodes"), "graph.nodes[0] is"),
    (put(["Nonsense"], "graph", "nodes", 0), "nodes[0][0] is 'Nonsense', expected TokenFeature or"),
    (put([[]], "graph", "nodes"), "graph.nodes[0] is []"),
    (put([["Linear", 1]], "graph", "nodes"), "graph.nodes[0] is ['Linear', 1], expected a list"),
    (put(99, "graph", "nodes", 1, 1), "nodes[1][1] is 99, expected an integer from 0 to 7"),
    (put(1, "graph", "nodes", 1, 1), "node 1 reads a node that comes after it"),
    (put(0.5, "graph", "nodes", 0, 1, 0), "is 0.5, expected an integer or a fraction"),
    (put({"fraction": "1/3"}, "graph", "nodes", 3, 2), "expected an integer or a fraction"),
    (put({"fraction": "1/0"}, "graph", "nodes", 3, 2), "expected an integer or a fraction"),
    (put([1], "graph", "nodes", 0, 1), "nodes[0][1] is [1], expected a list of 3"),
    (put(0, "graph", "nodes", 2, 1), "is 0, expected an integer from 1"),
    (put(6, "graph", "nodes", 3, 2), "the interval is empty"),
    (put([1, 2], "graph", "nodes", 4, 1), "a query of 2 digits cannot match"),
    (put(["Gate", 0, 0], "graph", "nodes", 0), "node 0 reads a node that comes after it"),
    (put(["Linear", [], 1], "graph", "nodes", 7), "node 7 is a copy of an earlier one"),
    (put(["0", "0", "1"], "graph", "tokens"), "token '0' is declared twice"),
    (put(["0", "\udc80", "1"], "graph", "tokens"), "expected a string"),
    (put([], "graph", "names"), "names is [], expected an object"),
    (put({"99": "x"}, "graph", "names"), "names has an odd entry '99'"),
    (put([], "graph", "families"), "the graph never says anything"),
    (put([7], "graph", "stops"), "stops[0] is 7, expected an integer from 0 to 2"),
    (put([], "plan"), "plan is [], expected an object"),
    (put(0, "plan", "width"), "width is 0, expected an integer from 1"),
    (put(7, "plan", "width"), "tensor embedding.weight is"),
    (put(9, "plan", "schedule", "layers"), "layers is 9, expected 3"),
    (put([], "plan", "layers", 0, "heads"), "tensor layers.0.attention."),
    (put([], "plan", "layers", 2, "heads", 0, "key"), "key is [], expected a list of 1"),
    (put("median", "plan", "layers", 0, "heads", 0, "kind"), "'median', expected mean or retrieve"),
    (put(1e9, "plan", "slots", 0, "step"), "step is 1000000000.0, expected an integer"),
    (put(float("nan"), "plan", "guards", 0, "high"), "high is nan, expected a number"),
    (put([[99, 1]], "plan", "guards", 0, "terms"), "terms[0][0] is 99, expected an integer from 0"),
    (put([[2]], "plan", "families"), "the families of plan and graph differ"),
]


@pytest.mark.parametrize(("edit", "words"), BROKEN)
def test_malformed_and_signed_again(
    path: Path, edit: Callable[[Content], None], words: str
) -> None:
    rewrite(path, edit, sign=True)
    with pytest.raises(FileError) as caught:
        load_model(path)
    assert words in str(caught.value)


@pytest.mark.parametrize("text", ["", "{", "[]", "1", "null", '"text"', "{}"])
def test_metadata_that_is_no_content(path: Path, text: str) -> None:
    path.write_bytes(safetensors.numpy.save({"x": np.zeros(1)}, metadata={"curta": text}))
    with pytest.raises(FileError, match="metadata cannot be read"):
        load_model(path)


def test_another_program_s_safetensors(path: Path) -> None:
    for metadata in (None, {"format": "pt"}):
        path.write_bytes(safetensors.numpy.save({"x": np.zeros(1)}, metadata=metadata))
        with pytest.raises(FileError, match="not one that curta wrote"):
            load_model(path)


@pytest.mark.parametrize("content", [b"", b"text, not tensors", b"\xff" * 64, b"\0" * 64])
def test_not_safetensors(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(FileError, match="not a complete safetensors file"):
        load_model(path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        load_model(tmp_path / "absent")
    with pytest.raises(FileError, match=str(tmp_path)):
        load_model(tmp_path)
