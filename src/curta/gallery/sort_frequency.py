"""Sort by frequency: the most frequent letters first, equally frequent ones in input order.

How frequent a letter is, only the end of the input knows. So the model first says the input again
(a copy, up to "~"), and this time each letter knows its place in the answer:

    f    = count of this letter in the prompt
    rank = sum of [count(c) > f] count(c)  +  sum of [count(c) == f] (c's so far in the copy)  -  1

Each copied letter is filed under its rank; answer token number i looks for rank i.
"""

from __future__ import annotations

from collections import Counter

from curta.compiler import Graph, Node, at_least, both, either, equals, invert
from curta.gallery.histogram import encode
from curta.gallery.idioms import (
    LETTERS,
    fetch,
    has_been,
    latest,
    of_this_token,
    prompt_counts,
    since,
    table,
    total,
)
from curta.gallery.program import Case, GalleryProgram, joined_after, random_text

LONGEST = 2**20
COPIED = {letter: letter + "'" for letter in LETTERS}


def build() -> Graph:
    graph = Graph([*LETTERS, *(COPIED[c] for c in LETTERS), "=", "~", "."])
    length = latest(graph.is_token("="), graph.position).named("length")
    index = (graph.position - length).named("index")
    answering = has_been(graph.is_token("~"))
    copied = fetch(index, table(graph, "letter", LETTERS))
    is_copy = graph.is_token(*COPIED.values())
    following = graph.lookup(
        query=graph.assume(since(graph.is_token("~")), 0, LONGEST) + 1,
        key=graph.assume(graph.gate(is_copy, rank(graph) + 1), 0, LONGEST),
        value=table(graph, "copied letter", list(COPIED.values())),
        missing=0,
    )
    finished = equals(index, 2 * length + 1)
    copying_ends = equals(index, length)
    graph.emit(list(COPIED.values()), copied, when=1 - either(answering, copying_ends))
    graph.emit_token("~", when=copying_ends)
    graph.emit(LETTERS, graph.assume(following, 0, 25), when=both(answering, invert(finished)))
    graph.emit_token(".", when=finished)
    graph.stop_after(".")
    return graph


def rank(graph: Graph) -> Node:
    """At a copied letter: its place in the answer."""
    counts = prompt_counts(graph, LETTERS, graph.constant(0))
    so_far = prompt_counts(graph, list(COPIED.values()), graph.constant(0))
    frequency = of_this_token(graph, list(COPIED.values()), counts).named("frequency")
    before = [graph.gate(at_least(count, frequency + 1), count) for count in counts]
    tied = [
        graph.gate(equals(count, frequency), number)
        for count, number in zip(counts, so_far, strict=True)
    ]
    return total(graph, before + tied) - 1


def reference(text: str) -> str:
    letters = "".join(text.split())
    counts = Counter(letters)
    return "".join(sorted(letters, key=lambda letter: -counts[letter]))


PROGRAM = GalleryProgram(
    name="sort_frequency",
    summary="letters by how frequent they are, equally frequent ones in input order",
    build=build,
    encode=encode,
    decode=joined_after("~"),
    cases=(
        Case("bdba", "bbda"),
        Case("", ""),
        Case("z", "z"),
        Case("abab", "abab"),
        Case("xabcabc", "abcabcx"),
    ),
    reference=reference,
    random_input=lambda random: random_text(random, "abcxyz", 30),
)
