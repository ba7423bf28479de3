"""Code that knows the program is made of the weights alone, for any model that executes one."""

from __future__ import annotations

import hashlib
import pickle
import re
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from curta.compiler import Graph, Model, Node, at_least, back, compile, equals, large_table
from curta.engine import builds, hot, load
from curta.engine.builds import ModelFile, Request
from curta.engine.native import Native, NativeSession, specialise
from curta.engine.native.emit import model_to_c, model_to_kit
from curta.engine.native.kit import Kit

LENGTH = 80
DIGITS = [f"d{number}" for number in range(16)]
JUMPS = 7
"""The operation that goes back to the beginning."""
COMMENT = re.compile(r" ?/\*.*?\*/", re.DOTALL)


def program(added: int = 0) -> Graph:
    """A machine that executes one program, which stands in its weights: a loop of 80 instructions
    over a few words of 4 bits.
    """
    random = Random(7)
    graph = Graph([*DIGITS, "again"])
    moved = graph.feature("moved", {**dict.fromkeys(DIGITS, 1), "again": 1 - LENGTH})
    digit = graph.feature("digit", {name: number for number, name in enumerate(DIGITS)})
    place = graph.running_sum(moved)
    graph.assume(place, 0, LENGTH - 1)

    def field(most: int, at: Node = place, last: int = 0) -> Node:
        return large_table(at, [*(random.randint(last > 0, most) for _ in range(LENGTH - 1)), last])

    operation = field(JUMPS - 1, last=0) + JUMPS * equals(place, LENGTH - 1)
    target = graph.gate(graph.is_token(*DIGITS), field(5, place - moved, 1))
    word = graph.lookup(query=field(5, last=1), key=target, value=digit, missing=0)
    number = field(7) + graph.gate(equals(place, 3), added)
    total = word + number
    results = [
        total - graph.gate(at_least(total, 16), 16),
        15 - word,
        back(1, digit),
        graph.gate(at_least(word, number), word - number),
        number,
        15 - number,
        word,
    ]
    result = sum(
        (graph.gate(equals(operation, n), one) for n, one in enumerate(results)), graph.constant(0)
    )
    jumps = equals(operation, JUMPS)
    graph.emit(DIGITS, result, when=1 - jumps)
    graph.emit_token("again", when=jumps)
    return graph


@pytest.fixture(scope="module")
def model() -> Model:
    return compile(program(), 1 << 20)


@pytest.fixture(autouse=True)
def small_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have this one count as a program, and look for its places at once."""
    monkeypatch.setattr(specialise, "FEWEST_QUESTIONS", 0)
    monkeypatch.setattr(hot, "SAMPLED_NOW", 3000)
    monkeypatch.setattr(hot, "WINDOW_NOW", 3000)
    monkeypatch.setenv("CURTA_PLACES", "now")


def without_notes(model: Model) -> Model:
    """The same weights; of the rest, what is needed to read them: no name, nobody's plan."""

    def emptied(note: Any) -> Any:
        if isinstance(note, dict):
            return {key: "" if key == "name" else emptied(held) for key, held in note.items()}
        return [emptied(held) for held in note] if isinstance(note, list) else note

    plan = {
        **emptied({key: model.plan[key] for key in ("layers", "slots", "guards")}),
        "width": model.plan["width"],
        "vocabulary": [f"token {number}" for number in range(len(model.vocabulary))],
        "stops": model.plan["stops"],
        "families": model.plan["families"],
        "schedule": {},
    }
    for layer in plan["layers"]:
        layer["units"] = [""] * len(layer["units"])
    return replace(model, plan=plan, graph=Graph(plan["vocabulary"]))


def code(model: Model) -> tuple[str, dict[str, str]]:
    """The C and the kit of a model, without comments, which nothing reads."""
    kit = model_to_kit(model)
    assert kit is not None
    assert kit.templates
    bare = {key: COMMENT.sub("", str(held)) for key, held in vars(kit).items()}
    return COMMENT.sub("", model_to_c(model)), bare


def said(model: Model, count: int, *, places: bool = True) -> list[int]:
    """What the native level says, in the end by code for places."""
    engine = Native(model)
    if places:
        engine.make_kit()
    session = engine.session()
    tokens = listened(session, count)
    if places:
        assert session.placed > 0.2 * count
    session.close()
    return tokens


def listened(session: NativeSession, count: int) -> list[int]:
    following, tokens = session.take(np.array([0], dtype=np.int32)), list[int]()
    while len(tokens) < count:
        tokens += session.generate(following, 4000).tolist()
        following = session.feed(tokens[-1])
    return tokens[:count]


def test_notes_about_the_program_change_nothing(model: Model) -> None:
    bare = without_notes(model)
    assert code(bare) == code(model)
    assert said(bare, 20_000) == said(model, 20_000) == said(model, 20_000, places=False)


def test_one_weight_changes_the_code(model: Model) -> None:
    """How far a jump goes back as the weights have it; softmax says what that comes to."""
    source, kit = code(model)
    embedding = model.weights["embedding.weight"].copy()
    embedding[embedding == 1 - LENGTH] += 1
    assert np.count_nonzero(embedding != model.weights["embedding.weight"]) == 1
    other = replace(model, weights={**model.weights, "embedding.weight": embedding})
    assert code(other)[0] != source
    assert code(other)[1]["end"] != kit["end"] or code(other)[1]["head"] != kit["head"]
    tokens = said(other, 20_000)
    assert tokens != said(model, 20_000)
    plain = list(islice(load(other, "plain").generate_ids([0]), 400))
    assert tokens[:400] == plain


def test_another_program_is_another_kit(model: Model) -> None:
    """A number in the program changes a table in the weights, and what is said there."""
    other = compile(program(added=2), 1 << 20)
    assert code(other) != code(model)
    assert said(other, 20_000) != said(model, 20_000)


class Ended:
    """Another process, that did its work at once."""

    def __init__(self, request: Request, file: ModelFile | None) -> None:
        assert file is not None
        assert pickle.loads(pickle.dumps(request.known)) == request.known
        self.code = 0 if builds.make(request, file.read) else builds.NOTHING_TO_ADD

    def poll(self) -> int:
        return self.code


def test_a_kit_grows_by_what_a_run_needs(
    model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the file of the model; not from another one."""
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CURTA_PLACES", "later")
    monkeypatch.setattr(builds, "begin", Ended)
    monkeypatch.setattr(builds, "MOST_PLACES", 20)
    for name, small in (("COLD", 3000), ("SAMPLED", 3000), ("WINDOW", 3000), ("SHORT", 1)):
        monkeypatch.setattr(hot, name, small)
    path = tmp_path / "model.safetensors"
    model.save(path)
    engine = Native(model)
    engine.model_file = ModelFile(path, hashlib.sha256(path.read_bytes()).hexdigest())
    session = engine.session()
    tokens = listened(session, 40_000)
    assert session.placed > 0
    monkeypatch.setenv("CURTA_PLACES", "off")
    assert tokens == said(model, 40_000, places=False)
    kit = builds.read_kit(engine.workshop.key)  # type: ignore[union-attr]
    whole = model_to_kit(model)
    assert kit is not None
    assert whole is not None
    assert set() < kit.templates.keys() < whole.templates.keys()
    with pytest.raises(OSError, match="written anew"):
        replace(engine.model_file, digest="another").read()


def test_a_kit_is_read_as_it_was_written(model: Model) -> None:
    kit = model_to_kit(model)
    assert kit is not None
    assert Kit.from_json(kit.to_json()) == kit
