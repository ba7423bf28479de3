"""Numeric instructions: what is done in place. All others are functions of the library.

`_TEXT` has those that go straight on: the names of the words that they take (of the operands a
and b; high words are capitals), then steps. A step is an operation of words, or the word itself;
the result is what r and R are in the end. `few` and `many` are shifts of 64 bits by less than 32,
and by 32 and the last five bits of n.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from curta.machine.instructions import COMPARISONS, CORE, DIVISIONS
from curta.machine.lower.builder import Builder, Values
from curta.machine.lower.code import Value
from curta.machine.lower.conditions import choose, compare
from curta.machine.lower.rules import WIDE, Operation
from curta.machine.wasm.opcodes import NUMERIC

_TEXT = """
i64.add aAbB: c = carry a b; r = add a b; R = add3 A B c
i64.sub aAbB: c = lt_u a b; r = sub a b; R = sub3 A B c
i64.mul aAbB: c = mul_high a b; d = mul a B; e = mul A b; r = mul a b; R = add3 c d e
i64.and aAbB: r = and a b; R = and A B
i64.or aAbB: r = or a b; R = or A B
i64.xor aAbB: r = xor a b; R = xor A B
i64.popcnt aA: c = popcnt a; d = popcnt A; r = add c d; R = 0
few.shl aAn: R = funnel_shl A n a; r = shl a n
few.shr_u aAn: r = funnel_shr A n a; R = shr_u A n
few.shr_s aAn: r = funnel_shr A n a; R = shr_s A n
few.rotl aAn: R = funnel_shl A n a; r = funnel_shl a n A
few.rotr aAn: r = funnel_shr A n a; R = funnel_shr a n A
many.shl aAn: r = 0; R = shl a n
many.shr_u aAn: r = shr_u A n; R = 0
many.shr_s aAn: r = shr_s A n; R = shr_s A 31
many.rotl aAn: R = funnel_shl a n A; r = funnel_shl A n a
many.rotr aAn: r = funnel_shr a n A; R = funnel_shr A n a
i32.extend8_s a: r = extend8 a
i32.extend16_s a: r = extend16 a
i64.extend8_s aA: r = extend8 a; R = shr_s r 31
i64.extend16_s aA: r = extend16 a; R = shr_s r 31
i64.extend32_s aA: r = a; R = shr_s a 31
i64.extend_i32_s a: r = a; R = shr_s a 31
i64.extend_i32_u a: r = a; R = 0
i32.wrap_i64 aA: r = a
i32.reinterpret_f32 a: r = a
f32.reinterpret_i32 a: r = a
i64.reinterpret_f64 aA: r = a; R = A
f64.reinterpret_i64 aA: r = a; R = A
curta.mul_high ab: r = mul_high a b
curta.carry ab: r = carry a b
curta.add3 abc: r = add3 a b c
curta.sub3 abc: r = sub3 a b c
curta.funnel_shl Aan: r = funnel_shl A n a
curta.funnel_shr Aan: r = funnel_shr A n a
f64.add aAbB: R = f64_add_high A B a b; r = f64_add_low A B a b
f64.sub aAbB: R = f64_sub_high A B a b; r = f64_sub_low A B a b
f64.mul aAbB: R = f64_mul_high A B a b; r = f64_mul_low A B a b
f64.div aAbB: R = f64_div_high A B a b; r = f64_div_low A B a b
f64.sqrt aA: R = f64_sqrt_high A A a a; r = f64_sqrt_low A A a a
f64.eq aAbB: r = f64_eq A B a b
f64.ne aAbB: e = f64_eq A B a b; r = eq e 0
f64.lt aAbB: r = f64_lt A B a b
f64.gt aAbB: r = f64_lt B A b a
f64.le aAbB: r = f64_le A B a b
f64.ge aAbB: r = f64_le B A b a
f32.add ab: r = f32_add a b
f32.sub ab: r = f32_sub a b
f32.mul ab: r = f32_mul a b
f32.div ab: r = f32_div a b
f32.sqrt a: r = f32_sqrt a a
f32.eq ab: r = f32_eq a b
f32.ne ab: e = f32_eq a b; r = eq e 0
f32.lt ab: r = f32_lt a b
f32.gt ab: r = f32_lt b a
f32.le ab: r = f32_le a b
f32.ge ab: r = f32_le b a
f32.demote_f64 aA: r = f32_demote A A a a
f64.promote_f32 a: R = f64_promote_high a a; r = f64_promote_low a a
f64.convert_i32_u a: R = f64_pack_high 0 1075 a 0; r = f64_pack_low 0 1075 a 0
f64.convert_i32_s a: c = xor a 0x80000000; R = f64_sub_high 0x43300000 0x43300000 c 0x80000000; \
    r = f64_sub_low 0x43300000 0x43300000 c 0x80000000
f64.convert_i64_u aA: R = f64_pack_high A 1075 a 0; r = f64_pack_low A 1075 a 0
f64.convert_i64_s aA: s = shr_s A 31; c = xor a s; d = xor A s; e = lt_u c s; l = sub c s; \
    h = sub3 d s e; R = f64_pack_high h 1075 l A; r = f64_pack_low h 1075 l A
