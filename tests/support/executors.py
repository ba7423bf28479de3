"""Small machines that execute the program in their prompt: their operations are any graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

from hypothesis import strategies as st

from curta.compiler import Graph, Node, at_least, back, clamp, equals, remainder_of, select
from tests.support.random_graphs import OPERATIONS, Pick, a_running_sum

LENGTH = 5
"""Instructions of a program; the last one is not executed: the place goes back to the first."""
OPERATION_NAMES = [f"op{number}" for number in range(16)]
SAID = [f"say{number}" for number in range(64)]
ASIDE = [f"aside{number}" for number in range(64)]
JUMPS = [f"jump{number}" for number in range(5)]
JUMPING = 6
"""The operation that jumps: up to two instructions back, or on."""
DIGIT = 64
OPERATIONS_WITH = {(n, with_n): f"op{n} {with_n}" for n in range(7) for with_n in range(1, 4)}
"""Operations that have an operand of their own, by their number and that."""


@dataclass(frozen=True)
class Words:
    """What an operation may compute from: what was said last, its number, its place, its operand;
    and what was said aside last.
    """

    value: Node
    operation: Node
    place: Node
    operand: Node
    aside: Node


Results = Callable[[Graph, Words], Sequence[Node]]
"""What operations result in, by their numbers."""


class Extras(TypedDict):
    """What a machine may have."""

    turns: Results | None
    odd: Callable[[Graph], Node] | None


def executor(
    results: Results,
    low: int,
    high: int,
    asides: Results | None = None,
    *,
    wide: bool = False,
    turns: Results | None = None,
    odd: Callable[[Graph], Node] | None = None,
) -> Graph:
    """A machine of one register. The first five tokens are a program, repeated for ever; what an
    operation results in is said, and promised to be in low..high.

    If there are `asides` for the first operations, they say two tokens each: one aside, which
    moves nothing, and their result. If the register is `wide`, all do: its upper digit, and the
    lower one. If there are `turns`, one operation jumps as far as the first of them says. What is
    executed stands as far from the place as something `odd` says.
    """
    graph = Graph([*OPERATION_NAMES, *SAID, "again", *ASIDE, *OPERATIONS_WITH.values(), *JUMPS])
    is_operation = graph.is_token(*OPERATION_NAMES, *OPERATIONS_WITH.values())
    numbers = {name: number for number, name in enumerate(OPERATION_NAMES)}
    numbers |= {name: number for (number, _), name in OPERATIONS_WITH.items()}
    operation = graph.feature("operation", numbers)
    operand = graph.feature("operand", {name: n for (_, n), name in OPERATIONS_WITH.items()})
    size = graph.running_sum(is_operation)
    ways = {name: number - len(JUMPS) // 2 for number, name in enumerate(JUMPS)}
    moved = graph.feature("moved", {**dict.fromkeys(SAID, 1), "again": 1 - LENGTH, **ways})
    place = graph.running_sum(moved)
    graph.assume(place, 0, LENGTH - 1)
    key = select(is_operation, size - 1, -1)
    at = place if odd is None else place + odd(graph)
    now, given = (
        graph.lookup(query=at, key=key, value=one, missing=0) for one in (operation, operand)
    )
    lower = number_among(graph, SAID)
    upper = DIGIT * back(1, number_among(graph, ASIDE)) if wide else 0
    aside = last_of(graph, ASIDE, number_among(graph, ASIDE))
    words = Words(last_of(graph, SAID, upper + lower), now, place, given, aside)

    def result_of(found: Sequence[Node]) -> Node:
        gated = (graph.gate(equals(now, number), one) for number, one in enumerate(found))
        return graph.assume(sum(gated, graph.constant(0)), low, high)

    result = result_of(results(graph, words))
    jumps = equals(place, LENGTH - 1)
    speaks = 1 - jumps
    if turns is not None:
        turn = graph.gate(speaks, equals(now, JUMPING))
        graph.emit(JUMPS, turns(graph, words)[0], when=turn)
        speaks = speaks - turn
    if wide:
        before = graph.gate(speaks, 1 - graph.is_token(*ASIDE))
        graph.emit_quotient(ASIDE, result, DIGIT, when=before)
        result = remainder_of(result, DIGIT, DIGIT * DIGIT - 1)
        speaks = speaks - before
    elif asides is not None:
        found = asides(graph, words)
        asks = graph.gate(1 - at_least(now, len(found)), 1 - graph.is_token(*ASIDE))
        before = graph.gate(speaks, asks)
        graph.emit(ASIDE, result_of(found), when=before)
        speaks = speaks - before
    graph.emit(SAID, result, when=speaks)
    graph.emit_token("again", when=jumps)
    return graph


def number_among(graph: Graph, tokens: Sequence[str]) -> Node:
    """Which of these tokens the current one is."""
    return graph.feature("said", {name: number for number, name in enumerate(tokens)})


def last_of(graph: Graph, tokens: Sequence[str], value: Node) -> Node:
    """What a value was at the last of these tokens that there was."""
    elsewhere = 1 - graph.is_token(*tokens)
    return graph.lookup(query=graph.constant(0), key=elsewhere, value=value, missing=0)


def adder(operations: int = 16, *, array: bool = False) -> Graph:
    """Operation n adds n - 3, and what was said is added up; an operation may say half of it.

    With an array, which is asked for what was said, and always for what is never said.
    """

    def results(graph: Graph, words: Words) -> list[Node]:
        if array:
            kept = [
                graph.lookup(query=query, key=words.value, value=words.value, missing=0)
                for query in (words.value, 63)
            ]
            graph.assume(kept[0] + kept[1], 0, 100)
        graph.assume(graph.running_sum(words.value).named("sum of what was said"), 0, 3000)
        added = [words.value + number - 3 for number in range(operations)]
        added[5] = added[5] * 0.5
        return added

    return executor(results, -3, 60)


SIGNS = st.sampled_from([-1, 1])
WITHOUT_SUMS = [operation for operation in OPERATIONS if operation is not a_running_sum]


@st.composite
def executors(draw: st.DrawFn, *, odd: bool = False) -> Graph:
    """One whose operations are random graphs of the words and of each other's results, some of
    them with promises about sums, which may be broken before anything is said.

    If it is odd, it has what mostly keeps a model from having code for its instructions, or should:
    sums of what instructions say, the token itself, or a place that is not what tokens move.
    """
    has = draw(st.sampled_from(["sums", "token", "place"])) if odd else "nothing"

    def some(graph: Graph, words: Words) -> list[Node]:
        nodes = [words.value, words.value, words.aside, words.operand, words.operation, words.place]
        if has == "token":
            nodes.append(graph.is_token(*draw(st.sampled_from([SAID, SAID[::2], ASIDE]))))
        pick: Pick = lambda: draw(st.sampled_from(nodes))  # noqa: E731
        for _ in range(draw(st.integers(4, 10))):
            nodes.append(draw(st.sampled_from(WITHOUT_SUMS))(draw, graph, pick))
        if has == "sums":
            total = clamp(graph.running_sum(clamp(pick(), 0, 20)), 0, 4000)
            nodes = [total, remainder_of(total, 16, 4000), *nodes[-4:]]
        for low in draw(st.lists(st.integers(-4, 2), max_size=2)):
            graph.assume(graph.running_sum(pick()) * draw(SIGNS) + draw(SIGNS), low, 2**20)
        return [draw(st.sampled_from(nodes)) for _ in range(draw(st.integers(2, 6)))]

    def away(graph: Graph) -> Node:
        """Something that the token alone says, or the one before; or what is said of the prompt."""
        values = draw(st.lists(st.integers(-1, 1), min_size=len(SAID), max_size=len(SAID)))
        said = graph.feature("odd", dict(zip(SAID, values, strict=True)))
        match draw(st.integers(0, 3)):
            case 0:
                return said
            case 1:
                return back(draw(st.integers(1, 3)), said)
            case 2:
                return graph.is_token(*draw(st.sampled_from([ASIDE, JUMPS, ["again"]]))) - 1
            case _:
                return remainder_of(graph.running_sum(graph.is_token(*ASIDE)), 2, 2**12)

    extras: Extras = {
        "turns": some if draw(st.booleans()) else None,
        "odd": away if has == "place" else None,
    }
    match 2 if has == "sums" else draw(st.integers(0, 2)):
        case 0:
            return executor(some, -(2**20), 2**20, **extras)
        case 1:
            return executor(some, -(2**20), 2**20, some, **extras)
        case _:
            return executor(some, 0, DIGIT * DIGIT - 1, wide=True, **extras)


FIRST_WITH = len(OPERATION_NAMES) + len(SAID) + 1 + len(ASIDE)
operations = st.integers(0, 6) | st.integers(FIRST_WITH, FIRST_WITH + len(OPERATIONS_WITH) - 1)
programs = st.lists(operations, min_size=LENGTH, max_size=LENGTH)
later = st.lists(operations | st.integers(16, FIRST_WITH - 1), max_size=4)
"""Tokens that somebody says between what a machine says."""
