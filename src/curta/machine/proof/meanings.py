"""What numeric instructions of WebAssembly compute, in words of 32 bits.

A number of 64 bits is two words, the low one first; a float is its bits. Each row says how the
result follows from the operands' words, by operations of the machine (`value`), choices (`choose`)
and calls of the library (`library`). That a row is right for all words is a theorem about bit
vectors, proved in tests/machine/theorems: here it is a *lemma* that proofs of programs rest on.
What the library's functions compute is not said here; docs/proofs.md says what is known of each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol

from curta.machine.float_words import BIAS
from curta.machine.instructions import COMPARISONS, DIVISIONS, VALUES
from curta.machine.proof.terms import ZERO, Term, constant, word_of
from curta.machine.values import word_count
from curta.machine.wasm.opcodes import NUMERIC, OPCODES, Opcode

Words = tuple[Term, ...]
_SIGN = 1 << 31
_LAST_BIT = constant(31)
_MILLIONS = 0x4330_0000
"""The high word of the doubles from 2^52 on, whose last place is 1."""


class Algebra(Protocol):
    """What meanings are written in. `decide` says on which side of a case a way is."""

    def value(
        self, operation: str, a: Term, b: Term = ..., c: Term = ..., *fourth: Term
    ) -> Term: ...
    def choose(self, truth: Term, a: Term, b: Term) -> Term: ...
    def is_true(self, term: Term) -> Term: ...
    def decide(self, truth: Term) -> bool: ...
    def divide(self, operation: str, a: Term, b: Term) -> Term: ...
    def is_called(self) -> bool: ...
    def library(self, name: str, arguments: Words, results: int) -> Words: ...


Meaning = Callable[..., Words]


# -- one word -------------------------------------------------------------------------------------


def _word(name: str, w: Algebra, a: Words, b: Words = (ZERO,)) -> Words:
    return (w.value(name, a[0], b[0]),)


def _divide_word(name: str, w: Algebra, a: Words, b: Words) -> Words:
    return (w.divide(name, a[0], b[0]),)


def _is_zero(w: Algebra, a: Words) -> Words:
    return (w.value("eq", a[0], ZERO),)


def _same(w: Algebra, a: Words) -> Words:
    return a


# -- two words ------------------------------------------------------------------------------------


def _bitwise(name: str, w: Algebra, a: Words, b: Words) -> Words:
    return w.value(name, a[0], b[0]), w.value(name, a[1], b[1])


def _add(w: Algebra, a: Words, b: Words) -> Words:
    return w.value("add", a[0], b[0]), w.value("add3", a[1], b[1], w.value("carry", a[0], b[0]))


def _subtract(w: Algebra, a: Words, b: Words) -> Words:
    return w.value("sub", a[0], b[0]), w.value("sub3", a[1], b[1], w.value("lt_u", a[0], b[0]))


def _multiply(w: Algebra, a: Words, b: Words) -> Words:
    cross = w.value("mul", a[0], b[1])
    other = w.value("mul", a[1], b[0])
    top = w.value("mul_high", a[0], b[0])
    return w.value("mul", a[0], b[0]), w.value("add3", top, cross, other)


def _compare(name: str, w: Algebra, a: Words, b: Words) -> Words:
    """The high words decide, unless they are equal; against 0 and -1 the sign does."""
    if name in ("eq", "ne"):
        equal = w.choose(w.value("eq", a[1], b[1]), w.value("eq", a[0], b[0]), ZERO)
        return (equal if name == "eq" else w.value("eq", equal, ZERO),)
    if (name, b) in _BY_SIGN:
        return (w.value(name, a[1], b[1]),)
    if (_MIRRORED[name], a) in _BY_SIGN:
        return (w.value(name, a[1], b[1]),)
    low = w.value(f"{name[:-1]}u", a[0], b[0])
    return (w.choose(w.value("eq", a[1], b[1]), low, w.value(name, a[1], b[1])),)


_MIRRORED = {
    f"{first}{rest}": f"{second}{rest}"
    for first, second in ("lg", "gl")
    for rest in ("t_u", "t_s", "e_u", "e_s")
}
_BY_SIGN = {
    *((name, (ZERO, ZERO)) for name in ("lt_s", "ge_s")),
    *((name, (constant(-1), constant(-1))) for name in ("gt_s", "le_s")),
}


def _is_zero_wide(w: Algebra, a: Words) -> Words:
    return _compare("eq", w, a, (ZERO, ZERO))


def _extend_unsigned(w: Algebra, a: Words) -> Words:
    return a[0], ZERO


def _extend_signed(w: Algebra, a: Words) -> Words:
    return a[0], w.value("shr_s", a[0], _LAST_BIT)


def _extend_within(name: str, w: Algebra, a: Words) -> Words:
    return _extend_signed(w, (w.value(name, a[0]) if name else a[0],))


def _wrap(w: Algebra, a: Words) -> Words:
    return a[:1]


def _count_ones(w: Algebra, a: Words) -> Words:
    return w.value("add", w.value("popcnt", a[0]), w.value("popcnt", a[1])), ZERO


def _count_zeros(name: str, w: Algebra, a: Words) -> Words:
    first, second = (a[1], a[0]) if name == "clz" else a
    rest = w.value("add", w.value(name, second), constant(32))
    return w.choose(w.is_true(first), w.value(name, first), rest), ZERO


def _shift(name: str, w: Algebra, a: Words, b: Words) -> Words:
    """By less than 32, or by so many more with the words moved on or exchanged."""
    (low, high), by = a, b[0]
    many = w.is_true(w.value("and", by, constant(32)))
    few, more = _SHIFTS[name](w, low, high, by)
    return w.choose(many, more[0], few[0]), w.choose(many, more[1], few[1])


def _left(w: Algebra, low: Term, high: Term, by: Term) -> tuple[Words, Words]:
    moved = w.value("shl", low, by)
    return (moved, w.value("funnel_shl", high, by, low)), (ZERO, moved)


def _right(name: str, w: Algebra, low: Term, high: Term, by: Term) -> tuple[Words, Words]:
    moved = w.value(name, high, by)
    fill = ZERO if name == "shr_u" else w.value("shr_s", high, _LAST_BIT)
    return (w.value("funnel_shr", high, by, low), moved), (moved, fill)


def _rotate(funnel: str, w: Algebra, low: Term, high: Term, by: Term) -> tuple[Words, Words]:
    one, other = w.value(funnel, high, by, low), w.value(funnel, low, by, high)
    if funnel == "funnel_shl":
        one, other = other, one
    return (one, other), (other, one)


_SHIFTS: dict[str, Callable[[Algebra, Term, Term, Term], tuple[Words, Words]]] = {
    "shl": _left,
    "shr_u": partial(_right, "shr_u"),
    "shr_s": partial(_right, "shr_s"),
    "rotl": partial(_rotate, "funnel_shl"),
    "rotr": partial(_rotate, "funnel_shr"),
}


def _divide(name: str, w: Algebra, a: Words, b: Words) -> Words:
    """By a constant of one word, small numbers are divided as words, if the program does so."""
    divisor = word_of(b[0])
    limit = 1 << 32 if name.endswith("_u") else _SIGN
    is_word = divisor is not None and b[1] == ZERO and 0 < divisor < limit
    if is_word and not w.is_called() and w.decide(w.value("eq", a[1], ZERO)):
        return w.divide(f"{name[:3]}_u", a[0], b[0]), ZERO
    return w.library(f"i64.{name}", (*a, *b), 2)


# -- floats ---------------------------------------------------------------------------------------


def _negate(w: Algebra, a: Words) -> Words:
    return *a[:-1], w.value("xor", a[-1], constant(_SIGN))


def _magnitude(w: Algebra, a: Words) -> Words:
    return *a[:-1], w.value("and", a[-1], constant(_SIGN - 1))


def _copy_sign(w: Algebra, a: Words, b: Words) -> Words:
    sign = w.value("and", b[-1], constant(_SIGN))
    return *a[:-1], w.value("or", w.value("and", a[-1], constant(_SIGN - 1)), sign)


def _of_floats(name: str, w: Algebra, a: Words, b: Words) -> Words:
    """An operation of the machine, or two of them that give a word each; the high one first."""
    words = (a[1], b[1], a[0], b[0]) if len(a) == 2 else (a[0], b[0])
    halves = (f"{name}_low", f"{name}_high") if f"{name}_low" in VALUES else (name,)
    return tuple(w.value(half, *words) for half in halves)


def _exchanged(name: str, w: Algebra, a: Words, b: Words) -> Words:
    return _of_floats(name, w, b, a)


def _differs(name: str, w: Algebra, a: Words, b: Words) -> Words:
    return (w.value("eq", *_of_floats(name, w, a, b), ZERO),)


def _root(name: str, w: Algebra, a: Words) -> Words:
    return _of_floats(name, w, a, a)


def _demote(w: Algebra, a: Words) -> Words:
    return (w.value("f32_demote", a[1], a[1], a[0], a[0]),)


def _promote(w: Algebra, a: Words) -> Words:
    return w.value("f64_promote_low", a[0], a[0]), w.value("f64_promote_high", a[0], a[0])


def _packed(kind: str, w: Algebra, number: Words, sign: Term = ZERO) -> Words:
    """The float nearest to a natural number of one or two words."""
    high = number[1] if len(number) == 2 else ZERO
    given = (high, constant(BIAS), number[0], sign)
    halves = ("f64_pack_low", "f64_pack_high") if kind == "f64" else ("f32_pack",)
    return tuple(w.value(half, *given) for half in halves)


def _packed_signed(kind: str, w: Algebra, number: Words) -> Words:
    """Of a negative number what is packed is the magnitude: the bits inverted, and 1 more."""
    sign = number[-1]
    ones = w.value("shr_s", sign, _LAST_BIT)
    magnitude = tuple(w.value("xor", word, ones) for word in number)
    magnitude = (
        _subtract(w, magnitude, (ones, ones))
        if len(number) == 2
        else (w.value("sub", magnitude[0], ones),)
    )
    return _packed(kind, w, magnitude, sign)


def _double_of_signed(w: Algebra, a: Words) -> Words:
    """2^52 + 2^31 + a is a double whose low word is a with its sign bit changed."""
    number = (w.value("xor", a[0], constant(_SIGN)), constant(_MILLIONS))
    return _of_floats("f64_sub", w, number, (constant(_SIGN), constant(_MILLIONS)))


def _library(row: Opcode, w: Algebra, *operands: Words) -> Words:
    words = tuple(word for operand in operands for word in operand)
    return w.library(row.name, words, word_count(row.results))


# -- the table ------------------------------------------------------------------------------------

_IN_WORDS: dict[str, Meaning] = {
    **{f"i32.{name}": partial(_word, name) for name in VALUES if f"i32.{name}" in NUMERIC},
    **{f"i32.{name}": partial(_divide_word, name) for name in DIVISIONS},
    "i32.extend8_s": partial(_word, "extend8"),
    "i32.extend16_s": partial(_word, "extend16"),
    "i32.eqz": _is_zero,
    **{f"i64.{name}": partial(_compare, name) for name in COMPARISONS},
    "i64.eqz": _is_zero_wide,
    **{f"i64.{name}": partial(_bitwise, name) for name in ("and", "or", "xor")},
    "i64.add": _add,
    "i64.sub": _subtract,
    "i64.mul": _multiply,
    **{f"i64.{name}": partial(_divide, name) for name in DIVISIONS},
    **{f"i64.{name}": partial(_shift, name) for name in _SHIFTS},
    "i64.popcnt": _count_ones,
    "i64.clz": partial(_count_zeros, "clz"),
    "i64.ctz": partial(_count_zeros, "ctz"),
    "i64.extend_i32_u": _extend_unsigned,
    "i64.extend_i32_s": _extend_signed,
    "i64.extend8_s": partial(_extend_within, "extend8"),
    "i64.extend16_s": partial(_extend_within, "extend16"),
    "i64.extend32_s": partial(_extend_within, ""),
    "i32.wrap_i64": _wrap,
    **{name: _same for name in NUMERIC if ".reinterpret_" in name},
    **{
        f"{kind}.{name}": partial(_of_floats, f"{kind}_{name}")
        for kind in ("f32", "f64")
        for name in ("add", "sub", "mul", "div", "lt", "le", "eq")
    },
    **{f"{kind}.sqrt": partial(_root, f"{kind}_sqrt") for kind in ("f32", "f64")},
    **{
        f"{kind}.{name}": partial(_exchanged, f"{kind}_{other}")
        for kind in ("f32", "f64")
        for name, other in (("gt", "lt"), ("ge", "le"))
    },
    **{f"{kind}.ne": partial(_differs, f"{kind}_eq") for kind in ("f32", "f64")},
    "f32.demote_f64": _demote,
    "f64.promote_f32": _promote,
    **{
        f"{kind}.convert_{of}_{sign}": partial(function, kind)
        for kind in ("f32", "f64")
        for of in ("i32", "i64")
        for sign, function in (("u", _packed), ("s", _packed_signed))
    },
    "f64.convert_i32_s": _double_of_signed,
    **{f"{kind}.neg": _negate for kind in ("f32", "f64")},
    **{f"{kind}.abs": _magnitude for kind in ("f32", "f64")},
    **{f"{kind}.copysign": _copy_sign for kind in ("f32", "f64")},
}
MEANINGS: dict[str, Meaning] = {
    name: _IN_WORDS.get(name) or partial(_library, OPCODES[name]) for name in NUMERIC
}
"""By instruction: a function of the algebra and the operands."""
PARAMETERS = {name: len(OPCODES[name].parameters) for name in NUMERIC}
