"""Shuffle-Dyck: is every kind of bracket balanced on its own, whatever the others do?

One depth per kind, as in dyck1. "({)}" is not nested, but shuffled: yes. A program for any set
of kinds is `build_for(kinds)`; the gallery's has four.

    balanced = for every kind: its depth was never negative and is 0 at the end
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from curta.compiler import Graph, at_most, both, either, equals
from curta.gallery.dyck1 import random_brackets
from curta.gallery.dyck1 import reference as dyck1_reference
from curta.gallery.dyckn import KINDS, encode
from curta.gallery.idioms import has_been, say_verdict
from curta.gallery.program import Case, GalleryProgram, joined


def build_for(kinds: Sequence[str]) -> Graph:
    """The program for these kinds of brackets, two characters each."""
    graph = Graph([*"".join(kinds), "=", "yes", "no", "."])
    depths = [
        graph.running_sum(graph.feature(f"step {kind}", {kind[0]: 1, kind[1]: -1})).named(
            f"depth {kind}"
        )
        for kind in kinds
    ]
    went_below = has_been(either(*(at_most(depth, -1) for depth in depths)))
    say_verdict(graph, both(*(equals(depth, 0) for depth in depths), 1 - went_below))
    return graph


def build() -> Graph:
    return build_for(KINDS)


def reference(text: str) -> str:
    for kind in KINDS:
        of_kind = "".join("()"[kind.index(c)] for c in text if c in kind)
        if dyck1_reference(of_kind) == "no":
            return "no"
    return "yes"


def random_input(random: Random) -> str:
    """Two nestings, shuffled into each other."""
    first, second = random_brackets(random, KINDS[:2]), random_brackets(random, KINDS[2:])
    text = ""
    while first and second:
        if random.random() < 0.5:
            text, first = text + first[0], first[1:]
        else:
            text, second = text + second[0], second[1:]
    return text + first + second


PROGRAM = GalleryProgram(
    name="shuffle_dyck",
    summary="whether each of four kinds of brackets is balanced on its own",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("({)[}]", "yes"),
        Case("(){)}", "no"),
        Case("{}[(]", "no"),
        Case("({)}", "yes"),
        Case("", "yes"),
        Case(")(", "no"),
    ),
    reference=reference,
    random_input=random_input,
)
