"""Code that knows the program is made of the weights alone, for any model that executes one."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import islice
from random import Random
from typing import Any

import numpy as np
import pytest

from curta.compiler import Graph, Model, Node, at_least, back, compile, equals, large_table
from curta.engine import builds, hot, load
from curta.engine.native import routine
from curta.engine.native.emit import model_to_c
from curta.engine.native.kit import Kit
from curta.engine.native_level import Native, NativeSession
from tests.support.general_step import by_steps

LENGTH = 80
DIGITS = [f"d{number}" for number in range(16)]
JUMPS = 7
"""The operation that goes back to the beginning."""
COMMENT = re.compile(r" ?/\*.*?\*/", re.DOTALL)


def program(added: int = 0, name: str = "digit") -> Graph:
    """A machine that executes one program, which stands in its weights: a loop of 80 instructions
    over a few words of 4 bits.
    """
    random = Random(7)
    graph = Graph([*DIGITS, "again"])
    moved = graph.feature("moved", {**dict.fromkeys(DIGITS, 1), "again": 1 - LENGTH})
    digit = graph.feature(name, {token: number for number, token in enumerate(DIGITS)})
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
    monkeypatch.setattr(routine, "FEWEST_QUESTIONS", 0)
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
    return replace(model, plan=plan, given_graph=Graph(plan["vocabulary"]))


def code(model: Model) -> str:
    """The C of a model, without comments, which nothing reads."""
    source = model_to_c(model)
    assert Kit.of(source).templates
    return COMMENT.sub("", source)


def said(model: Model, count: int, *, places: bool = True) -> list[int]:
    """What the native level says, in the end by code for places; or by the general step."""
    session = (Native if places else by_steps)(model).session()
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


def test_a_name_that_looks_like_a_section_is_none(model: Model) -> None:
    """Names stand in the C, in comments."""
    named = compile(program(name="/// digit"), 1 << 20)
    assert "/// digit" in (source := model_to_c(named))
    assert "/// digit" in Kit.of(source).head
    assert said(named, 20_000) == said(model, 20_000)


def test_notes_about_the_program_change_nothing(model: Model) -> None:
    bare = without_notes(model)
    assert code(bare) == code(model)
    assert said(bare, 20_000) == said(model, 20_000) == said(model, 20_000, places=False)


def test_one_weight_changes_the_code(model: Model) -> None:
    """How far a jump goes back as the weights have it; softmax says what that comes to."""
    source = code(model)
    embedding = model.weights["embedding.weight"].copy()
    embedding[embedding == 1 - LENGTH] += 1
    assert np.count_nonzero(embedding != model.weights["embedding.weight"]) == 1
    other = replace(model, weights={**model.weights, "embedding.weight": embedding})
    assert code(other) != source
    tokens = said(other, 20_000)
    assert tokens != said(model, 20_000)
    plain = list(islice(load(other, "plain").generate_ids([0]), 400))
    assert tokens[:400] == plain


def test_another_program_is_other_code(model: Model) -> None:
    """A number in the program changes a table in the weights, and what is said there."""
    other = compile(program(added=2), 1 << 20)
    assert code(other) != code(model)
    assert said(other, 20_000) != said(model, 20_000)


def test_tokens_beyond_those_that_are_said_have_no_class() -> None:
    """However far beyond."""
    kit = Kit([[3, 4], [7]], [1], 0, "", "", "", {})
    tokens = np.array([3, 4, 7, 0, 5, 8, 9, 1 << 20], dtype=np.int32)
    found = builds.classes_of_tokens(builds.class_of(kit), tokens)
    assert found.tolist() == [0, 0, 1, -1, -1, -1, -1, -1]
