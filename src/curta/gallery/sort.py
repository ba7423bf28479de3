"""Sort: the symbols of the input in order (digits before letters).

Counting sort. Let C(c) be how many symbols of the prompt are at most c. Sorted, they occupy the
places up to C(c) - 1, so the symbol at place i is the first c with i < C(c):

    next = how many symbols c have C(c) <= i

One running sum per symbol, one step function each.
"""

from __future__ import annotations

from curta.compiler import Graph, at_least
from curta.gallery.idioms import DIGITS, LETTERS, has_been, latest, total
from curta.gallery.program import Case, GalleryProgram, characters, joined, random_text

SYMBOLS = (*DIGITS, *LETTERS)


def build() -> Graph:
    graph = Graph([*SYMBOLS, "=", "."])
    answering = has_been(graph.is_token("="))
    index = graph.position - latest(graph.is_token("="), graph.position)
    at_most = [
        graph.running_sum(graph.gate(1 - answering, graph.is_token(*SYMBOLS[: last + 1])))
        for last in range(len(SYMBOLS))
    ]
    following = total(graph, [at_least(index, count) for count in at_most])
    finished = at_least(following, len(SYMBOLS))
    graph.emit(SYMBOLS, following, when=1 - finished)
    graph.emit_token(".", when=finished)
    graph.stop_after(".")
    return graph


def encode(text: str) -> list[str]:
    return [*characters(text, SYMBOLS, "banana42"), "="]


PROGRAM = GalleryProgram(
    name="sort",
    summary="the input's digits and letters in order",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("banana42", "24aaabnn"),
        Case("", ""),
        Case("2431", "1234"),
        Case("2412", "1224"),
        Case("zyx", "xyz"),
        Case("aaaa", "aaaa"),
    ),
    reference=lambda text: "".join(sorted("".join(text.split()))),
    random_input=lambda random: random_text(random, "".join(SYMBOLS), 40),
)
