"""Dyck-1: are the parentheses balanced?

    depth    = sum of [token is "("] - [token is ")"]
    balanced = the depth was never negative, and is 0 at the end

"Never" is a lookup: the most recent position with [depth < 0], if there is one.
"""

from __future__ import annotations

from random import Random

from curta.compiler import Graph, at_most, both, equals
from curta.gallery.idioms import has_been, say_verdict
from curta.gallery.program import Case, GalleryProgram, characters, joined, random_text


def build() -> Graph:
    graph = Graph(["(", ")", "=", "yes", "no", "."])
    depth = graph.running_sum(graph.feature("step", {"(": 1, ")": -1})).named("depth")
    went_below = has_been(at_most(depth, -1)).named("went below")
    say_verdict(graph, both(equals(depth, 0), 1 - went_below))
    return graph


def encode(text: str) -> list[str]:
    return [*characters(text, "()", "(()())"), "="]


def reference(text: str) -> str:
    depth = 0
    for bracket in "".join(text.split()):
        depth += 1 if bracket == "(" else -1
        if depth < 0:
            return "no"
    return "no" if depth else "yes"


def random_input(random: Random) -> str:
    return random_brackets(random, ["()"])


def random_brackets(random: Random, kinds: list[str]) -> str:
    """Balanced brackets, in half of the cases with one of them changed."""
    text = ""
    opened: list[str] = []
    for _ in range(random.randint(0, 40)):
        if opened and random.random() < 0.5:
            text += opened.pop()
        else:
            kind = random.choice(kinds)
            text += kind[0]
            opened.append(kind[1])
    text += "".join(reversed(opened))
    if text and random.random() < 0.5:
        place = random.randrange(len(text))
        text = text[:place] + random_text(random, "".join(kinds), 2) + text[place + 1 :]
    return text


PROGRAM = GalleryProgram(
    name="dyck1",
    summary="whether parentheses are balanced",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("(()())", "yes"),
        Case("", "yes"),
        Case(")(", "no"),
        Case("(", "no"),
        Case("())", "no"),
        Case("(" * 40 + ")" * 40, "yes"),
    ),
    reference=reference,
    random_input=random_input,
)
