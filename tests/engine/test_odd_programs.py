"""Machines whose place is not where that of a program usually is, or that look at tokens again."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from ctypes import c_int, c_void_p
from pathlib import Path
from random import Random

import numpy as np
import pytest

from curta.compiler import Graph, Model, Node, back, clamp, compile, equals, remainder_of, select
from curta.engine import beside, load, units
from curta.engine.native import run_to_c
from curta.engine.native.kit import Kit
from curta.engine.native.run_to_c import longest_way
from curta.engine.native_level import Native, written_c

OPERATIONS = [f"op{number}" for number in range(16)]
DIGITS = [f"d{number}" for number in range(4)]
Odd = Callable[[Graph, Node], Node]


def machine(place: Odd, result: Odd) -> Graph:
    """Executes the operations of its prompt: each adds its number and one more to what was said."""
    graph = Graph([*OPERATIONS, *DIGITS, "start"])
    is_operation = graph.is_token(*OPERATIONS)
    operation = graph.feature("operation", {name: n for n, name in enumerate(OPERATIONS)})
    digit = graph.feature("digit", {name: n for n, name in enumerate(DIGITS)})
    at = graph.running_sum(graph.is_token(*DIGITS)) + place(graph, digit)
    key = select(is_operation, graph.running_sum(is_operation) - 1, -1)
    now = graph.lookup(query=graph.assume(at, 0, 200), key=key, value=operation, missing=0)
    last = graph.lookup(query=0, key=1 - graph.is_token(*DIGITS), value=digit, missing=0)
    found = (
        graph.gate(equals(now, n), last + n + result(graph, digit)) for n in range(len(OPERATIONS))
    )
    total = clamp(sum(found, graph.constant(0)), 0, 23)
    graph.emit(DIGITS, remainder_of(total, 4, 23))
    return graph


def nothing(graph: Graph, digit: Node) -> Node:
    return graph.constant(0)


@pytest.mark.parametrize(
    ("place", "result"),
    [
        (nothing, nothing),
        (lambda graph, digit: digit, nothing),
        (lambda graph, digit: back(1, digit), nothing),
        (lambda graph, digit: graph.is_token("start"), nothing),
        (nothing, lambda graph, digit: digit),
    ],
    ids=["usual", "place and digit", "place and the digit before", "start", "result and digit"],
)
def test_a_place_is_where_the_definition_has_it(place: Odd, result: Odd) -> None:
    model = compile(machine(place, result), 1000)
    definition, native = load(model, "evaluate"), Native(model)
    random = Random(1)
    for _ in range(4):
        prompt = [*random.choices(OPERATIONS, k=40), "start"]
        assert list(native.generate(prompt, 40)) == list(definition.generate(prompt, 40))


@pytest.mark.parametrize(("limit", "value"), [("LONG", 0), ("MOST_WAYS", 8)])
def test_templates_in_units_and_selectors_without_one(
    limit: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is compiled side by side goes on in one another, and a template may be missing."""
    model = compile(machine(nothing, nothing), 1000)
    usual = templates_of(written_c(model))
    monkeypatch.setattr(run_to_c, limit, value)
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    source = written_c(model)
    found = templates_of(source)
    if limit == "LONG":
        assert "#define UNITS 3\n" in source
        assert sorted(found) == sorted(usual)
        ways = [longest_way(found[selector]) for selector in found]
        assert ways == sorted(ways)
    else:
        assert found == {selector: usual[selector] for selector in usual if int(selector) < value}
        assert found != usual
    definition, native = load(model, "evaluate"), Native(model)
    assert native.library.source == source
    native.library.complete()
    prompt = [*Random(2).choices(OPERATIONS, k=40), "start"]
    assert list(native.generate(prompt, 40)) == list(definition.generate(prompt, 40))


@pytest.fixture
def in_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model whose C is compiled in units, none of which is there; nothing is done beside."""
    monkeypatch.setattr(run_to_c, "LONG", 0)
    monkeypatch.setattr(units, "BETWEEN_LOOKS", 0)
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    return compile(machine(nothing, nothing), 1000)


class Begun:
    """Another process, that did nothing."""

    def __init__(self, ended: int | None) -> None:
        self.ended = ended

    def poll(self) -> int | None:
        return self.ended


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_units_come_while_a_run_goes_on(
    order: tuple[int, int], in_units: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any of them a run says the same tokens, and it goes on in those that come."""
    monkeypatch.setattr(beside, "begin", lambda *_: Begun(None))
    native, definition = Native(in_units), load(in_units, "evaluate")
    prompt = definition.encode([*Random(3).choices(OPERATIONS, k=180), "start"])
    session, missing = native.session(), native.library.units.absent
    said, calls = list[int](), list[int]()
    last = session.take(np.array(prompt))
    for unit in (None, *order):
        if unit is not None:
            native.library.units.build(unit)
        *more, last = session.generate(last, 40).tolist()
        said += more
        assert unit not in missing
    assert not missing
    counted = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)(lambda *_: calls.append(last) or 0)
    native.library.set_unit(1, ctypes.cast(counted, c_void_p))
    said += session.generate(last, 40).tolist()
    assert calls
    assert said == list(definition.generate_ids(prompt, len(said)))


def test_units_are_compiled_by_another_process(in_units: Model) -> None:
    units = Native(in_units).library.units
    assert units.process is not None
    assert units.process.wait() == 0
    assert [number for number, _ in units.found()] == [1, 2]
    assert not Native(in_units).library.units.absent


@pytest.mark.parametrize("begun", [None, Begun(1)])
def test_units_that_do_not_come_are_warned_of(
    begun: Begun | None, in_units: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "begin", lambda *_: begun)
    with pytest.warns(UserWarning, match="CURTA_PLACES=now"):
        native = Native(in_units)
    prompt = [*Random(4).choices(OPERATIONS, k=40), "start"]
    expected = list(load(in_units, "evaluate").generate(prompt, 40))
    assert list(native.generate(prompt, 40)) == expected
    monkeypatch.setenv("CURTA_PLACES", "now")
    assert not Native(in_units).library.units.absent


def templates_of(source: str) -> dict[str, str]:
    return Kit.of(source).templates


def test_what_is_executed_at_most_is_between_lines_that_tell_how() -> None:
    template = ["1", "//@if 2 field1", "22", "//@say 0", "333", "//@end", "4444", "//@end", "5"]
    assert longest_way("\n".join(template)) == len("1" + "22" + "4444")
