"""Results of the operations on words.

There is one multiplier, and it does the shifts too: a * 2**t has a << t in its low word and
a >> (32 - t) in its high word; a rotation is their sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from curta.compiler import Node, at_least, at_most, function_table, product, select
from curta.compiler.derived import split_top
from curta.machine.instructions import WORD
from curta.machine.parts.operations import Sources
from curta.machine.parts.program import Fetched
from curta.machine.parts.words import Word, from_digits, wrapped

Results = dict[str, Node]
LEFT = ("shl", "rotl", "funnel_shl")
RIGHT = ("shr_u", "shr_s", "rotr", "funnel_shr")
_CONJUNCTIONS = [x & y for x in range(16) for y in range(16)]
_ONES = [x.bit_count() for x in range(16)]
_LEADING_ZEROS = [4 - x.bit_length() for x in range(16)]
_TRAILING_ZEROS = [4, *((x & -x).bit_length() - 1 for x in range(1, 16))]


def results(now: Fetched, sources: Sources) -> Results:
    """What each operation on words gives for these sources."""
    a, b, c = sources.a, sources.b, sources.c
    total = a.number + b.number
    return {
        "copy": b.number,
        "add": wrapped(total),
        "carry": at_least(total, WORD),
        "add3": wrapped(total + c.number, 3),
        "sub": a.number - b.number + WORD * at_most(a.number - b.number, -1),
        "sub3": wrapped(a.number - b.number - c.number + 2 * WORD, 3),
        "select": select(at_most(c.number, 0), b.number, a.number),
        "extend8": extended(a, 2),
        "extend16": extended(a, 4),
        **comparisons(a, b),
        **multiplied(now, sources),
        **bitwise(a, b),
        **counted(a),
    }


def comparisons(a: Word, b: Word) -> Results:
    away, signed = a.number - b.number, a.signed - b.signed
    less, more = at_most(away, -1), at_least(away, 1)
    less_signed, more_signed = at_most(signed, -1), at_least(signed, 1)
    return {
        "eq": 1 - less - more,
        "ne": less + more,
        "lt_u": less,
        "le_u": 1 - more,
        "gt_u": more,
        "ge_u": 1 - less,
        "lt_s": less_signed,
        "le_s": 1 - more_signed,
        "gt_s": more_signed,
        "ge_s": 1 - less_signed,
    }


def extended(a: Word, digits: int) -> Node:
    """The lowest digits, with the sign of the last of them."""
    fill: int = WORD - 16**digits
    return from_digits(a.digits[:digits]) + fill * at_least(a.digits[digits - 1], 8)


@dataclass(frozen=True)
class Factor:
    """A number below 2**33 in halves; the high one may be 2**16."""

    low: Node
    high: Node


def multiplied(now: Fetched, sources: Sources) -> Results:
    """Products, and shifts as products with a power of two."""
    a, b, c = sources.a, sources.b, sources.c
    shift = now.is_any(*LEFT, *RIGHT)
    right = now.is_any(*RIGHT)
    by = b.digits[0] + 16 * function_table(b.digits[1], [n % 2 for n in range(16)])
    turn = select(right, 32 - by, by)
    power = Factor(
        function_table(turn, [2**t if t < 16 else 0 for t in range(33)]),
        function_table(turn, [2 ** (t - 16) if t >= 16 else 0 for t in range(33)]),
    )
    factor = Factor(select(shift, power.low, b.low), select(shift, power.high, b.high))
    low, high = multiply(a, factor)
    _, from_below = multiply(c, power)
    filled = [WORD - 2 ** (32 - n) for n in range(32)]
    return {
        "mul": low,
        "mul_high": high,
        "shl": low,
        "shr_u": high,
        "shr_s": high + a.number.graph.gate(a.sign, function_table(by, filled)),
        **dict.fromkeys(("rotl", "rotr"), low + high),
        **dict.fromkeys(("funnel_shl", "funnel_shr"), low + from_below),
    }


def multiply(a: Word, factor: Factor) -> tuple[Node, Node]:
    """Both words of the product, from products of halves."""
    cross = product(a.high, factor.low) + product(a.low, factor.high)
    carried, rest = split_top(cross, 33, 17)
    low = product(a.low, factor.low) + 2**16 * rest
    carry = at_least(low, WORD)
    return low - WORD * carry, product(a.high, factor.high) + carried + carry


def bitwise(a: Word, b: Word) -> Results:
    """x or y = x + y - (x and y), and so on; what digits have in common stands in a table."""
    pairs = zip(a.digits, b.digits, strict=True)
    common = from_digits([function_table(16 * x + y, _CONJUNCTIONS) for x, y in pairs])
    total = a.number + b.number
    return {"and": common, "or": total - common, "xor": total - 2 * common}


def counted(a: Word) -> Results:
    graph = a.number.graph
    ones = sum((function_table(digit, _ONES) for digit in a.digits), graph.constant(0))
    return {
        "clz": first_found(a.digits[::-1], _LEADING_ZEROS),
        "ctz": first_found(a.digits, _TRAILING_ZEROS),
        "popcnt": ones,
    }


def first_found(digits: Sequence[Node], zeros: Sequence[int]) -> Node:
    """The zeros of the digits up to the first that is not 0, which are 4 for each of the others."""
    total = function_table(digits[0], zeros)
    for place in range(1, len(digits)):
        none_yet = at_most(sum(digits[1:place], digits[0]), 0)
        total = total + total.graph.gate(none_yet, function_table(digits[place], zeros))
    return total
