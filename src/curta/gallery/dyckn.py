"""Dyck-n: are brackets of four kinds properly nested?

A closing bracket closes the latest bracket that was opened *at its depth*. So every opening bracket
files its kind under the depth that it opens, and every closing bracket looks under the depth that
it closes:

    depth = sum of [opens] - [closes]
    key   = depth at an opening bracket (0 elsewhere),  query = depth + 1 at a closing one
    wrong = the kind found there is not the kind that closes (none found counts as kind 0)

Properly nested means: depth 0 at the end, and nothing was ever wrong.
"""

from __future__ import annotations

from curta.compiler import Graph, both, equals, relu
from curta.gallery.dyck1 import random_brackets
from curta.gallery.idioms import has_been, say_verdict, table
from curta.gallery.program import Case, GalleryProgram, characters, joined

KINDS = ["()", "[]", "{}", "<>"]
OPENING = [kind[0] for kind in KINDS]
CLOSING = [kind[1] for kind in KINDS]
LONGEST = 2**20


def build() -> Graph:
    graph = Graph([*OPENING, *CLOSING, "=", "yes", "no", "."])
    opens, closes = graph.is_token(*OPENING), graph.is_token(*CLOSING)
    depth = graph.running_sum(opens - closes).named("depth")
    found = graph.lookup(
        query=graph.assume(relu(depth + 1), 0, LONGEST - 1),
        key=graph.assume(graph.gate(depth, opens), 0, LONGEST - 1),
        value=table(graph, "opened kind", OPENING, first=1),
        missing=0,
    )
    kind = table(graph, "closed kind", CLOSING, first=1)
    matches = equals(graph.assume(found, 0, len(KINDS)), kind)
    wrong = graph.gate(closes, 1 - matches)
    say_verdict(graph, both(equals(depth, 0), 1 - has_been(wrong)))
    return graph


def encode(text: str) -> list[str]:
    return [*characters(text, "".join(KINDS), "([]{<>})"), "="]


def reference(text: str) -> str:
    opened: list[str] = []
    for bracket in "".join(text.split()):
        if bracket in OPENING:
            opened.append(CLOSING[OPENING.index(bracket)])
        elif not opened or opened.pop() != bracket:
            return "no"
    return "no" if opened else "yes"


PROGRAM = GalleryProgram(
    name="dyckn",
    summary="whether brackets of four kinds are properly nested",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("([]{<>})", "yes"),
        Case("", "yes"),
        Case("([)]", "no"),
        Case("]", "no"),
        Case("][", "no"),
        Case("(", "no"),
        Case("()[]{}<>", "yes"),
        Case("([" * 20 + "])" * 20, "yes"),
    ),
    reference=reference,
    random_input=lambda random: random_brackets(random, KINDS),
)
