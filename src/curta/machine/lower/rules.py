"""Rules: what core operations are equal to, whatever their sources are.

Each row says: an operation of such sources is this instead, which needs fewer instructions, or
fewer tokens, or is the form that other rows expect. Patterns and results are terms:

    "X" "Y" "Z"    any value, the same one wherever the name stands
    "K" "L"        a constant
    a number       this constant
    a tuple        an operation and its sources

What is within a result is computed, of constants. A row holds `when` a term of its constants is not
0. The first row that fits is used, again and again until none does. Rows are equations of words by
`MEANINGS`, so that every one of them can be proved for itself.

`wide_lt_u` and its like compare numbers of 64 bits, two words each, the low one first. They are no
operations of the machine: what is left of them becomes comparisons of words (conditions.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from curta.machine.instructions import COMPARISONS, CORE, VALUES, WORD
from curta.machine.lower.code import Value

Term = str | int | tuple["Term", ...]
WIDE = "wide_"


class Operation(NamedTuple):
    """An operation of values that is not computed yet."""

    name: str
    sources: tuple[Value, ...]


class Rule(NamedTuple):
    operation: str
    sources: tuple[Term, ...]
    result: Term
    when: Term = 1


def of_low_words(name: str) -> str:
    """The comparison that decides where the high words are equal."""
    return f"{name[:2]}_u" if "_" in name else name


def _wide_meaning(name: str) -> Callable[..., int]:
    """Compare words with a constant added in the sign, which makes the order that of integers."""
    compare = VALUES[of_low_words(name)]
    flip = 1 << 63 if name.endswith("_s") else 0
    return lambda al, ah, bl, bh: compare((al | ah << 32) ^ flip, (bl | bh << 32) ^ flip, 0)


MEANINGS: dict[str, Callable[..., int]] = {
    **VALUES,
    **{WIDE + name: _wide_meaning(name) for name in COMPARISONS},
}
"""The words that operations give. Sources that are left out are 0."""

SWAPPED = {name: one.swapped for name, one in CORE.items() if one.swapped is not None}
INVERTED = {
    prefix + name: f"{prefix}{CORE[name].inverse}" for prefix in ("", WIDE) for name in COMPARISONS
}
"""The comparison that holds when this one does not."""
_ONES = WORD - 1
_POWER: Term = ("eq", ("popcnt", "K"), 1)
_AMOUNT: Term = ("and", "K", 31)
_REST: Term = ("sub", 32, _AMOUNT)
_NOTHING: Term = ("eq", _AMOUNT, 0)


def _laws() -> Iterator[Rule]:
    """A constant is the second source; a comparison of a comparison is one of its sources; one word
    is compared instead of two where the others cannot matter.
    """
    for name, other in SWAPPED.items():
        yield Rule(name, ("K", "X"), (other, "X", "K"))
    for name in COMPARISONS:
        wide = WIDE + name
        yield Rule("eq", ((name, "X", "Y"), 0), (INVERTED[name], "X", "Y"))
        yield Rule("ne", ((name, "X", "Y"), 0), (name, "X", "Y"))
        yield Rule("eq", ((wide, *"XYZV"), 0), (INVERTED[wide], *"XYZV"))
        yield Rule("ne", ((wide, *"XYZV"), 0), (wide, *"XYZV"))
        yield Rule(wide, ("K", "L", "X", "Y"), (WIDE + SWAPPED[name], "X", "Y", "K", "L"))
        yield Rule(wide, ("X", "Z", "Y", "Z"), (of_low_words(name), "X", "Y"))
    for name in ("eq", "ne"):
        yield Rule(WIDE + name, ("X", "Y", "X", "Z"), (name, "Y", "Z"))
    for name in ("lt_s", "ge_s"):
        yield Rule(WIDE + name, ("X", "Y", 0, 0), (name, "Y", 0))
    for name in ("gt_s", "le_s"):
        yield Rule(WIDE + name, ("X", "Y", _ONES, _ONES), (name, "Y", _ONES))


_TABLE = (
    # Results that are known.
    Rule("add sub or xor", ("X", 0), "X"),
    Rule("shl shr_u shr_s rotl rotr", ("X", "K"), "X", when=_NOTHING),
    Rule("mul div_u div_s", ("X", 1), "X"),
    Rule("and", ("X", _ONES), "X"),
    Rule("mul and mul_high carry lt_u", ("X", 0), 0),
    Rule("or", ("X", _ONES), _ONES),
    Rule("mul_high rem_u", ("X", 1), 0),
    Rule("ge_u", ("X", 0), 1),
    Rule("gt_u", ("X", _ONES), 0),
    Rule("le_u", ("X", _ONES), 1),
    Rule("sub xor", ("X", "X"), 0),
    Rule("and or", ("X", "X"), "X"),
    Rule("eq le_u le_s ge_u ge_s", ("X", "X"), 1),
    Rule("ne lt_u lt_s gt_u gt_s", ("X", "X"), 0),
    # Divisions say the digits of quotients.
    Rule("div_u", ("X", "K"), ("shr_u", "X", ("ctz", "K")), when=_POWER),
    Rule("rem_u", ("X", "K"), ("and", "X", ("sub", "K", 1)), when=_POWER),
    # Of three numbers that are added or subtracted the second may be a constant.
    Rule("add3", ("X", "K", "L"), ("add", "X", ("add", "K", "L"))),
    Rule("add3", ("K", "X", "L"), ("add", "X", ("add", "K", "L"))),
    Rule("add3", ("K", "L", "X"), ("add", "X", ("add", "K", "L"))),
    Rule("add3", ("X", 0, "Y"), ("add", "X", "Y")),
    Rule("add3", (0, "X", "Y"), ("add", "X", "Y")),
    Rule("add3", ("X", "Y", 0), ("add", "X", "Y")),
    Rule("add3", ("K", "X", "Y"), ("add3", "X", "K", "Y")),
    Rule("add3", ("X", "Y", "K"), ("add3", "X", "K", "Y")),
    Rule("sub3", ("X", "K", "L"), ("sub", "X", ("add", "K", "L"))),
    Rule("sub3", ("X", 0, "Y"), ("sub", "X", "Y")),
    Rule("sub3", ("X", "Y", 0), ("sub", "X", "Y")),
    Rule("sub3", ("X", "Y", "K"), ("sub3", "X", "K", "Y")),
    # The sources of a funnel are the high word, the amount and the low word.
    Rule("funnel_shl", ("X", "K", "Y"), "X", when=_NOTHING),
    Rule("funnel_shl", (0, "K", "Y"), ("shr_u", "Y", _REST), when=_AMOUNT),
    Rule("funnel_shl", ("X", "K", 0), ("shl", "X", "K")),
    Rule("funnel_shr", ("X", "K", "Y"), "Y", when=_NOTHING),
    Rule("funnel_shr", (0, "K", "Y"), ("shr_u", "Y", "K")),
    Rule("funnel_shr", ("X", "K", 0), ("shl", "X", _REST), when=_AMOUNT),
    # `select` is its first source where the third is not 0.
    Rule("select", ("X", "X", "Y"), "X"),
    Rule("select", ("X", "Y", 0), "Y"),
    Rule("select", ("X", "Y", "K"), "X", when="K"),
)
"""A row may be one of several operations."""
RULES = tuple(
    rule._replace(operation=name) for rule in (*_laws(), *_TABLE) for name in rule.operation.split()
)


@cache
def _possible(operation: str, kinds: tuple[str, ...]) -> tuple[Rule, ...]:
    """The rules that may fit sources of these kinds: CONSTANT, pending operations, or others."""
    return tuple(
        rule
        for rule in RULES
        if rule.operation == operation
        and all(
            _kind_wanted(term) in ("", kind) for term, kind in zip(rule.sources, kinds, strict=True)
        )
    )


def _kind_wanted(term: Term) -> str:
    if isinstance(term, tuple):
        return str(term[0])
    return CONSTANT if isinstance(term, int) or term in CONSTANTS else ""


CONSTANT = "constant"
CONSTANTS = ("K", "L")
Binding = dict[str, Value]


class Facts(NamedTuple):
    """What rules look at: the words of values that are constant, and what some values are, which
    have not been computed.
    """

    constants: Mapping[Value, int]
    pending: Mapping[Value, Operation]


def reduce(
    operation: Operation, facts: Facts, constant: Callable[[int], Value]
) -> Operation | Value:
    """The same by the rules: a value that is there already, or an operation that no rule fits.

    An operation of constants is the word that it means.
    """
    name, sources = operation
    constants, pending = facts
    kinds = tuple(
        [
            CONSTANT if source in constants else pending[source].name if source in pending else ""
            for source in sources
        ]
    )
    if kinds.count(CONSTANT) == len(kinds) and name in MEANINGS:
        return constant(meaning(name, [constants[source] for source in sources]))
    for rule in _possible(name, kinds):
        known: Binding = {}
        if _fit(rule.sources, sources, facts, known) and evaluate(rule.when, known, constants):
            match rule.result:
                case str():
                    return known[rule.result]
                case int():
                    return constant(rule.result)
            wanted, *terms = rule.result
            found = (
                known[term] if isinstance(term, str) else constant(evaluate(term, known, constants))
                for term in terms
            )
            return reduce(Operation(str(wanted), tuple(found)), facts, constant)
    return operation


def meaning(name: str, words: Sequence[int]) -> int:
    """The word that an operation of words is."""
    return MEANINGS[name](*words, *[0] * (3 - len(words)))


def _fit(
    patterns: tuple[Term, ...], sources: tuple[Value, ...], facts: Facts, known: Binding
) -> bool:
    """Whether values of the kinds that patterns want are what these say; names get their values."""
    for pattern, source in zip(patterns, sources, strict=True):
        if isinstance(pattern, tuple):
            if not _fit(pattern[1:], facts.pending[source].sources, facts, known):
                return False
        elif isinstance(pattern, int):
            if facts.constants[source] != pattern:
                return False
        elif known.setdefault(pattern, source) != source:
            return False
    return True


def evaluate(term: Term, known: Binding, constants: Mapping[Value, int]) -> int:
    """The word that a term of constants is."""
    if isinstance(term, int):
        return term
    if isinstance(term, str):
        return constants[known[term]]
    name, *sources = term
    return meaning(str(name), [evaluate(source, known, constants) for source in sources])
