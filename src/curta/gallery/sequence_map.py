"""Sequence map: x * y + z, element by element, over three digit sequences ("123; 456; 789").

With t numbers said, the operands stand at positions t, L + 1 + t and 2L + 2 + t, where L is the
length of each sequence. x * y is one gate, as y is not negative: relu(y) * x.

The result has up to two digits, and no gate takes them apart: the arg-max over tokens divides
(Graph.emit_quotient). First digit: floor(value / 10), or floor(value / 1) if there is only one;
second digit: value - 10 * (the digit just said). Any other function of a few sequences goes the
same way, with function_table for what is not a polynomial.
"""

from __future__ import annotations

from curta.compiler import Graph, at_least, both, equals
from curta.errors import TokenError
from curta.gallery.idioms import DIGITS, fetch, latest, since, table
from curta.gallery.program import Case, GalleryProgram, characters, joined, parts, random_text

EXAMPLE = "123; 456; 789"


def build() -> Graph:
    graph = Graph([*DIGITS, ";", " ", "=", "."])
    digit = table(graph, "digit", DIGITS)
    end = latest(graph.is_token("="), graph.position).named("end")
    length = end - latest(graph.is_token(";"), graph.position) - 1
    said = graph.running_sum(graph.is_token(" ")).named("said")
    x, y, z = (fetch(said + place * (length + 1), digit) for place in range(3))
    value = graph.gate(y, x) + z
    two_digits = at_least(value, 10)
    is_mark = graph.is_token("=", " ")
    second_due = both(two_digits, equals(since(is_mark), 1))
    digit_due = is_mark + second_due
    empty = both(graph.is_token("="), 1 - at_least(length, 1))
    last = equals(said + 1, length)
    graph.emit_quotient(
        DIGITS,
        value - 10 * graph.gate(second_due, digit),
        1 + 9 * both(is_mark, two_digits),
        when=digit_due - empty,
    )
    graph.emit_token(" ", when=both(1 - digit_due, 1 - last))
    graph.emit_token(".", when=both(1 - digit_due, last) + empty)
    graph.stop_after(".")
    return graph


def encode(text: str) -> list[str]:
    x, y, z = (characters(piece, DIGITS, EXAMPLE) for piece in parts(text, ";", 3, EXAMPLE))
    if not len(x) == len(y) == len(z):
        raise TokenError(
            f"{text!r}: sequences of {len(x)}, {len(y)} and {len(z)} digits; "
            "all three need the same length"
        )
    return [*x, ";", *y, ";", *z, "="]


def reference(text: str) -> str:
    x, y, z = (piece.strip() for piece in text.split(";"))
    triples = zip(x, y, z, strict=True)
    return " ".join(str(int(a) * int(b) + int(c)) for a, b, c in triples)


PROGRAM = GalleryProgram(
    name="sequence_map",
    summary="x * y + z, element by element, over three digit sequences",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("123; 456; 789", "11 18 27"),
        Case("; ;", ""),
        Case("9; 9; 9", "90"),
        Case("009; 199; 050", "0 5 81"),
    ),
    reference=reference,
    random_input=lambda random: (
        lambda n: "; ".join(random_text(random, "0123456789", n, n) for _ in range(3))
    )(random.randint(0, 12)),
)
