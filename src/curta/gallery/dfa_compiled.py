"""A DFA compiled into weights: the transition table is in the feed-forward layers.

Any automaton can be given to `build_for`. State and symbol together are one number, and the next
state is a piecewise linear function of it (curta.compiler.function_table):

    next state = table[state * number of symbols + symbol]

The gallery's automaton reads a decimal number from the left and keeps its remainder modulo 7,
which is 10 * remainder + digit, modulo 7: it accepts the multiples of 7. The trace shows the
remainder of every prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from curta.compiler import Graph, Node, at_least, both, equals, function_table
from curta.gallery.idioms import DIGITS, fetch, latest, since, table, total
from curta.gallery.program import Case, GalleryProgram, characters, joined, random_text


@dataclass(frozen=True)
class Automaton:
    """States are numbered from 0, the start; `following[state][symbol]` is the next one."""

    symbols: Sequence[str]
    following: Sequence[Sequence[int]]
    accepting: frozenset[int]


REMAINDER_OF_SEVEN = Automaton(
    DIGITS, [[(10 * r + d) % 7 for d in range(10)] for r in range(7)], frozenset({0})
)


def build_for(automaton: Automaton) -> Graph:
    states = [f"q{number}" for number in range(len(automaton.following))]
    graph = Graph([*automaton.symbols, "=", *states, "yes", "no", "."])
    is_verdict = graph.is_token("yes", "no")
    length = latest(graph.is_token("="), graph.position).named("length")
    read = since(graph.is_token("=")).named("read")
    state = table(graph, "state", states)
    symbol = fetch(read, table(graph, "symbol", automaton.symbols))
    place = state * len(automaton.symbols) + symbol
    following = function_table(place, [s for row in automaton.following for s in row])
    finished = at_least(read, length)
    accepted = is_accepting(state, automaton)
    graph.emit(states, following, when=1 - finished)
    graph.emit_token("yes", when=both(finished, accepted, 1 - is_verdict))
    graph.emit_token("no", when=both(finished, 1 - accepted, 1 - is_verdict))
    graph.emit_token(".", when=is_verdict)
    graph.stop_after(".")
    return graph


def is_accepting(state: Node, automaton: Automaton) -> Node:
    return total(state.graph, [equals(state, number) for number in sorted(automaton.accepting)])


def build() -> Graph:
    return build_for(REMAINDER_OF_SEVEN)


def encode(text: str) -> list[str]:
    return [*characters(text, DIGITS, "1001"), "="]


def decode(tokens: Iterable[str]) -> str:
    said = joined(tokens)
    return said.lstrip("q0123456789")


def reference(text: str) -> str:
    return "no" if int("".join(text.split()) or "0") % 7 else "yes"


PROGRAM = GalleryProgram(
    name="dfa_compiled",
    summary="an automaton in the weights: is a decimal number a multiple of 7?",
    build=build,
    encode=encode,
    decode=decode,
    cases=(
        Case("1001", "yes"),
        Case("1002", "no"),
        Case("", "yes"),
        Case("0", "yes"),
        Case("6", "no"),
    ),
    reference=reference,
    random_input=lambda random: (
        str(7 * random.randrange(10**30))
        if random.random() < 0.5
        else random_text(random, "0123456789", 40)
    ),
)
