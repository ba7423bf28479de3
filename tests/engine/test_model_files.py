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


BROKEN = [
    put([], "certificate"),
    put(None, "certificate"),
    put({}, "certificate"),
    put(None, "certificate", "tightest"),
    put([{"kind": "sum"}], "certificate", "tightest"),
    put([], "graph"),
    put({}, "graph"),
    put(None, "graph", "nodes"),
    put([["Nonsense", 1]], "graph", "nodes"),
    put([[]], "graph", "nodes"),
    put([["Linear", 1]], "graph", "nodes"),
]
IN_GRAPH = [
    put([["Gate", 0, 0]], "graph", "nodes"),
    put([["Linear", [], 1], ["Linear", [], 1]], "graph", "nodes"),
    put(["0", "0"], "graph", "tokens"),
]


@pytest.mark.parametrize("edit", BROKEN + IN_GRAPH)
def test_malformed_and_signed_again(path: Path, edit: Callable[[Content], None]) -> None:
    rewrite(path, edit, sign=True)
    with pytest.raises(CurtaError):
        load_model(path)


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
