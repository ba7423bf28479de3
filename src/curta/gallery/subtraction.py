"""Subtraction of natural numbers of any length; what comes out may be negative.

As in `addition`, columns are written from right to left and read backwards. A column is one token
<-10> ... <9>:

    column j = a_j - b_j - borrow of column j - 1       borrow = [column < 0], in the embedding

and the answer's digits are column mod 10. If the last column had to borrow, b was the larger one:
then "swap" is said, and the columns are written once more with a and b exchanged. That time
nothing is left to borrow, and the answer begins with "-". "~" is said before the answer.
"""

from __future__ import annotations

from random import Random

from curta.compiler import Graph, Node, at_least, both, maximum, select
from curta.gallery.addition import operand_digit, sizes
from curta.gallery.idioms import DIGITS, fetch, has_been, latest, since
from curta.gallery.program import Case, GalleryProgram, joined_after, natural, parts

EXAMPLE = "123 - 989"
COLUMNS = tuple(f"<{number}>" for number in range(-10, 10))


def build() -> Graph:
    graph = Graph([*DIGITS, "-", "=", *COLUMNS, "swap", "~", "."])
    borrow = graph.feature("borrow", dict.fromkeys(COLUMNS[:10], 1))
    answering = has_been(graph.is_token("~"))
    swapped = has_been(graph.is_token("swap"))
    end = latest(graph.is_token("="), graph.position).named("end")
    minus = latest(both(graph.is_token("-"), 1 - answering), graph.position).named("minus")
    column = since(graph.is_token("=", "swap")).named("column")
    first_length, second_length = minus, end - minus - 1
    a = operand_digit(minus, first_length, column)
    b = operand_digit(end, second_length, column)
    written = both(at_least(column, maximum(first_length, second_length)), 1 - answering)
    difference = select(swapped, b - a, a - b) - borrow
    graph.emit(COLUMNS, difference + 10, when=1 - answering - written)
    graph.emit_token("swap", when=both(written, borrow))
    graph.emit_token("~", when=both(written, 1 - borrow))
    say_columns(graph, answering, swapped)
    return graph


def say_columns(graph: Graph, answering: Node, swapped: Node) -> None:
    """The sign, and the last digits of the columns from the latest nonzero one down."""
    low = graph.feature("last digit", {c: n % 10 for n, c in enumerate(COLUMNS)})
    begin = latest(graph.is_token("=", "swap"), graph.position)
    top = maximum(latest(at_least(low, 1), graph.position), begin + 1)
    place = top - since(graph.is_token("~", "-"))
    left = at_least(place, begin + 1)
    sign = both(graph.is_token("~"), swapped)
    graph.emit_token("-", when=sign)
    graph.emit(DIGITS, fetch(place, low), when=both(answering, left, 1 - sign))
    graph.emit_token(".", when=both(answering, 1 - left))
    graph.stop_after(".")


def encode(text: str) -> list[str]:
    first, second = parts(text, "-", 2, EXAMPLE)
    return [*natural(first, EXAMPLE), "-", *natural(second, EXAMPLE), "="]


def reference(text: str) -> str:
    first, second = map(int, text.split("-"))
    return str(first - second)


def random_input(random: Random) -> str:
    a, b = (random.choice([10**n, random.randrange(10**n)]) for n in sizes(random))
    return f"{a} - {random.choice([a, a + 1, b, b])}"


PROGRAM = GalleryProgram(
    name="subtraction",
    summary="the difference of two natural numbers of any length, with its sign",
    build=build,
    encode=encode,
    decode=joined_after("~"),
    cases=(
        Case("123 - 989", "-866"),
        Case("0 - 0", "0"),
        Case("1000000000000000000000 - 1", "9" * 21),
        Case("1 - 100", "-99"),
        Case("100 - 1", "99"),
        Case("77 - 77", "0"),
        Case("5 - 0", "5"),
    ),
    reference=reference,
    random_input=random_input,
)
