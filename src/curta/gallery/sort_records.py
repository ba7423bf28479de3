"""Sort records: letters ordered by the digit before them, equal digits in input order.

The input is a list of records, a key digit and a letter each: "3c 1a 3b". Counting sort says
which key stands at place r of the answer, and how many records with smaller keys come before:

    key      = how many digits d have C(d) <= r        C(d) = records with a key of at most d
    smaller  = C(key - 1) = sum of [C(d) <= r] * count(d)

So the record wanted is number r - smaller among those with that key. Each record of the prompt is
filed under (key, its number among equal keys); one lookup fetches its letter.
"""

from __future__ import annotations

from curta.compiler import Graph, Node, at_least
from curta.errors import TokenError
from curta.gallery.idioms import (
    DIGITS,
    LETTERS,
    fetch,
    has_been,
    items_said,
    of_this_token,
    prompt_counts,
    running_totals,
    table,
    total,
)
from curta.gallery.program import Case, GalleryProgram, joined, random_text

EXAMPLE = "3c 1a 3b"
LONGEST = 2**20


def build() -> Graph:
    graph = Graph([*DIGITS, *LETTERS, "=", "."])
    answering = has_been(graph.is_token("="))
    counts = prompt_counts(graph, DIGITS, answering)
    reached = running_totals(counts)
    rank = items_said(graph, LETTERS, answering).named("rank")
    passed = [at_least(rank, count) for count in reached]
    key = total(graph, passed).named("key")
    smaller = total(graph, [graph.gate(p, n) for p, n in zip(passed, counts, strict=True)])
    is_digit = graph.is_token(*DIGITS)
    # Only records of the prompt are filed under keys 1..10; all else is under 0.
    digit = graph.gate(1 - answering, table(graph, "digit", DIGITS, first=1))
    filed = code(digit, of_this_token(graph, DIGITS, counts))
    letter = graph.lookup(
        query=code(key + 1, rank - smaller + 1),
        key=fetch(graph.position - 1, filed),
        value=table(graph, "letter", LETTERS),
        missing=0,
    )
    finished = at_least(key, len(DIGITS))
    graph.emit(LETTERS, graph.assume(letter, 0, 25), when=is_digit)
    graph.emit(DIGITS, key, when=1 - is_digit - finished + graph.gate(is_digit, finished))
    graph.emit_token(".", when=graph.gate(1 - is_digit, finished))
    graph.stop_after(".")
    return graph


def code(digit: Node, number: Node) -> Node:
    """Key digit and number among equal keys as one integer."""
    return digit.graph.assume(number * 16 + digit, 0, 16 * LONGEST)


def encode(text: str) -> list[str]:
    symbols = "".join(text.split())
    if len(symbols) % 2 or not all(
        symbol in (LETTERS if place % 2 else DIGITS) for place, symbol in enumerate(symbols)
    ):
        raise TokenError(
            f"{text!r}: expected records of a digit and a letter a-z each; "
            f"an input looks like {EXAMPLE!r}"
        )
    return [*symbols, "="]


def reference(text: str) -> str:
    symbols = "".join(text.split())
    records = [symbols[i : i + 2] for i in range(0, len(symbols), 2)]
    return "".join(sorted(records, key=lambda record: record[0]))


PROGRAM = GalleryProgram(
    name="sort_records",
    summary="records of a digit and a letter, ordered by the digit, equal ones in input order",
    build=build,
    encode=encode,
    decode=joined,
    cases=(
        Case("3c 1a 3b", "1a3c3b"),
        Case("", ""),
        Case("9z", "9z"),
        Case("2b 2a 2c 0z 2b", "0z2b2a2c2b"),
        Case("3a 2b 1c 0d", "0d1c2b3a"),
    ),
    reference=reference,
    random_input=lambda random: "".join(
        random.choice("0123456789") + random_text(random, "abcxyz", 1, 1)
        for _ in range(random.randint(0, 25))
    ),
)
