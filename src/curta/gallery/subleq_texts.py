"""SUBLEQ programs as text, as tokens and as plain Python (see subleq)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from random import Random

from curta.errors import TokenError

ADDRESSES = 2**15
LOWS = tuple(str(byte) for byte in range(256))
VALUE_HIGHS = tuple(f"v{byte}" for byte in range(-128, 128))
PRINTED_HIGHS = tuple(f"o{byte}" for byte in range(-128, 128))
ADDRESS_HIGHS = tuple(f"#{byte}" for byte in range(128))
PC_HIGHS = tuple(f"@{byte}" for byte in range(128))
EXAMPLE = "9 -1 3 10 -1 6 0 0 -1 72 105"

LONG_RUN = "22 23 6 21 21 0 22 24 15 25 23 12 21 21 0 26 -1 18 21 21 -1 0 1 32000 50 -32000 42"
"""Counts 32000 down to 0, 50 times, then prints 42: 19,200,599 tokens, which is above 2**24."""


def encode(text: str) -> list[str]:
    """ "cells" or "cells : inputs", integers of 16 bits separated by spaces."""
    program, *inputs = text.split(":")
    if len(inputs) > 1:
        raise TokenError(f"{text!r} has more than one ':'; expected cells : inputs")
    tokens = cells_to_tokens(program)
    if not 0 < len(tokens) <= 2 * ADDRESSES:
        raise TokenError(
            f"a program of {len(tokens) // 2} cells: expected 1 to {ADDRESSES}, as in {EXAMPLE!r}"
        )
    return [*tokens, *(["in", *cells_to_tokens(inputs[0])] if inputs else []), "="]


def cells_to_tokens(text: str) -> list[str]:
    return [token for cell in cells(text) for token in (f"v{cell // 256}", str(cell % 256))]


def cells(text: str) -> list[int]:
    numbers = []
    for word in text.split():
        try:
            number = int(word)
        except ValueError:
            raise TokenError(f"{word!r} is no integer; a program looks like {EXAMPLE!r}") from None
        if not -ADDRESSES <= number < ADDRESSES:
            raise TokenError(f"{number} is too large for 16 bits: expected -32768 to 32767")
        numbers.append(number)
    return numbers


def decode(tokens: Iterable[str]) -> str:
    """The printed numbers."""
    said = list(tokens)
    return " ".join(str(256 * int(a[1:]) + int(b)) for a, b in pairwise(said) if a.startswith("o"))


def reference(text: str) -> str:
    return " ".join(map(str, run(text, 10**9) or []))


def run(text: str, most_steps: int) -> list[int] | None:
    """What the program prints; None if it takes too long or leaves the memory."""
    program, _, rest = text.partition(":")
    memory, inputs = dict(enumerate(cells(program))), iter(cells(rest))
    printed: list[int] = []
    pc = 0
    for _ in range(most_steps):
        if pc < 0:
            return printed
        a, b, c = (memory.get(pc + place, 0) for place in range(3))
        if a < -1 or b < -1 or pc + 3 >= ADDRESSES:
            return None
        value = next(inputs, 0) if a == -1 else memory.get(a, 0)
        pc += 3
        if b == -1:
            printed.append(value)
        elif a == -1:
            memory[b] = value
        else:
            memory[b] = (memory.get(b, 0) - value + ADDRESSES) % (2 * ADDRESSES) - ADDRESSES
            pc = c if memory[b] <= 0 else pc
    return None


def random_input(random: Random) -> str:
    """A random program that halts within 60 steps."""
    while True:
        size = random.randint(4, 8)
        code = [random.choice([-1, *range(3 * size)]) for _ in range(3 * size)]
        code[2::3] = [random.choice([-1, *range(0, 3 * size, 3)]) for _ in range(size)]
        inputs = [random.randint(-ADDRESSES, ADDRESSES - 1) for _ in range(3)]
        text = f"{' '.join(map(str, code))} : {' '.join(map(str, inputs))}"
        if run(text, 60):
            return text
