"""Numeric instructions: what is done in place. All others are functions of the library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from curta.machine.instructions import COMPARISONS
from curta.machine.lower.body import Body
from curta.machine.lower.conditions import compare, invert, pop_condition
from curta.machine.lower.folding import cheaper
from curta.machine.lower.natives import add3, funnel, sub3
from curta.machine.wasm.opcodes import OPCODES

_SIGN = 1 << 31
_MAGNITUDE = _SIGN - 1
_HALF = 32

Handler = Callable[[Body], None]


# -- one word -------------------------------------------------------------------------------------


def _binary(name: str, body: Body) -> None:
    b = body.stack.pop()
    a = body.stack.pop()
    body.stack.append(body.binary(name, a, b))


def _unary(name: str, body: Body) -> None:
    body.stack.append(body.unary(name, body.stack.pop()))


def _compare(name: str, body: Body) -> None:
    b, a = body.stack.pop(), body.stack.pop()
    compare(body, (name, (a,), (b,)))


def _eqz(body: Body) -> None:
    compare(body, invert(pop_condition(body)))


def _nothing(body: Body) -> None:
    """The words stay what they are."""


def _sign_bit(name: str, constant: int, words: int, body: Body) -> None:
    """neg and abs: on the last word."""
    *low, high = body.pop_words(words)
    body.push(*low, body.binary(name, high, ~constant, None, words - 1, low))


def _copysign(words: int, body: Body) -> None:
    *_, sign = body.pop_words(words)
    *low, magnitude = body.pop_words(words)
    bit = body.binary("and", sign, ~_SIGN, body.temporary())
    rest = body.binary("and", magnitude, ~_MAGNITUDE, body.temporary())
    body.push(*low, body.binary("or", rest, bit, None, words - 1, low))


# -- two words ------------------------------------------------------------------------------------


def _wide_bitwise(name: str, body: Body) -> None:
    bl, bh = body.pop_wide()
    al, ah = body.pop_wide()
    low = body.binary(name, al, bl, None, 0, (ah, bh))
    body.push(low, body.binary(name, ah, bh, None, 1, (low,)))


def _wide_add(body: Body) -> None:
    bl, bh = body.pop_wide()
    al, ah = body.pop_wide()
    carry = body.binary("carry", al, bl, body.temporary())
    low = body.binary("add", al, bl, None, 0, (ah, bh))
    body.push(low, add3(body, ah, bh, carry, 1, (low,)))


def _wide_sub(body: Body) -> None:
    bl, bh = body.pop_wide()
    al, ah = body.pop_wide()
    borrow = body.binary("lt_u", al, bl, body.temporary())
    low = body.binary("sub", al, bl, None, 0, (ah, bh))
    body.push(low, sub3(body, ah, bh, borrow, 1, (low,)))


def _wide_mul(body: Body) -> None:
    bl, bh = body.pop_wide()
    al, ah = body.pop_wide()
    top = body.binary("mul_high", al, bl, body.temporary())
    cross = body.binary("mul", al, bh, body.temporary())
    other = body.binary("mul", ah, bl, body.temporary())
    low = body.binary("mul", al, bl, None, 0, (top, cross, other))
    body.push(low, add3(body, top, cross, other, 1, (low,)))


def _wide_compare(name: str, body: Body) -> None:
    b, a = body.pop_wide(), body.pop_wide()
    compare(body, (name, a, b))


def _wide_eqz(body: Body) -> None:
    compare(body, ("eq", body.pop_wide(), (~0, ~0)))


def _extend_unsigned(body: Body) -> None:
    body.push(~0)


def _extend_signed(body: Body) -> None:
    low = body.pop()
    high = body.binary("shr_s", low, ~31, None, 1, (low,))
    body.push(low, high)


def _extend_within(name: str, body: Body) -> None:
    low, _ = body.pop_wide()
    low = body.unary(name, low) if name else low
    body.push(low, body.binary("shr_s", low, ~31, None, 1, (low,)))


def _wrap(body: Body) -> None:
    body.pop()


def _popcnt(body: Body) -> None:
    low, high = body.pop_wide()
    first = body.unary("popcnt", low, body.temporary())
    second = body.unary("popcnt", high, body.temporary())
    body.push(body.binary("add", first, second), ~0)


def _count_zeros(name: str, body: Body) -> None:
    """Those of one word, unless there are only zeros in it."""
    low, high = body.pop_wide()
    first, second = (high, low) if name == "clz" else (low, high)
    if first < 0:
        count = body.unary(name, first if first != ~0 else second)
        body.push(count if first != ~0 else body.binary("add", count, ~_HALF), ~0)
        return
    d = body.new(0, (first, second))
    some = body.new_label()
    body.add(name, d, first)
    body.jump("jump_ne", some, first)
    count = body.unary(name, second, d)
    body.copy(d, ~(~count + _HALF)) if count < 0 else body.add("add", d, d, immediate=_HALF)
    body.put_label(some)
    body.push(d, ~0)


# -- shifts of two words --------------------------------------------------------------------------


def _shift(name: str, body: Body) -> None:
    amount, _ = body.pop_wide()
    low, high = body.pop_wide()
    if amount < 0:
        body.push(*_SHIFT_BY_CONSTANT[name](body, low, high, ~amount % 64))
    else:
        body.push(*_shift_by_register(body, name, low, high, amount))


def _shl(body: Body, low: int, high: int, count: int) -> tuple[int, int]:
    if count >= _HALF:
        return ~0, body.binary("shl", low, ~(count - _HALF), None, 1)
    top = funnel(body, "funnel_shl", high, low, ~count, 1, (low,))
    return body.binary("shl", low, ~count, None, 0, (top,)), top


def _shr_u(body: Body, low: int, high: int, count: int) -> tuple[int, int]:
    if count >= _HALF:
        return body.binary("shr_u", high, ~(count - _HALF)), ~0
    bottom = funnel(body, "funnel_shr", high, low, ~count, 0, (high,))
    return bottom, body.binary("shr_u", high, ~count, None, 1, (bottom,))


def _shr_s(body: Body, low: int, high: int, count: int) -> tuple[int, int]:
    if count >= _HALF:
        bottom = body.binary("shr_s", high, ~(count - _HALF), None, 0, (high,))
        if count == 63:
            return bottom, bottom
        return bottom, body.binary("shr_s", high, ~31, None, 1, (bottom,))
    bottom = funnel(body, "funnel_shr", high, low, ~count, 0, (high,))
    return bottom, body.binary("shr_s", high, ~count, None, 1, (bottom,))


def _rotl(body: Body, low: int, high: int, count: int) -> tuple[int, int]:
    if count >= _HALF:
        low, high, count = high, low, count - _HALF
    top = funnel(body, "funnel_shl", high, low, ~count, 1, (low, high))
    return funnel(body, "funnel_shl", low, high, ~count, 0, (top,)), top


def _rotr(body: Body, low: int, high: int, count: int) -> tuple[int, int]:
    return _rotl(body, low, high, -count % 64)


_SHIFT_BY_CONSTANT = {"shl": _shl, "shr_u": _shr_u, "shr_s": _shr_s, "rotl": _rotl, "rotr": _rotr}


def _shift_by_register(body: Body, name: str, low: int, high: int, amount: int) -> tuple[int, int]:
    """Amounts of less than 32 go straight on; the others exchange the words."""
    low, high = body.register(low), body.register(high)
    if name in ("shl", "rotl"):
        top = body.new(1, (low, amount) if name == "shl" else (low, high, amount))
        bottom = body.new(0, (top,))
    else:
        bottom = body.new(0, (low, high, amount) if name == "rotr" else (high, amount))
        top = body.new(1, (bottom,))
    many, done, bit = body.new_label(), body.new_label(), body.temporary()
    body.add("and", bit, amount, immediate=_HALF)
    body.jump("jump_ne", many, bit)
    _shift_few(body, name, (low, high, amount), bottom, top)
    body.put_label(done)
    before = body.aside()
    body.put_label(many)
    _shift_many(body, name, (low, high, amount), bottom, top)
    body.jump("jump", done)
    body.rarely(body.steps)
    body.steps = before
    return bottom, top


def _shift_few(body: Body, name: str, sources: tuple[int, int, int], bottom: int, top: int) -> None:
    low, high, amount = sources
    match name:
        case "shl":
            body.add("funnel_shl", top, high, amount, low)
            body.add("shl", bottom, low, amount)
        case "shr_u" | "shr_s":
            body.add("funnel_shr", bottom, high, amount, low)
            body.add(name, top, high, amount)
        case "rotl":
            body.add("funnel_shl", top, high, amount, low)
            body.add("funnel_shl", bottom, low, amount, high)
        case "rotr":
            body.add("funnel_shr", bottom, high, amount, low)
            body.add("funnel_shr", top, low, amount, high)


def _shift_many(
    body: Body, name: str, sources: tuple[int, int, int], bottom: int, top: int
) -> None:
    low, high, amount = sources
    match name:
        case "shl":
            body.add("shl", top, low, amount)
            body.copy(bottom, ~0)
        case "shr_u":
            body.add("shr_u", bottom, high, amount)
            body.copy(top, ~0)
        case "shr_s":
            body.add("shr_s", bottom, high, amount)
            body.add("shr_s", top, high, immediate=31)
        case _:
            _shift_few(body, name, (high, low, amount), bottom, top)


# -- the table ------------------------------------------------------------------------------------


def _library(name: str) -> Handler:
    signature = OPCODES[name].signature
    assert signature is not None  # numeric instructions have one
    takes = sum(2 if type_[1:] == "64" else 1 for type_ in signature.parameters)
    gives = sum(2 if type_[1:] == "64" else 1 for type_ in signature.results)
    return lambda body: body.call_library(name, takes, gives)


def _divide_wide(name: str, body: Body) -> None:
    """By a constant of one word it is less work, above all if the number is small, too."""
    low, high = body.stack[-2:]
    divisor = ~low if low < 0 and high == ~0 else 0
    if not 0 < divisor < (1 << 32 if name.endswith("_u") else _SIGN):
        body.call_library(f"i64.{name}", 4, 2)
        return
    body.pop_wide()
    body.settle(len(body.stack))
    low, high = (body.register(operand) for operand in body.pop_wide())
    results = body.cell(len(body.stack)), body.cell(len(body.stack) + 1)
    small, done = body.new_label(), body.new_label()
    body.jump("jump_eq", small, high)
    shift = 32 - divisor.bit_length()
    inverse = ((1 << 64) - 1) // (divisor << shift) % (1 << 32)
    body.push(low, high, ~(divisor << shift), ~inverse, ~shift)
    body.call_library(f"i64.{name}#", 5, 2)
    body.jump("jump", done)
    body.put_label(small)
    word, constant = cheaper(f"{name[:3]}_u", divisor)
    body.add(word, results[0], low, immediate=constant)
    body.copy(results[1], ~0)
    body.put_label(done)


def _multiply_doubles(body: Body) -> None:
    """A number by itself is half the work."""
    if body.stack[-2:] == body.stack[-4:-2]:
        body.pop_wide()
        body.call_library("f64.square", 2, 2)
    else:
        body.call_library("f64.mul", 4, 2)


_WORD = (
    *("add", "sub", "mul", "div_s", "div_u", "rem_s", "rem_u"),
    *("and", "or", "xor", "shl", "shr_s", "shr_u", "rotl", "rotr"),
)
_IN_PLACE: dict[str, Handler] = {
    **{f"i32.{name}": partial(_binary, name) for name in _WORD},
    **{f"i32.{name}": partial(_unary, name) for name in ("clz", "ctz", "popcnt")},
    "i32.extend8_s": partial(_unary, "extend8"),
    "i32.extend16_s": partial(_unary, "extend16"),
    **{f"i32.{name}": partial(_compare, name) for name in COMPARISONS},
    "i32.eqz": _eqz,
    **{f"i64.{name}": partial(_wide_compare, name) for name in COMPARISONS},
    "i64.eqz": _wide_eqz,
    **{f"i64.{name}": partial(_wide_bitwise, name) for name in ("and", "or", "xor")},
    "i64.add": _wide_add,
    "i64.sub": _wide_sub,
    "i64.mul": _wide_mul,
    **{f"i64.{name}": partial(_divide_wide, name) for name in ("div_s", "div_u", "rem_s", "rem_u")},
    **{f"i64.{name}": partial(_shift, name) for name in _SHIFT_BY_CONSTANT},
    "i64.popcnt": _popcnt,
    "i64.clz": partial(_count_zeros, "clz"),
    "i64.ctz": partial(_count_zeros, "ctz"),
    "i64.extend_i32_u": _extend_unsigned,
    "i64.extend_i32_s": _extend_signed,
    "i64.extend8_s": partial(_extend_within, "extend8"),
    "i64.extend16_s": partial(_extend_within, "extend16"),
    "i64.extend32_s": partial(_extend_within, ""),
    "i32.wrap_i64": _wrap,
    **{
        f"{target}.reinterpret_{source}": _nothing
        for target, source in (("i32", "f32"), ("i64", "f64"), ("f32", "i32"), ("f64", "i64"))
    },
    "f64.mul": _multiply_doubles,
    "f32.neg": partial(_sign_bit, "xor", _SIGN, 1),
    "f64.neg": partial(_sign_bit, "xor", _SIGN, 2),
    "f32.abs": partial(_sign_bit, "and", _MAGNITUDE, 1),
    "f64.abs": partial(_sign_bit, "and", _MAGNITUDE, 2),
    "f32.copysign": partial(_copysign, 1),
    "f64.copysign": partial(_copysign, 2),
}
NUMERIC: dict[str, Handler] = {
    name: _IN_PLACE.get(name) or _library(name)
    for name, row in OPCODES.items()
    if 0x45 <= row.code < 0xFC08
}
"""What every numeric instruction does."""
