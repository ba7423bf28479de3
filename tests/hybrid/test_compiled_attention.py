"""What the lab's compiled heads fetch is what a compiled program fetches: the same look-ups."""

from __future__ import annotations

from random import Random

import jax
import numpy as np

from curta.compiler import Graph, Node, at_least, both, compile, equals
from curta.engine.evaluate import GraphSession
from curta.gallery.idioms import DIGITS, fetch, latest, since, table
from curta.learn import catalogue
from curta.learn.language import Language
from curta.learn.positions.retrievals import retrievals
from curta.learn.reading import read
from tests.support.slow import draws
from tests.support.written_rows import written_rows

HEADS = ("first", "second", "first-1", "second-1", "origin_first", "origin_second")
MAX_TOKENS = 64


def program() -> tuple[Graph, list[Node]]:
    """Sums from their last digit: for each rule where it fetches, behind "=", and -1 for nowhere.

    A place decides what is carried out of it if its digits do not add up to 9. The token that asks
    for place t sees both digits of place t-1; the latest such token where they decide is the
    origin's.
    """
    graph = Graph([*DIGITS, "+", "=", "#"])
    plus = latest(graph.is_token("+"), graph.position)
    end = latest(graph.is_token("="), graph.position)
    asked = since(graph.is_token("=")) + 1  # t
    digit = table(graph, "digit", DIGITS)

    def where(number: int, significance: Node) -> Node:
        behind, length = (plus, plus) if number == 1 else (end, end - plus - 1)
        there = both(at_least(significance, 1), at_least(length, significance))
        return graph.gate(there, behind - significance + 1) - 1

    def value(number: int, significance: Node) -> Node:
        place = where(number, significance)
        return graph.gate(at_least(place, 0), fetch(place, digit))

    below = value(1, asked - 1) + value(2, asked - 1)
    decides = both(1 - equals(below, 9), at_least(asked, 2), at_least(graph.position, end))
    answering = graph.gate(at_least(end, 1), decides)
    origin = graph.lookup(query=1, key=answering, value=asked - 1, missing=0)
    targets = [where(n, asked + k) for k in (0, -1) for n in (1, 2)]
    targets += [where(n, origin) for n in (1, 2)]
    graph.emit(DIGITS, graph.linear([(target, 1) for target in targets]))
    return graph, targets


def test_rules_are_look_ups_of_compiled_programs() -> None:
    random, (graph, targets) = Random(0), program()
    spoken = Language(catalogue.task("addition"), catalogue.format_("reversed"))
    texts = []
    for _ in range(draws(40)):
        a = random.randrange(10 ** random.randint(1, 7))
        b = random.choice((random.randrange(10**6), 10 ** len(str(a)) - 1 - a))
        texts.append(f"{a}+{b}={str(a + b)[::-1]}#")
    rows = written_rows(spoken, texts)
    reading = jax.jit(read, static_argnums=2)(rows.tokens, rows.prompt_length, spoken)
    found = np.stack([head.fetched(reading) for head in retrievals(" ".join(HEADS))], axis=-1)
    for text, fetched in zip(texts, found, strict=True):
        session = GraphSession(graph)
        for place, letter in enumerate(text[:-1]):
            session.feed(graph.tokens[letter])
            if place >= text.index("="):
                compiled = [int(session.values[node.index]) for node in targets]
                assert compiled == fetched[place].tolist(), (text, place)
    assert compile(graph, MAX_TOKENS).certificate.max_tokens >= MAX_TOKENS
