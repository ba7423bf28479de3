"""Tables of thousands of values: one node, one slot, and hidden units that columns share."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from curta.compiler import Graph, Model, Node, at_least, compile, large_table, load_model
from curta.compiler.derived import copied
from curta.compiler.lower import lower
from curta.compiler.nodes import Piecewise
from curta.compiler.resolve import resolve
from curta.compiler.verify import verify
from curta.engine import load
from curta.engine.native.emit import model_to_c
from curta.errors import CertificateError, GraphError

DIGITS = [str(n) for n in range(10)]
FACTORS = (3, 5, 7)


def counted(graph: Graph, most: int) -> Node:
    return graph.assume(graph.running_sum(graph.is_token("a")), 0, most)


def column(factor: int, rows: int) -> list[int]:
    return [n * n * factor % 10 for n in range(rows)]


def columns_model(rows: int) -> Model:
    """After "a" * n and one of b, c, d: what that column says of n."""
    graph = Graph([*"abcd", *DIGITS])
    x = counted(graph, rows - 1)
    said = graph.constant(0)
    for token, factor in zip("bcd", FACTORS, strict=True):
        said = said + graph.gate(graph.is_token(token), large_table(x, column(factor, rows)))
    graph.emit(DIGITS, said)
    return compile(graph, 2 * rows)


@pytest.mark.parametrize("level", ["evaluate", "plain", "hull", "native"])
def test_every_level_finds_what_the_table_says(level: str) -> None:
    engine = load(columns_model(40), level)
    session = engine.session()
    ids = {token: engine.vocabulary.index(token) for token in "abcd"}
    said = []
    for n in range(1, 40):
        session.feed(ids["a"])
        token, factor = list(zip("bcd", FACTORS, strict=True))[n % 3]
        said.append(int(engine.vocabulary[session.feed(ids[token])]) == n * n * factor % 10)
    assert all(said)
    assert len(said) == 39


@pytest.mark.slow
def test_five_thousand_rows_in_the_native_engine() -> None:
    rows = 5000
    engine = load(columns_model(rows), "native")
    session = engine.session()
    a, d = engine.vocabulary.index("a"), engine.vocabulary.index("d")
    for _ in range(rows - 1):
        session.feed(a)
    assert engine.vocabulary[session.feed(d)] == DIGITS[column(7, rows)[-1]]


def test_columns_share_hidden_units_and_take_one_slot_each() -> None:
    model = columns_model(1000)
    assert model.plan["width"] < 12
    units = [unit for layer in model.plan["layers"] for unit in layer["units"]]
    assert 1000 <= len(units) < 1020
    written = sum(
        np.count_nonzero(tensor)
        for name, tensor in model.weights.items()
        if name.endswith("contract.weight")
    )
    assert written > 2000


def test_a_table_is_as_high_as_its_values() -> None:
    """And not as high as its bends, each of which goes on for ever."""
    graph = Graph(["a", "b"])
    x = counted(graph, 99)
    table = large_table(x, [n * 37 % 100 - 50 for n in range(100)])
    graph.score("a", table)
    circuit = lower(resolve(graph), 1000)
    found = circuit.ranges[circuit.graph.families[0].base]
    assert (found.low, found.high, found.step) == (-50, 49, 0)


def test_a_table_is_looked_up_by_native_code() -> None:
    """However many entries it has, it is not as many comparisons."""
    source = model_to_c(columns_model(3000))
    assert max(line.count(" >= ") for line in source.splitlines()) < 8


def test_a_copy_is_no_sum() -> None:
    """What is made of it is not made of what it was added up from."""
    graph = Graph(["a", "b"])
    x = counted(graph, 99)
    graph.score("a", copied(x + x, 0))
    circuit = lower(resolve(graph), 1000)
    base = circuit.graph.families[0].base
    assert (circuit.ranges[base].low, circuit.ranges[base].high) == (0, 198)
    assert isinstance(circuit.graph.operations[base], Piecewise)
    verify(compile(graph, 100))


def test_tables_over_tokens_and_constants_need_no_gates() -> None:
    graph = Graph([*"abc", *DIGITS])
    letter = graph.feature("letter", {"a": 0, "b": 1, "c": 2})
    graph.emit(DIGITS, large_table(letter, [3, 1, 4]) + large_table(graph.constant(1), [0, 2, 0]))
    model = compile(graph, 10)
    assert not any(layer["units"] for layer in model.plan["layers"])
    said = [list(load(model, "evaluate").generate([t], 1)) for t in "abc"]
    assert said == [["5"], ["3"], ["6"]]


def test_a_table_that_rises_by_too_much_is_refused() -> None:
    graph = Graph(["a", "b"])
    x = counted(graph, 4000)
    graph.score("a", large_table(x, [(2**40 + 1) * (n % 2) for n in range(4000)]))
    with pytest.raises(CertificateError, match=r"slot needs 6[0-9] bits"):
        compile(graph, 10_000)


def test_a_file_holds_tables(tmp_path: Path) -> None:
    model = columns_model(100)
    path = tmp_path / "table.safetensors"
    model.save(path)
    again = load_model(path)
    assert again.graph.operations == model.graph.operations
    verify(again)


def test_bends_are_numbers() -> None:
    graph = Graph(["a"])
    with pytest.raises(GraphError, match="expected an int"):
        graph.piecewise(graph.position, [("one", 1)])
    assert graph.piecewise(graph.position, [(1, 2), (1, -2)]) is graph.constant(0)


@pytest.mark.parametrize("level", ["evaluate", "native"])
def test_steps_between_the_places_of_a_number(level: str) -> None:
    """Of a number that is 3 more than a multiple of 16: a step there is one at the next place."""
    graph = Graph([*"ab", *DIGITS])
    x = 16 * counted(graph, 9) + 3
    reached = [at_least(x, place) for place in (5, 35, 36, 60, 67, 100)]
    graph.emit(DIGITS, sum(reached[1:], reached[0]), when=graph.is_token("b"))
    engine = load(compile(graph, 100), level)
    found = [list(engine.generate([*"a" * n, "b"], 1)) for n in range(10)]
    assert found == [[str(n)] for n in (0, 1, 2, 3, 5, 5, 5, 6, 6, 6)]
