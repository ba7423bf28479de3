"""Copy: say the input again.

The answer's token number i is the token at position i:

    i    = position - position of "="
    next = the symbol at position i, until i reaches "="
"""

from __future__ import annotations

from curta.compiler import Graph, equals
from curta.gallery.idioms import DIGITS, LETTERS, fetch, latest, table
from curta.gallery.program import Case, GalleryProgram, characters, joined, random_text

SYMBOLS = (*LETTERS, *DIGITS)


def build() -> Graph:
    graph = Graph([*SYMBOLS, "=", "."])
    length = latest(graph.is_token("="), graph.position).named("length")
    index = (graph.position - length).named("index")
    symbol = fetch(index, table(graph, "symbol", SYMBOLS))
    finished = equals(index, length)
    graph.emit(SYMBOLS, symbol, when=1 - finished)
    graph.emit_token(".", when=finished)
    graph.stop_after(".")
    return graph


def encode(text: str) -> list[str]:
    return [*characters(text, SYMBOLS, "abc123"), "="]


PROGRAM = GalleryProgram(
    name="copy",
    summary="the input, said again",
    build=build,
    encode=encode,
    decode=joined,
    cases=(Case("hello", "hello"), Case("", ""), Case("a", "a"), Case("zz9 0", "zz90")),
    reference=lambda text: "".join(text.split()),
    random_input=lambda random: random_text(random, "".join(SYMBOLS), 40),
)
