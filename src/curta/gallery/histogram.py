"""Histogram: which letters occur, and how often, in decimal.

One running sum per letter counts the prompt. The answer lists the letters that occur: with
K(c) = how many of the letters up to c occur, the letter after `said` others is the first c with
said < K(c):

    next = how many letters c have K(c) <= said

After its letter follows the count, digit by digit (see idioms.spell).
"""

from __future__ import annotations

from collections import Counter

from curta.compiler import Graph, at_least
from curta.gallery.idioms import (
    DIGITS,
    LETTERS,
    has_been,
    items_said,
    of_this_token,
    prompt_counts,
    running_totals,
    say_labelled_numbers,
    total,
)
from curta.gallery.program import Case, GalleryProgram, characters, joined, random_text


def build() -> Graph:
    graph = Graph([*LETTERS, *DIGITS, "=", "."])
    answering = has_been(graph.is_token("="))
    counts = prompt_counts(graph, LETTERS, answering)
    present = running_totals([at_least(count, 1) for count in counts])
    said = items_said(graph, LETTERS, answering)
    following = total(graph, [at_least(said, number) for number in present])
    count = of_this_token(graph, LETTERS, counts)
    say_labelled_numbers(graph, LETTERS, following, count)
    return graph


def encode(text: str) -> list[str]:
    return [*characters(text, LETTERS, "banana"), "="]


def reference(text: str) -> str:
    counts = Counter("".join(text.split()))
    return "".join(f"{letter}{counts[letter]}" for letter in sorted(counts))


PROGRAM = GalleryProgram(
    name="histogram",
    summary="how often each letter occurs, in decimal",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("banana", "a3b1n2"),
        Case("", ""),
        Case("z", "z1"),
        Case("a" * 12 + "za", "a13z1"),
        Case("q" * 101, "q101"),
    ),
    reference=reference,
    random_input=lambda random: random_text(random, "abcxyz", 40),
)
