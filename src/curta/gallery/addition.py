"""Addition of two natural numbers of any length, most significant digit first.

Carries run from right to left and the answer from left to right, so the model does what people do
on paper. First it writes the columns from right to left, each as one token <0> ... <19>:

    column j = a_j + b_j + carry of column j - 1        carry = [column >= 10], in the embedding

"123+989=" gives <12> <11> <11>, then "~". Then it reads the columns backwards: the answer's digits
are column mod 10, also in the embedding, starting at the latest column that is not zero. The last
carry gets a column of its own.
"""

from __future__ import annotations

from random import Random

from curta.compiler import Graph, Node, at_least, both, maximum
from curta.gallery.idioms import DIGITS, fetch, has_been, latest, since, table
from curta.gallery.program import Case, GalleryProgram, joined_after, natural, parts

EXAMPLE = "123 + 989"
COLUMNS = tuple(f"<{number}>" for number in range(20))


def build() -> Graph:
    graph = Graph([*DIGITS, "+", "=", *COLUMNS, "~", "."])
    carry = graph.feature("carry", dict.fromkeys(COLUMNS[10:], 1))
    end = latest(graph.is_token("="), graph.position).named("end")
    plus = latest(graph.is_token("+"), graph.position).named("plus")
    column = since(graph.is_token("=")).named("column")
    answering = has_been(graph.is_token("~"))
    a = operand_digit(plus, plus, column)
    b = operand_digit(end, end - plus - 1, column)
    written = both(
        at_least(column, plus), at_least(column, end - plus - 1), 1 - carry, 1 - answering
    )
    graph.emit(COLUMNS, a + b + carry, when=1 - answering - written)
    graph.emit_token("~", when=written)
    say_columns(graph, end, answering)
    return graph


def operand_digit(end: Node, length: Node, column: Node) -> Node:
    """The digit of a column of a number that ends before `end`; 0 to the left of it."""
    graph = end.graph
    digit = fetch(end - 1 - column, table(graph, "digit", DIGITS))
    return graph.gate(at_least(length - 1, column), digit)


def say_columns(graph: Graph, end: Node, answering: Node) -> None:
    """The last digits of the columns from the latest nonzero one down to the first."""
    low = graph.feature("last digit", {c: n % 10 for n, c in enumerate(COLUMNS)})
    nonzero = graph.gate(low, 1) - graph.gate(low - 1, 1)
    top = maximum(latest(nonzero, graph.position), end + 1)
    place = top - since(graph.is_token("~"))
    left = at_least(place, end + 1)
    graph.emit(DIGITS, fetch(place, low), when=both(answering, left))
    graph.emit_token(".", when=both(answering, 1 - left))
    graph.stop_after(".")


def encode(text: str) -> list[str]:
    first, second = parts(text, "+", 2, EXAMPLE)
    return [*natural(first, EXAMPLE), "+", *natural(second, EXAMPLE), "="]


def reference(text: str) -> str:
    return str(sum(map(int, text.split("+"))))


def random_input(random: Random) -> str:
    a, b = (random.choice(["9" * n, str(random.randrange(10**n))]) for n in sizes(random))
    return f"{a} + {b}"


def sizes(random: Random) -> tuple[int, int]:
    return random.randint(1, 30), random.randint(1, 30)


PROGRAM = GalleryProgram(
    name="addition",
    summary="the sum of two natural numbers of any length",
    build=build,
    encode=encode,
    decode=joined_after("~"),
    cases=(
        Case("123 + 989", "1112"),
        Case("0 + 0", "0"),
        Case("123 + 456", "579"),
        Case("999999999999999999999 + 1", "1" + "0" * 21),
        Case("1 + 99", "100"),
        Case("7 + 0", "7"),
    ),
    reference=reference,
    random_input=random_input,
)
