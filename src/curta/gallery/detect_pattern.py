"""Detect pattern: after which letters of the text does a pattern end ("ab: aaba")?

For every letter of the text one verdict: "_" where the pattern does not fit in yet, "T" where it
ends, "F" elsewhere. Pattern and text may have any length, so the model compares letter by letter
and says "+" for every one that agrees; decode leaves these out. With j verdicts given and k
letters of the pattern compared:

    agree = [pattern letter k == text letter (j - length of pattern + 1 + k)]
    next  = "_" if j < length - 1;  "F" if not agree;  "T" if k is the last letter;  else "+"
"""

from __future__ import annotations

from collections.abc import Iterable

from curta.compiler import Graph, at_least, at_most, both, equals
from curta.errors import TokenError
from curta.gallery.idioms import LETTERS, fetch, latest, since, table
from curta.gallery.program import Case, GalleryProgram, characters, joined, parts, random_text

EXAMPLE = "ab: aaba"
VERDICTS = ("_", "F", "T")


def build() -> Graph:
    graph = Graph([*LETTERS, ":", "=", *VERDICTS, "+", "."])
    length = latest(graph.is_token(":"), graph.position).named("length")
    end = latest(graph.is_token("="), graph.position).named("end")
    given = graph.running_sum(graph.is_token(*VERDICTS)).named("given")
    compared = since(graph.is_token("=", *VERDICTS)).named("compared")
    letter = table(graph, "letter", LETTERS)
    # The text starts after ":", at position length + 1.
    agree = equals(fetch(compared, letter), fetch(given + compared + 2, letter))
    fits = at_least(given + 1, length)
    last = equals(compared, length - 1)
    going_on = at_most(given, end - length - 2)
    graph.emit_token("_", when=both(going_on, 1 - fits))
    graph.emit_token("F", when=both(going_on, fits, 1 - agree))
    graph.emit_token("T", when=both(going_on, fits, agree, last))
    graph.emit_token("+", when=both(going_on, fits, agree, 1 - last))
    graph.emit_token(".", when=1 - going_on)
    graph.stop_after(".")
    return graph


def encode(text: str) -> list[str]:
    pattern, searched = parts(text, ":", 2, EXAMPLE)
    if not pattern:
        raise TokenError(f"{text!r} has no pattern; an input looks like {EXAMPLE!r}")
    letters = characters(searched, LETTERS, EXAMPLE)
    return [*characters(pattern, LETTERS, EXAMPLE), ":", *letters, "="]


def decode(tokens: Iterable[str]) -> str:
    return joined(tokens).replace("+", "")


def reference(text: str) -> str:
    pattern, searched = (piece.strip() for piece in text.split(":"))
    verdicts = ""
    for size in range(1, len(searched) + 1):
        found = "T" if searched[:size].endswith(pattern) else "F"
        verdicts += found if size >= len(pattern) else "_"
    return verdicts


PROGRAM = GalleryProgram(
    name="detect_pattern",
    summary="after which letters of a text a pattern ends",
    build=build,
    encode=encode,
    decode=decode,
    cases=(
        Case("ab: aaba", "_FTF"),
        Case("a: bacd", "FTFF"),
        Case("ab: aaaa", "_FFF"),
        Case("abc: abcabc", "__TFFT"),
        Case("abcd: abc", "___"),
        Case("a:", ""),
        Case("aaaaaaaaaaaa: " + "a" * 14, "_" * 11 + "TTT"),
    ),
    reference=reference,
    random_input=lambda random: (
        f"{random_text(random, 'ab', 4, shortest=1)}: {random_text(random, 'aab', 25)}"
    ),
)
