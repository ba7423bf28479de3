"""Idioms that several programs share: marks, counting, and numbers in decimal.

The last is worth a look: the digit of a count N at place k is (N // 10**k) mod 10. Position number
N carries exactly that in its positional embedding, so one lookup at position N finds it. No
arithmetic is needed to write a count in decimal.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase

from curta.compiler.derived import at_least, at_most, back, both, count_reached, either, equals
from curta.compiler.graph import Graph, Node

LETTERS = tuple(ascii_lowercase)
DIGITS = tuple("0123456789")
DECIMAL_PLACES = 8
PLACES_READ = 7
LARGEST_READ = 10**PLACES_READ - 1


def table(graph: Graph, name: str, tokens: Sequence[str], first: int = 0, default: int = 0) -> Node:
    """The place of each token in the list, counted from `first`; the default elsewhere."""
    return graph.feature(name, {t: first + i for i, t in enumerate(tokens)}, default)


# -- marks ----------------------------------------------------------------------------------------


def latest(mark: Node, value: object, default: int = 0) -> Node:
    """The value at the most recent position where the mark is 1."""
    return mark.graph.lookup(query=1, key=mark, value=value, missing=default)


def since(mark: Node) -> Node:
    """How many tokens ago the mark was 1 the last time."""
    return mark.graph.position - latest(mark, mark.graph.position)


def has_been(mark: Node) -> Node:
    """1 from the first position on where the mark is 1."""
    return latest(mark, 1)


def earlier(mark: Node) -> Node:
    """How many positions before this one have the mark."""
    return mark.graph.running_sum(mark) - mark


def fetch(position: Node, value: object) -> Node:
    """The value at a position; positions before the beginning count as the first one."""
    graph = position.graph
    return graph.lookup(query=position, key=graph.position, value=value, missing="nearest")


# -- counting letters -----------------------------------------------------------------------------


def prompt_counts(graph: Graph, symbols: Sequence[str], answering: Node) -> list[Node]:
    """How often each symbol has occurred in the prompt."""
    return [
        graph.running_sum(graph.gate(1 - answering, graph.is_token(symbol))) for symbol in symbols
    ]


def of_this_token(graph: Graph, symbols: Sequence[str], numbers: Sequence[Node]) -> Node:
    """The number that belongs to the token here; 0 for a token that is none of the symbols."""
    return total(
        graph,
        [graph.gate(graph.is_token(s), n) for s, n in zip(symbols, numbers, strict=True)],
    )


def total(graph: Graph, terms: Sequence[Node]) -> Node:
    return graph.linear([(term, 1) for term in terms])


def running_totals(numbers: Sequence[Node]) -> list[Node]:
    """The sums of the first one, two, three, ... numbers."""
    totals = [numbers[0]]
    for number in numbers[1:]:
        totals.append(totals[-1] + number)
    return totals


# -- decimal --------------------------------------------------------------------------------------


def spell(number: Node, written: Node) -> tuple[Node, Node]:
    """(the digit after `written` digits of the number, whether there is none).

    The number has to be at most the position, as every count of earlier tokens is.
    """
    graph = number.graph
    length = 1 + count_reached(number, [10**k for k in range(1, DECIMAL_PLACES)])
    place = length - 1 - written
    digits = [
        graph.gate(equals(place, k), fetch(number, graph.position_feature(10**k, modulus=10)))
        for k in range(DECIMAL_PLACES)
    ]
    return total(graph, digits), at_least(written, length)


def read_first_number(graph: Graph, places: int = PLACES_READ) -> Node:
    """At the token after a number of so many digits that starts the prompt: that number."""
    digit = table(graph, "digit", DIGITS)
    number = graph.linear([(back(j + 1, digit), 10**j) for j in range(places)])
    return graph.assume(number, 0, 10**places - 1)


def say_number(graph: Graph, number: Node, start: Node) -> None:
    """After the position marked `start`: the number in decimal, then stop."""
    digit, finished = spell(number, since(start))
    graph.emit(DIGITS, digit, when=1 - finished)
    graph.emit_token(".", when=finished)
    graph.stop_after(".")


def say_labelled_numbers(
    graph: Graph, symbols: Sequence[str], following: Node, number: Node
) -> None:
    """Say symbol, number, symbol, number, ...; the symbol numbered len(symbols) ends the list.

    `following` is the symbol to say next; `number` belongs to the symbol where it is said.
    """
    is_symbol, is_end = graph.is_token(*symbols), graph.is_token("=")
    digit, spelled = spell(latest(is_symbol, number), since(graph.is_token(*symbols, "=")))
    next_item = either(is_end, spelled)
    more = at_most(following, len(symbols) - 1)
    graph.emit(DIGITS, digit, when=1 - next_item)
    graph.emit(symbols, following, when=both(next_item, more))
    graph.emit_token(".", when=both(next_item, 1 - more))
    graph.stop_after(".")


def items_said(graph: Graph, symbols: Sequence[str], answering: Node) -> Node:
    """How many symbols the answer has so far."""
    return graph.running_sum(graph.gate(answering, graph.is_token(*symbols)))


def say_verdict(graph: Graph, verdict: Node) -> None:
    """After "=": "yes" if the verdict is 1, "no" if it is 0; then stop."""
    is_end = graph.is_token("=")
    graph.emit(["no", "yes"], verdict, when=is_end)
    graph.emit_token(".", when=1 - is_end)
    graph.stop_after(".")
