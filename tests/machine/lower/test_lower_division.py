"""64-bit division by constants: beside Python's integers."""

from __future__ import annotations

from random import Random

import pytest

from curta.machine.wasm.text import parse_text
from tests.machine.lower.core_run import CoreInstance

DIVISORS = (
    *(1, 2, 3, 7, 10, 60, 1000, 65535, 65536, 65537, 1_000_000_007, 998_244_353),
    *(2**31 - 1, 2**31, 2**31 + 1, 2**32 - 5, 2**32 - 1),
)
NAMES = ("div_u", "rem_u", "div_s", "rem_s")
WORD = 1 << 64


def module_text(divisors: list[int]) -> str:
    functions = [
        f'(func (export "{name}.{divisor}") (param i64) (result i64)'
        f" (i64.{name} (local.get 0) (i64.const {divisor})))"
        for divisor in divisors
        for name in NAMES
    ]
    return "(module\n" + "\n".join(functions) + ")"


def divided(name: str, number: int, divisor: int) -> int:
    """Rounded towards zero; the rest has the sign of the number."""
    if name.endswith("_s") and number >= WORD // 2:
        return -divided(f"{name[:3]}_u", WORD - number, divisor) % WORD
    return number // divisor if name.startswith("div") else number % divisor


def numbers(divisor: int, random: Random, count: int) -> list[int]:
    """Of all lengths, and next to multiples."""
    found = [0, 1, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, divisor << 32, divisor * divisor]
    for _ in range(count):
        number = random.getrandbits(random.randrange(1, 65))
        found += [number, number // divisor * divisor, number // divisor * divisor - 1, -number]
    return [number % WORD for number in found]


def check(divisors: list[int], random: Random, count: int) -> None:
    instance = CoreInstance(parse_text(module_text(divisors)))
    for divisor in divisors:
        for number in numbers(divisor, random, count):
            for name in NAMES:
                got = instance.invoke(f"{name}.{divisor}", number)
                assert got == (divided(name, number, divisor),), (name, number, divisor)


def test_division_by_constants() -> None:
    random = Random(1)
    drawn = [random.getrandbits(random.randrange(2, 33)) | 1 for _ in range(10)]
    check(sorted({*DIVISORS, *drawn}), random, 6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_division_by_constants_at_length(seed: int) -> None:
    random = Random(seed)
    check(sorted({random.getrandbits(random.randrange(2, 33)) | 1 for _ in range(60)}), random, 40)
