"""Count: how often one letter occurs in a text, in decimal ("a in banana").

The letter that is counted stands at position 0, and everybody can see it there:

    wanted = the letter at position 0
    count  = sum of [letter == wanted] over all tokens before this one, less the wanted one itself
"""

from __future__ import annotations

from curta.compiler import Graph, equals
from curta.errors import TokenError
from curta.gallery.idioms import DIGITS, LETTERS, earlier, fetch, say_number, table
from curta.gallery.program import Case, GalleryProgram, characters, joined, parts, random_text

EXAMPLE = "a in banana"


def build() -> Graph:
    graph = Graph([*LETTERS, *DIGITS, "in", "=", "."])
    letter = table(graph, "letter", LETTERS, first=1)
    wanted = fetch(graph.constant(0), letter).named("wanted")
    count = earlier(equals(letter, wanted)) - 1
    say_number(graph, count.named("count"), graph.is_token("="))
    return graph


def encode(text: str) -> list[str]:
    wanted, searched = parts(f" {text} ", " in ", 2, EXAMPLE)
    if len(wanted) != 1:
        raise TokenError(f"{wanted!r}: expected one letter to count, as in {EXAMPLE!r}")
    letters = characters(searched, LETTERS, EXAMPLE)
    return [*characters(wanted, LETTERS, EXAMPLE), "in", *letters, "="]


def reference(text: str) -> str:
    wanted, searched = f" {text} ".split(" in ")
    return str(searched.count(wanted.strip()))


PROGRAM = GalleryProgram(
    name="count",
    summary="how often one letter occurs in a text",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("a in banana", "3"),
        Case("a in cabc", "1"),
        Case("a in bbc", "0"),
        Case("a in", "0"),
        Case("x in " + "x" * 110, "110"),
    ),
    reference=reference,
    random_input=lambda random: f"{random.choice('abc')} in {random_text(random, 'abcd', 60)}",
)
