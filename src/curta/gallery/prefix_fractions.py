"""Prefix fractions: which part of every prefix is a given letter ("l in hello")?

The answer has one fraction for each prefix, numerator / denominator, both in decimal and not
reduced: 0/1 0/2 1/3 2/4 2/5. With t fractions finished:

    numerator   = sum of [letter == wanted] up to token t of the text
    denominator = t + 1

The separators of the answer say where it stands: t is how many spaces were said, and whether the
latest of space, "=" and "/" is "/" says whether the denominator is due.
"""

from __future__ import annotations

from curta.compiler import Graph, Node, absolute, at_most, both, equals, select
from curta.gallery.count import encode
from curta.gallery.idioms import DIGITS, LETTERS, fetch, latest, since, spell, table
from curta.gallery.program import Case, GalleryProgram, joined, random_text


def build() -> Graph:
    graph = Graph([*LETTERS, *DIGITS, "in", "/", " ", "-", "=", "."])
    letter = table(graph, "letter", LETTERS, first=1)
    matches = equals(letter, fetch(graph.constant(0), letter))
    # The text starts at position 2, after the wanted letter (which matches itself) and "in".
    say_fractions(graph, graph.running_sum(matches) - 1, first=2)
    return graph


def say_fractions(graph: Graph, numerators: Node, first: int) -> None:
    """Numerator at every position from `first` up to "=", over how many positions that are."""
    is_end, marks = graph.is_token("="), graph.is_token("=", " ", "/", "-")
    finished = graph.running_sum(graph.is_token(" "))
    numerator = fetch(finished + first, numerators).named("numerator")
    below = latest(graph.is_token("=", " ", "/"), graph.is_token("/")).named("below the line")
    size = absolute(numerator)
    number = select(below, finished + 1, size)
    digit, spelled = spell(number, since(marks))
    item_starts = graph.is_token("=", " ")
    minus = graph.gate(item_starts, at_most(numerator, -1))
    last = equals(finished + first + 1, latest(is_end, graph.position))
    empty = graph.gate(is_end, equals(graph.position, first))
    going_on = 1 - empty
    graph.emit(DIGITS, digit, when=both(1 - spelled, 1 - minus, going_on))
    graph.emit_token("-", when=both(minus, going_on))
    graph.emit_token("/", when=both(spelled, 1 - below))
    graph.emit_token(" ", when=both(spelled, below, 1 - last))
    graph.emit_token(".", when=both(spelled, below, last) + empty)
    graph.stop_after(".")


def reference(text: str) -> str:
    wanted, searched = (piece.strip() for piece in f" {text} ".split(" in "))
    sizes = range(1, len(searched) + 1)
    return " ".join(f"{searched[:size].count(wanted)}/{size}" for size in sizes)


PROGRAM = GalleryProgram(
    name="prefix_fractions",
    summary="for every prefix of a text, which fraction of it is a given letter",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("l in hello", "0/1 0/2 1/3 2/4 2/5"),
        Case("a in", ""),
        Case("z in z", "1/1"),
        Case("a in " + "a" * 12, " ".join(f"{n}/{n}" for n in range(1, 13))),
    ),
    reference=reference,
    random_input=lambda random: f"{random.choice('abc')} in {random_text(random, 'abc', 25)}",
)