f32.convert_i32_u a: r = f32_pack 0 1075 a 0
f32.convert_i32_s a: s = shr_s a 31; c = xor a s; m = sub c s; r = f32_pack 0 1075 m a
f32.convert_i64_u aA: r = f32_pack A 1075 a 0
f32.convert_i64_s aA: s = shr_s A 31; c = xor a s; d = xor A s; e = lt_u c s; l = sub c s; \
    h = sub3 d s e; r = f32_pack h 1075 l A
f32.neg a: r = xor a 0x80000000
f32.abs a: r = and a 0x7fffffff
f32.copysign ab: s = and b 0x80000000; m = and a 0x7fffffff; r = or m s
f64.neg aA: r = a; R = xor A 0x80000000
f64.abs aA: r = a; R = and A 0x7fffffff
f64.copysign aAbB: s = and B 0x80000000; m = and A 0x7fffffff; r = a; R = or m s
"""
Compute = Callable[..., Values | None]
"""What gives an instruction's result from the builder, its immediates and the words it takes."""


def _read_straight() -> dict[str, Callable[..., Values]]:
    found: dict[str, Callable[..., Values]] = {}
    for line in _TEXT.strip().splitlines():
        head, steps = line.split(":")
        name, given = head.split()
        found[name] = partial(_go_straight, given, [step.split() for step in steps.split(";")])
    return found


def _go_straight(given: str, steps: list[list[str]], b: Builder, *words: Value) -> Values:
    known = dict(zip(given, words, strict=True))

    def source(word: str) -> Value:
        return known[word] if word in known else b.constant(int(word, 0))

    for name, _, *operation, last in steps:
        if operation:
            first, *others = operation
            known[name] = b.value(first, *map(source, (*others, last)))
        else:
            known[name] = source(last)
    return tuple(known[name] for name in "rR" if name in known)


STRAIGHT = _read_straight()


def value(name: str, b: Builder, *words: Value) -> Values:
    """An instruction that is an operation of words."""
    return (b.value(name, *words),)


def _is_zero(name: str, b: Builder, *words: Value) -> Values:
    return compare(name, b, *words, *[b.constant(0)] * len(words))


def _count_zeros(name: str, b: Builder, low: Value, high: Value) -> Values:
    """Those of one word, unless there are only zeros in it."""
    first, second = (high, low) if name == "clz" else (low, high)
    count = b.value(name, first)

    def none() -> Values:
        return (b.value("add", b.value(name, second), b.constant(32)),)

    some = Operation("ne", (first, b.constant(0)))
    return *choose(b, some, (count,), none), b.constant(0)


def _shift(name: str, b: Builder, low: Value, high: Value, amount: Value, _: Value) -> Values:
    """Amounts of less than 32 go straight on; the others exchange the words."""
    few, many = STRAIGHT[f"few.{name}"], STRAIGHT[f"many.{name}"]
    count = b.word(amount)
    if count is not None:
        shifted = few if count % 64 < 32 else many
        return shifted(b, low, high, b.constant(count % 32))
    bit = b.value("and", amount, b.constant(32))
    return choose(
        b,
        Operation("ne", (bit, b.constant(0))),
        lambda: many(b, low, high, amount),
        lambda: few(b, low, high, amount),
        rare=1,
    )


def _divide(name: str, b: Builder, low: Value, high: Value, divisor: Value, above: Value) -> Values:
    """By a constant of one word it is less work, above all if the number is small, too."""
    by = b.word(divisor)
    limit = 1 << 32 if name.endswith("_u") else 1 << 31
    if by is None or b.word(above) != 0 or not 0 < by < limit:
        return b.call_library(f"i64.{name}", (low, high, divisor, above), 2)

    def large() -> Values:
        amount = 32 - by.bit_length()
        inverse = ((1 << 64) - 1) // (by << amount) % (1 << 32)
        numbers = (b.constant(word) for word in (by << amount, inverse, amount))
        return b.call_library(f"i64.{name}#", (low, high, *numbers), 2)

    def small() -> Values:
        return b.value(f"{name[:3]}_u", low, divisor), b.constant(0)

    return choose(b, Operation("ne", (high, b.constant(0))), large, small)


NUMBERS: dict[str, Compute] = {
    **STRAIGHT,
    **{f"i32.{name}": partial(value, name) for name in CORE if f"i32.{name}" in NUMERIC},
    **{f"i32.{name}": partial(compare, name) for name in COMPARISONS},
    "i32.eqz": partial(_is_zero, "eq"),
    **{f"i64.{name}": partial(compare, WIDE + name) for name in COMPARISONS},
    "i64.eqz": partial(_is_zero, WIDE + "eq"),
    **{f"i64.{name}": partial(_divide, name) for name in DIVISIONS},
    **{f"i64.{name}": partial(_shift, name) for name in ("shl", "shr_u", "shr_s", "rotl", "rotr")},
    "i64.clz": partial(_count_zeros, "clz"),
    "i64.ctz": partial(_count_zeros, "ctz"),
    **dict.fromkeys(("i32.const", "f32.const"), lambda b, word: (b.constant(word),)),
    **dict.fromkeys(
        ("i64.const", "f64.const"),
        lambda b, word: (b.constant(word & 0xFFFF_FFFF), b.constant(word >> 32)),
    ),
}
