"""Results of the operations on words."""

from __future__ import annotations

from curta.compiler import (
    Node,
    at_least,
    at_most,
    both,
    count_reached,
    equals,
    product,
    quotient_of,
    remainder_of,
    select,
)
from curta.compiler.derived import split_top
from curta.machine.instructions import WORD
from curta.machine.parts.program import Fetched
from curta.machine.parts.words import Word, from_bits, from_digits, wrapped

Results = dict[str, Node]


def results(now: Fetched, a: Word, b: Word, c: Node) -> Results:
    """What each operation on words gives for these sources."""
    return {
        "copy": b.number,
        "add": wrapped(a.number + b.number),
        "sub": a.number - b.number + WORD * at_most(a.number - b.number, -1),
        "select": select(at_least(c, 1), a.number, b.number),
        "extend8": extended(a, 2),
        "extend16": extended(a, 4),
        **comparisons(a, b),
        **multiplied(a, b),
        **bitwise(a, b),
        **shifted(now, a, b),
        **counted(a),
    }


def comparisons(a: Word, b: Word) -> Results:
    away, signed = a.number - b.number, a.signed - b.signed
    less, more = at_most(away, -1), at_least(away, 1)
    return {
        "eq": 1 - less - more,
        "ne": less + more,
        "lt_u": less,
        "le_u": 1 - more,
        "lt_s": at_most(signed, -1),
        "le_s": 1 - at_least(signed, 1),
    }


def extended(a: Word, digits: int) -> Node:
    """The lowest digits, with the sign of the last of them."""
    low, sign = from_digits(a.digits[:digits]), a.bits[4 * digits - 1]
    fill: int = WORD - 16**digits
    return low + fill * sign


def multiplied(a: Word, b: Word) -> Results:
    """Both halves of the product, from products of halves."""
    cross = product(a.high, b.low) + product(a.low, b.high)
    carried, rest = split_top(cross, 33, 17)
    low = product(a.low, b.low) + 2**16 * rest
    carry = at_least(low, WORD)
    return {"mul": low - WORD * carry, "mul_high": product(a.high, b.high) + carried + carry}


def bitwise(a: Word, b: Word) -> Results:
    conjunction = from_bits([both(x, y) for x, y in zip(a.bits, b.bits, strict=True)])
    total = a.number + b.number
    return {"and": conjunction, "or": total - conjunction, "xor": total - 2 * conjunction}


def shifted(now: Fetched, a: Word, b: Word) -> Results:
    """Every shift is a rotation to the left, in two stages, with some bits blanked."""
    by = from_digits(b.digits[:1]) + 16 * b.bits[4]
    left, right_signed = now.is_any("shl"), now.is_any("shr_s")
    right = now.is_any("shr_u") + right_signed
    turn = by + by.graph.gate(right, (32 - by) * 1 - by)
    turn = turn - 32 * at_least(turn, 32)
    coarse, fine = quotient_of(turn, 4, 31), remainder_of(turn, 4, 31)
    bits = list(a.bits)
    for amount, width, choices in ((fine, 1, 4), (coarse, 4, 8)):
        chosen = [equals(amount, n) for n in range(choices)]
        bits = [
            sum(
                (both(chosen[n], bits[(k - n * width) % 32]) for n in range(1, choices)),
                both(chosen[0], bits[k]),
            )
            for k in range(32)
        ]
    kept = [
        both(bit, 1 - both(left, at_least(by, k + 1)) - both(right, at_least(by, 32 - k)))
        for k, bit in enumerate(bits)
    ]
    filled = [both(right_signed, a.bits[31], at_least(by, 32 - k)) for k in range(32)]
    word = from_bits(kept) + from_bits(filled)
    return dict.fromkeys(("shl", "shr_u", "shr_s", "rotl"), word)


def counted(a: Word) -> Results:
    backwards = from_bits(list(a.bits[::-1]))
    powers = [2**n for n in range(32)]
    return {
        "clz": 32 - count_reached(a.number, powers),
        "ctz": 32 - count_reached(backwards, powers),
        "popcnt": sum(a.bits[1:], a.bits[0]),
    }
