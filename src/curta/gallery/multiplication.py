"""Multiplication of two natural numbers of any length: the school method, one token a step.

There is one row for each digit of b, from the right, and one step for each digit of a. Row j adds
a * b_j to what stands in columns j, j + 1, ... after row j - 1. A step is one token <0> ... <99>:

    step = a_i * b_j + (digit in column i + j so far) + carry        at most 81 + 9 + 9 = 99

Its last digit stays in the column, its first digit is the carry of the next step; both are in the
embedding. A row ends with its last carry, [0] ... [9], which starts a new column. The previous
row's digit of the same column is always len(a) tokens before the token that is to be said.

After the last row comes "~". The digit of column c is final at the first step of row c, and all of
the last row is. Those tokens are filed under their columns, and the answer reads the columns from
the highest nonzero one down.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from curta.compiler import Graph, Node, at_least, at_most, both, equals, relu
from curta.gallery.idioms import DIGITS, fetch, has_been, latest, since, table
from curta.gallery.program import Case, GalleryProgram, joined_after, natural, parts

EXAMPLE = "123 * 45"
LONGEST = 2**20
STEPS = tuple(f"<{number}>" for number in range(100))
CARRIES = tuple(f"[{number}]" for number in range(10))


@dataclass(frozen=True)
class Place:
    """Where the trace stands."""

    first_length: Node
    second_length: Node
    row: Node
    step: Node
    answering: Node


def build() -> Graph:
    graph = Graph([*DIGITS, "*", "=", *STEPS, *CARRIES, "~", "."])
    end = latest(graph.is_token("="), graph.position).named("end")
    times = latest(graph.is_token("*"), graph.position).named("times")
    place = Place(
        first_length=times,
        second_length=end - times - 1,
        row=graph.running_sum(graph.is_token(*CARRIES)).named("row"),
        step=since(graph.is_token("=", *CARRIES)).named("step"),
        answering=has_been(graph.is_token("~")),
    )
    say_steps(graph, place, end, times)
    say_columns(graph, place)
    return graph


def last_digit(graph: Graph) -> Node:
    values = {token: number % 10 for number, token in enumerate(STEPS)}
    return graph.feature("last digit", values | {c: n for n, c in enumerate(CARRIES)})


def say_steps(graph: Graph, place: Place, end: Node, times: Node) -> None:
    digit = table(graph, "digit", DIGITS)
    a = fetch(times - 1 - place.step, digit)
    b = fetch(end - 1 - place.row, digit)
    column = fetch(graph.position + 1 - place.first_length, last_digit(graph))
    carry = graph.feature("carry", {token: number // 10 for number, token in enumerate(STEPS)})
    rows_left = at_most(place.row, place.second_length - 1)
    row_left = at_most(place.step, place.first_length - 1)
    working = 1 - place.answering
    graph.emit(STEPS, graph.gate(b, a) + column + carry, when=both(working, rows_left, row_left))
    graph.emit(CARRIES, carry, when=both(working, rows_left, 1 - row_left))
    graph.emit_token("~", when=both(working, 1 - rows_left))


def say_columns(graph: Graph, place: Place) -> None:
    low = last_digit(graph)
    final, column = final_column(graph, place)
    filed = graph.assume(graph.gate(column + 1, final), 0, LONGEST)
    nonzero = both(final, at_least(low, 1))
    top = latest(nonzero, column)
    wanted = top + 1 - since(graph.is_token("~"))
    found = graph.lookup(
        query=graph.assume(relu(wanted), 0, LONGEST), key=filed, value=low, missing=0
    )
    left = at_least(wanted, 1)
    graph.emit(DIGITS, graph.assume(found, 0, 9), when=both(place.answering, left))
    graph.emit_token(".", when=both(place.answering, 1 - left))
    graph.stop_after(".")


def final_column(graph: Graph, place: Place) -> tuple[Node, Node]:
    """Whether the last digit of the token here is final, and in which column it stands."""
    is_step, is_carry = graph.is_token(*STEPS), graph.is_token(*CARRIES)
    first_step = both(is_step, equals(place.step, 1))
    last_row = both(is_step, equals(place.row, place.second_length - 1))
    last_carry = both(is_carry, equals(place.row, place.second_length))
    final = first_step + last_row - both(first_step, last_row) + last_carry
    column = place.row + place.step - 1 + graph.gate(is_carry, place.first_length)
    return final, column


def encode(text: str) -> list[str]:
    first, second = parts(text, "*", 2, EXAMPLE)
    return [*natural(first, EXAMPLE), "*", *natural(second, EXAMPLE), "="]


def reference(text: str) -> str:
    first, second = map(int, text.split("*"))
    return str(first * second)


def random_input(random: Random) -> str:
    lengths = random.randint(1, 9), random.randint(1, 9)
    a, b = (random.choice(["9" * n, str(random.randrange(10**n))]) for n in lengths)
    return f"{a} * {b}"


PROGRAM = GalleryProgram(
    name="multiplication",
    summary="the product of two natural numbers of any length",
    build=build,
    encode=encode,
    decode=joined_after("~"),
    cases=(
        Case("123 * 45", "5535"),
        Case("0 * 0", "0"),
        Case("999999999999 * 99999", "99998999999900001"),
        Case("9 * 9", "81"),
        Case("1000 * 0", "0"),
        Case("1 * 12345678901234567890", "12345678901234567890"),
        Case("10 * 10", "100"),
    ),
    reference=reference,
    random_input=random_input,
)
