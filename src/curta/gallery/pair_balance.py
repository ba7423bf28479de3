"""Pair balance: for every prefix, the part of it that opens less the part that closes.

The depth of every prefix over its length, as in prefix_fractions: "a()" gives 0/1 1/2 0/3. If no
fraction is negative and the last is 0, the parentheses are balanced. Letters count as length only.

    numerator = sum of [token is "("] - [token is ")"]
"""

from __future__ import annotations

from curta.compiler import Graph
from curta.gallery.idioms import DIGITS, LETTERS
from curta.gallery.prefix_fractions import say_fractions
from curta.gallery.program import Case, GalleryProgram, characters, joined, random_text


def build() -> Graph:
    graph = Graph(["(", ")", *LETTERS, *DIGITS, "/", " ", "-", "=", "."])
    depth = graph.running_sum(graph.feature("step", {"(": 1, ")": -1})).named("depth")
    say_fractions(graph, depth, first=0)
    return graph


def encode(text: str) -> list[str]:
    return [*characters(text, ["(", ")", *LETTERS], "a()b(c))"), "="]


def reference(text: str) -> str:
    letters = "".join(text.split())
    prefixes = [letters[:size] for size in range(1, len(letters) + 1)]
    return " ".join(f"{p.count('(') - p.count(')')}/{len(p)}" for p in prefixes)


PROGRAM = GalleryProgram(
    name="pair_balance",
    summary="for every prefix, the balance of its parentheses over its length",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("a()b(c))", "0/1 1/2 0/3 0/4 1/5 1/6 0/7 -1/8"),
        Case("", ""),
        Case("))", "-1/1 -2/2"),
        Case(")" * 11, " ".join(f"-{n}/{n}" for n in range(1, 12))),
    ),
    reference=reference,
    random_input=lambda random: random_text(random, "()()a", 25),
)
