"""Parity, one bit at a time: the model writes the parity of every prefix.

Every answer token is the state after one more bit; the next state is

    state' = state xor bit          a xor b = a + b - 2 relu(a + b - 1)

The bit to read next is as far behind the answer as "=" is from the beginning, so each step looks
back by the same distance: absolute and relative addressing are the same thing here.
"""

from __future__ import annotations

from collections.abc import Iterable

from curta.compiler import Graph, differ, equals
from curta.gallery.idioms import fetch, latest
from curta.gallery.parity import encode, reference
from curta.gallery.program import STOP, Case, GalleryProgram, random_text


def build() -> Graph:
    graph = Graph(["0", "1", "=", "even", "odd", "."])
    length = latest(graph.is_token("="), graph.position).named("length")
    step = (graph.position - length).named("step")
    bit = fetch(step, graph.is_token("1"))
    finished = equals(step, length)
    graph.emit(["even", "odd"], differ(graph.is_token("odd"), bit), when=1 - finished)
    graph.emit_token(".", when=finished)
    graph.stop_after(".")
    return graph


def decode(tokens: Iterable[str]) -> str:
    """The last state; no state at all is even."""
    return ["even", *(token for token in tokens if token != STOP)][-1]


PROGRAM = GalleryProgram(
    name="parity_sequential",
    summary="parity bit by bit: the state after every bit is a token",
    build=build,
    encode=encode,
    decode=decode,
    cases=(Case("10110", "odd"), Case("", "even"), Case("1", "odd"), Case("1001", "even")),
    reference=reference,
    random_input=lambda random: random_text(random, "01", 60),
)
