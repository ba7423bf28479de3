"""Shift: the input moved to the right by n places, with "_" in the gap ("2: abcd" gives __ab).

    next = the letter at position (first + i - n)        i = how many symbols were said

Left of the first letter stand ":" and the digits of n, whose letter is "_": no case distinction.
"""

from __future__ import annotations

from curta.compiler import Graph, at_least
from curta.gallery.idioms import (
    DIGITS,
    LARGEST_READ,
    LETTERS,
    fetch,
    latest,
    read_first_number,
    since,
    table,
)
from curta.gallery.program import (
    Case,
    GalleryProgram,
    characters,
    joined,
    natural,
    parts,
    random_text,
)

EXAMPLE = "2: abcd"


def build() -> Graph:
    graph = Graph([*DIGITS, *LETTERS, ":", "_", "=", "."])
    colon = latest(graph.is_token(":"), graph.position).named("colon")
    distance = latest(graph.is_token(":"), read_first_number(graph)).named("distance")
    end = latest(graph.is_token("="), graph.position).named("end")
    said = since(graph.is_token("=")).named("said")
    letter = fetch(colon + 1 + said - distance, table(graph, "letter", LETTERS, first=1))
    finished = at_least(said, end - colon - 1)
    graph.emit(["_", *LETTERS], letter, when=1 - finished)
    graph.emit_token(".", when=finished)
    graph.stop_after(".")
    return graph


def encode(text: str) -> list[str]:
    distance, letters = parts(text, ":", 2, EXAMPLE)
    number = natural(distance, EXAMPLE, largest=LARGEST_READ)
    return [*number, ":", *characters(letters, LETTERS, EXAMPLE), "="]


def reference(text: str) -> str:
    distance, letters = (piece.strip() for piece in text.split(":"))
    return ("_" * min(int(distance), len(letters)) + letters)[: len(letters)]


PROGRAM = GalleryProgram(
    name="shift",
    summary="the input moved to the right by n places",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("2: abcd", "__ab"),
        Case("1: abcd", "_abc"),
        Case("0: abcd", "abcd"),
        Case("5: abc", "___"),
        Case("9999999: ab", "__"),
        Case("3:", ""),
    ),
    reference=reference,
    random_input=lambda random: f"{random.randint(0, 12)}: {random_text(random, 'abcxyz', 20)}",
)
