"""Count rare: how many tokens belong to letters that occur at most n times ("2: aaabbc").

    answer = sum over letters c of [count(c) <= n] * count(c)

The bound n is a decimal number at the beginning of the prompt; at ":" the model sums its digits,
each found a fixed distance back and weighted by its power of ten.
"""

from __future__ import annotations

from collections import Counter

from curta.compiler import Graph, at_most
from curta.gallery.idioms import (
    DIGITS,
    LETTERS,
    latest,
    prompt_counts,
    read_first_number,
    say_number,
    total,
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

EXAMPLE = "2: aaabbc"
PLACES = 6
"""Of the bound: texts are not much longer."""


def build() -> Graph:
    graph = Graph([*DIGITS, *LETTERS, ":", "=", "."])
    bound = latest(graph.is_token(":"), read_first_number(graph, PLACES)).named("bound")
    counts = prompt_counts(graph, LETTERS, graph.constant(0))
    rare = total(graph, [graph.gate(at_most(count, bound), count) for count in counts])
    say_number(graph, rare.named("rare"), graph.is_token("="))
    return graph


def encode(text: str) -> list[str]:
    bound, letters = parts(text, ":", 2, EXAMPLE)
    number = natural(bound, EXAMPLE, largest=10**PLACES - 1)
    return [*number, ":", *characters(letters, LETTERS, EXAMPLE), "="]


def reference(text: str) -> str:
    bound, letters = text.split(":")
    counts = Counter(letters.strip())
    return str(sum(count for count in counts.values() if count <= int(bound)))


PROGRAM = GalleryProgram(
    name="count_rare",
    summary="how many tokens belong to letters that occur at most n times",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("2: aaabbc", "3"),
        Case("2: aacbbc", "6"),
        Case("0: abc", "0"),
        Case("1:", "0"),
        Case("12: " + "a" * 12 + "b" * 13 + "c", "13"),
    ),
    reference=reference,
    random_input=lambda random: f"{random.randint(0, 14)}: {random_text(random, 'abcz', 40)}",
)
