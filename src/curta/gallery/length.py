"""Length: how many symbols the input has, in decimal.

The position of "=" is the number of symbols before it. Its digits are read off the positional
embedding of that very position (see idioms.spell).
"""

from __future__ import annotations

from curta.compiler import Graph
from curta.gallery.copy import SYMBOLS
from curta.gallery.idioms import LETTERS, latest, say_number
from curta.gallery.program import Case, GalleryProgram, characters, joined, random_text


def build() -> Graph:
    graph = Graph([*SYMBOLS, "=", "."])
    length = latest(graph.is_token("="), graph.position).named("length")
    say_number(graph, length, graph.is_token("="))
    return graph


def encode(text: str) -> list[str]:
    return [*characters(text, SYMBOLS, "hello"), "="]


PROGRAM = GalleryProgram(
    name="length",
    summary="how many symbols the input has, in decimal",
    build=build,
    encode=encode,
    decode=joined,
    cases=(Case("hello", "5"), Case("", "0"), Case("a", "1"), Case("ab" * 50, "100")),
    reference=lambda text: str(len("".join(text.split()))),
    random_input=lambda random: random_text(random, "".join(LETTERS), 120),
)
