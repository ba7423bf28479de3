"""Token counts: each letter of the input, followed by how often it occurs in all of it.

The answer walks through the input once more; its letter number i is the letter at position i.
At that letter the model picks the letter's total out of one running sum per letter:

    number = sum over letters c of [token is c] * count(c)
"""

from __future__ import annotations

from collections import Counter

from curta.compiler import Graph
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
)
from curta.gallery.program import Case, GalleryProgram, joined, random_text


def build() -> Graph:
    graph = Graph([*LETTERS, *DIGITS, "=", "."])
    answering = has_been(graph.is_token("="))
    counts = prompt_counts(graph, LETTERS, answering)
    letter_or_end = table(graph, "letter or end", [*LETTERS, "="])
    following = fetch(items_said(graph, LETTERS, answering), letter_or_end)
    say_labelled_numbers(graph, LETTERS, following, of_this_token(graph, LETTERS, counts))
    return graph


def reference(text: str) -> str:
    letters = "".join(text.split())
    counts = Counter(letters)
    return "".join(f"{letter}{counts[letter]}" for letter in letters)


PROGRAM = GalleryProgram(
    name="token_counts",
    summary="for every letter in turn, how often it occurs in the whole input",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("abac", "a2b1a2c1"),
        Case("", ""),
        Case("z", "z1"),
        Case("q" * 11, "q11" * 11),
    ),
    reference=reference,
    random_input=lambda random: random_text(random, "abcxyz", 30),
)
