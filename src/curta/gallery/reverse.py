"""Reverse: the input from its end to its beginning.

i    = position - position of "="
next = the symbol at position (length - 1 - i), until that falls below 0
"""

from __future__ import annotations

from curta.compiler import Graph, equals
from curta.gallery.copy import SYMBOLS, encode
from curta.gallery.idioms import fetch, latest, table
from curta.gallery.program import Case, GalleryProgram, joined, random_text


def build() -> Graph:
    graph = Graph([*SYMBOLS, "=", "."])
    length = latest(graph.is_token("="), graph.position).named("length")
    index = (graph.position - length).named("index")
    symbol = fetch(length - 1 - index, table(graph, "symbol", SYMBOLS))
    finished = equals(index, length)
    graph.emit(SYMBOLS, symbol, when=1 - finished)
    graph.emit_token(".", when=finished)
    graph.stop_after(".")
    return graph


PROGRAM = GalleryProgram(
    name="reverse",
    summary="the input, backwards",
    build=build,
    encode=encode,
    decode=joined,
    cases=(Case("abcd", "dcba"), Case("", ""), Case("c", "c"), Case("ad", "da")),
    reference=lambda text: "".join(text.split())[::-1],
    random_input=lambda random: random_text(random, "".join(SYMBOLS), 40),
)
