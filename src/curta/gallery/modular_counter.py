"""Modular counter: ticks counted modulo any m ("17 mod 5" is 17 ticks, and 5 on the dial).

For each tick of the prompt the model says "+", or "*" where the dial comes round to 0:

    dial = tokens since the last "*"        say "*" if dial + 1 == m

After the last tick the dial is said in decimal. (For an m that is fixed in the program, one lookup
does all of this: see parity.)
"""

from __future__ import annotations

from curta.compiler import Graph, at_least, both, equals
from curta.errors import TokenError
from curta.gallery.idioms import (
    DIGITS,
    LARGEST_READ,
    latest,
    read_first_number,
    since,
    spell,
)
from curta.gallery.program import Case, GalleryProgram, joined, natural, parts

EXAMPLE = "17 mod 5"
MOST_TICKS = 2**18


def build() -> Graph:
    graph = Graph([*DIGITS, ":", "|", "=", "+", "*", "."])
    colon = latest(graph.is_token(":"), graph.position).named("colon")
    modulus = latest(graph.is_token(":"), read_first_number(graph)).named("modulus")
    ticks = latest(graph.is_token("="), graph.position) - colon - 1
    written = since(graph.is_token("=")) - ticks
    comes_round = equals(since(graph.is_token("=", "*")) + 1, modulus)
    counting = 1 - at_least(written, 0)
    # While the digits are being said, the dial is what it was `written` tokens ago.
    digit, spelled = spell(since(graph.is_token("=", "*")) - written, written)
    graph.emit_token("+", when=both(counting, 1 - comes_round))
    graph.emit_token("*", when=both(counting, comes_round))
    graph.emit(DIGITS, digit, when=1 - counting - spelled)
    graph.emit_token(".", when=both(1 - counting, spelled))
    graph.stop_after(".")
    return graph


def encode(text: str) -> list[str]:
    ticks, modulus = parts(text, "mod", 2, EXAMPLE)
    number = natural(modulus, EXAMPLE, largest=LARGEST_READ)
    if number == "0":
        raise TokenError(f"{text!r}: the modulus must be at least 1")
    return [*number, ":", *["|"] * int(natural(ticks, EXAMPLE, largest=MOST_TICKS)), "="]


def reference(text: str) -> str:
    ticks, modulus = map(int, text.split("mod"))
    return str(ticks % modulus)


PROGRAM = GalleryProgram(
    name="modular_counter",
    summary="ticks counted modulo any number",
    build=build,
    encode=encode,
    decode=lambda tokens: joined(tokens).lstrip("+*"),
    cases=(
        Case("17 mod 5", "2"),
        Case("0 mod 7", "0"),
        Case("12 mod 12", "0"),
        Case("5 mod 1", "0"),
        Case("50 mod 100", "50"),
        Case("250 mod 120", "10"),
    ),
    reference=reference,
    random_input=lambda random: f"{random.randint(0, 60)} mod {random.randint(1, 30)}",
)
