"""Majority: the letter that makes up more than half of the input, or "none".

    [c has the majority] = [2 count(c) > length]

At most one letter can have it, so the sum of c * [c has the majority], with letters numbered from
1, is that letter, or 0 for none.
"""

from __future__ import annotations

from curta.compiler import Graph, at_least
from curta.gallery.histogram import encode
from curta.gallery.idioms import LETTERS, earlier, total
from curta.gallery.program import Case, GalleryProgram, joined, random_text


def build() -> Graph:
    graph = Graph(["none", *LETTERS, "=", "."])
    length = graph.position
    winner = total(
        graph,
        [
            number * at_least(2 * earlier(graph.is_token(letter)), length + 1)
            for number, letter in enumerate(LETTERS, start=1)
        ],
    )
    graph.emit(["none", *LETTERS], winner, when=graph.is_token("="))
    graph.emit_token(".", when=1 - graph.is_token("="))
    graph.stop_after(".")
    return graph


def reference(text: str) -> str:
    letters = "".join(text.split())
    return next((c for c in LETTERS if 2 * letters.count(c) > len(letters)), "none")


PROGRAM = GalleryProgram(
    name="majority",
    summary="the letter that makes up more than half of the input, if any",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("abbab", "b"),
        Case("ab", "none"),
        Case("", "none"),
        Case("z", "z"),
        Case("abcaa", "a"),
        Case("abca", "none"),
    ),
    reference=reference,
    random_input=lambda random: random_text(random, "aaab" if random.random() < 0.5 else "abc", 40),
)
