"""Unique: the different symbols of the input, each once, in order.

Like sort, with each count replaced by whether it is positive: K(c) is how many of the symbols up
to c occur at all, and the symbol at place i is the first c with i < K(c).
"""

from __future__ import annotations

from curta.compiler import Graph, at_least
from curta.gallery.idioms import has_been, latest, prompt_counts, running_totals, total
from curta.gallery.program import Case, GalleryProgram, joined, random_text
from curta.gallery.sort import SYMBOLS, encode


def build() -> Graph:
    graph = Graph([*SYMBOLS, "=", "."])
    answering = has_been(graph.is_token("="))
    index = graph.position - latest(graph.is_token("="), graph.position)
    counts = prompt_counts(graph, SYMBOLS, answering)
    present = running_totals([at_least(count, 1) for count in counts])
    following = total(graph, [at_least(index, number) for number in present])
    finished = at_least(following, len(SYMBOLS))
    graph.emit(SYMBOLS, following, when=1 - finished)
    graph.emit_token(".", when=finished)
    graph.stop_after(".")
    return graph


PROGRAM = GalleryProgram(
    name="unique",
    summary="the different symbols of the input, in order",
    build=build,
    encode=encode,
    decode=joined,
    cases=(Case("2431", "1234"), Case("banana", "abn"), Case("", ""), Case("zz0", "0z")),
    reference=lambda text: "".join(sorted(set("".join(text.split())))),
    random_input=lambda random: random_text(random, "".join(SYMBOLS), 40),
)
