"""Double histogram: for each letter of the input, how many letters occur as often as it does.

With count(c) for every letter of the alphabet and f, the count of the letter here:

    number = how many letters c have count(c) == f

In "abac" the a is alone with its count of 2, while b and c share the count 1: a1 b2 a1 c2.
"""

from __future__ import annotations

from collections import Counter

from curta.compiler import Graph, equals
from curta.gallery.histogram import encode
from curta.gallery.idioms import (
    DIGITS,
    LETTERS,
    fetch,
    has_been,
    items_said,
    of_this_token,
    prompt_counts,
    say_labelled_numbers,
    table,
    total,
)
from curta.gallery.program import Case, GalleryProgram, joined, random_text


def build() -> Graph:
    graph = Graph([*LETTERS, *DIGITS, "=", "."])
    answering = has_been(graph.is_token("="))
    counts = prompt_counts(graph, LETTERS, answering)
    frequency = of_this_token(graph, LETTERS, counts).named("frequency")
    sharing = total(graph, [equals(count, frequency) for count in counts])
    letter_or_end = table(graph, "letter or end", [*LETTERS, "="])
    following = fetch(items_said(graph, LETTERS, answering), letter_or_end)
    say_labelled_numbers(graph, LETTERS, following, sharing)
    return graph


def reference(text: str) -> str:
    letters = "".join(text.split())
    counts = Counter(letters)
    sharing = Counter(counts.values())
    return "".join(f"{letter}{sharing[counts[letter]]}" for letter in letters)


PROGRAM = GalleryProgram(
    name="double_histogram",
    summary="for every letter in turn, how many letters occur as often as it does",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("abac", "a1b2a1c2"),
        Case("", ""),
        Case("zz", "z1z1"),
        Case("abcdefghijkl", "".join(f"{letter}12" for letter in "abcdefghijkl")),
    ),
    reference=reference,
    random_input=lambda random: random_text(random, "abcxyz", 30),
)
