"""Parity: is the number of ones even or odd?

Count the ones with a running sum. Position N knows from its positional embedding whether N is
even, so look there:

    ones   = sum of [token is 1]
    parity = (position mod 2) at position `ones`

This is one attention step for any length; `parity_sequential` goes one bit at a time instead.
"""

from __future__ import annotations

from curta.compiler import Graph
from curta.gallery.idioms import earlier, fetch
from curta.gallery.program import Case, GalleryProgram, characters, joined, random_text


def build() -> Graph:
    graph = Graph(["0", "1", "=", "even", "odd", "."])
    ones = earlier(graph.is_token("1")).named("ones")
    parity = fetch(ones, graph.position_feature(1, modulus=2)).named("parity")
    graph.emit(["even", "odd"], parity, when=graph.is_token("="))
    graph.emit_token(".", when=1 - graph.is_token("="))
    graph.stop_after(".")
    return graph


def encode(text: str) -> list[str]:
    return [*characters(text, "01", "10110"), "="]


def reference(text: str) -> str:
    return ["even", "odd"][text.count("1") % 2]


PROGRAM = GalleryProgram(
    name="parity",
    summary="whether a bit string has an even or odd number of ones, by one sum",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("10110", "odd"),
        Case("", "even"),
        Case("0", "even"),
        Case("1", "odd"),
        Case("11", "even"),
        Case("1" * 33 + "0" * 20, "odd"),
    ),
    reference=reference,
    random_input=lambda random: random_text(random, "01", 60),
)
