"""The edges of a circuit account for all that a part reads, and for nothing else."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from curta.app.command_line import main
from curta.engine import load
from curta.export.attribution import Pass
from curta.export.circuit import ERASES, Part, circuit, parts
from curta.gallery import PROGRAMS
from tests.export.test_huggingface import model_of

pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["parity", "dyck1", "addition", "counter", "sort"])
def test_what_is_read_is_what_came_along_the_edges(name: str) -> None:
    model = model_of(name)
    plain = load(model, "plain")
    ids = plain.encode(PROGRAMS[name].encode(PROGRAMS[name].cases[0].input))
    ids += list(plain.generate_ids(ids, 12))
    run = Pass(model, ids)
    found = list(parts(model))
    half = {one.name: one.half for one in found}
    sources: dict[tuple[str, str, int], set[str]] = {}
    for edge in circuit(model)["edges"]:
        sources.setdefault((edge["target"], edge["input"], edge["slot"]), set()).add(edge["source"])
    read = 0
    for reader, way, slot in readings(found):
        came = sources.get((reader.name, way, slot), set())
        total = np.zeros(len(ids))
        for source in sorted(came, key=lambda one: half[one]):
            total = total + run.added[source][:, slot]
        stream = run.streams[reader.half - 1][:, slot]  # means are rounded, all else is exact
        np.testing.assert_allclose(total, stream, rtol=1e-14, atol=0, err_msg=str(reader))
        read += bool(came)
    assert read > len(found) / 2


def readings(found: list[Part]) -> list[tuple[Part, str, int]]:
    return [(one, way, slot) for one in found for way in one.reads for slot in one.reads[way]]


def test_a_slot_that_is_used_again_connects_nobody() -> None:
    """There are pairs of a writer and a later reader of a slot that are no edges."""
    model = model_of("addition")
    found = list(parts(model))
    joined = {(edge["source"], edge["target"], edge["slot"]) for edge in circuit(model)["edges"]}
    apart = [
        (writer, reader, slot)
        for reader, _, slot in readings(found)
        for writer in found
        if slot in writer.writes and writer.half < reader.half
        if (writer.name, reader.name, slot) not in joined
    ]
    assert apart
    assert any(not writer.meaning.startswith(ERASES) for writer, _, _ in apart)


def test_the_command_writes_it(tmp_path: Path) -> None:
    path = tmp_path / "dyck1.json"
    assert main(["build", "dyck1", "--emit", "circuit", "-o", str(path)]) == 0
    held = json.loads(path.read_text())
    assert held == json.loads(json.dumps(circuit(model_of("dyck1"))))
    assert {node["kind"] for node in held["nodes"]} == {
        *("embedding", "position", "head", "unit", "logits")
    }
    names = {node["id"] for node in held["nodes"]}
    assert {edge["source"] for edge in held["edges"]} < names
    assert {edge["target"] for edge in held["edges"]} < names
