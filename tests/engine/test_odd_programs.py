"""Machines whose place is not where that of a program usually is, or that look at tokens again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from curta.compiler import Graph, Node, back, clamp, compile, equals, remainder_of, select
from curta.engine import load
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


def templates_of(source: str) -> dict[str, str]:
    return Kit.of(source).templates


def test_what_is_executed_at_most_is_between_lines_that_tell_how() -> None:
    template = ["1", "//@if 2 field1", "22", "//@say 0", "333", "//@end", "//@done", "4444"]
    template += ["//@end", "5"]
    assert longest_way("\n".join(template)) == len("1" + "22" + "//@done" + "4444")
