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

from curta.machine.instructions import COMPARISONS, WORD
from curta.machine.lower.code import Value
from curta.machine.reference import VALUES, compared

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


def _wide_meaning(name: str) -> Callable[..., int]:
    """Compare words with a constant added in the sign, which makes the order that of integers."""
    compare = compared(f"{name[:2]}_u" if "_" in name else name)
    flip = 1 << 63 if name.endswith("_s") else 0
    return lambda al, ah, bl, bh: compare((al | ah << 32) ^ flip, (bl | bh << 32) ^ flip, 0)


MEANINGS: dict[str, Callable[..., int]] = {
    **VALUES,
    **{WIDE + name: _wide_meaning(name) for name in COMPARISONS},
}
"""The words that operations give. Sources that are left out are 0."""

SWAPPED = {
    **{name: name for name in ("add", "mul", "mul_high", "and", "or", "xor", "carry", "eq", "ne")},
    **{f"l{kind}": f"g{kind}" for kind in ("t_u", "t_s", "e_u", "e_s")},
    **{f"g{kind}": f"l{kind}" for kind in ("t_u", "t_s", "e_u", "e_s")},
}
"""What gives the same with its two sources exchanged."""
_OPPOSITES = {"eq": "ne", "lt_u": "ge_u", "lt_s": "ge_s", "gt_u": "le_u", "gt_s": "le_s"}
_INVERTED = _OPPOSITES | {opposite: name for name, opposite in _OPPOSITES.items()}
INVERTED = {
    prefix + name: prefix + other for prefix in ("", WIDE) for name, other in _INVERTED.items()
}
"""The comparison that holds when this one does not."""
_SHIFTS = ("shl", "shr_u", "shr_s", "rotl", "rotr")
_ONES = WORD - 1


def _rules() -> Iterator[Rule]:
    yield from _laws()
    yield from _results_that_are_known()
    yield from _cheaper()
    yield from _sums_of_three()
    yield from _funnels()
    yield from _choices()
    yield from _wide_comparisons()


def _laws() -> Iterator[Rule]:
    """A constant is the second source; a comparison of a comparison is one of its sources."""
    for name, other in SWAPPED.items():
        yield Rule(name, ("K", "X"), (other, "X", "K"))
    for name in COMPARISONS:
        yield Rule("eq", ((name, "X", "Y"), 0), (INVERTED[name], "X", "Y"))
        yield Rule("ne", ((name, "X", "Y"), 0), (name, "X", "Y"))
        yield Rule("eq", ((WIDE + name, *"XYZV"), 0), (INVERTED[WIDE + name], *"XYZV"))
        yield Rule("ne", ((WIDE + name, *"XYZV"), 0), (WIDE + name, *"XYZV"))


def _results_that_are_known() -> Iterator[Rule]:
    for name in ("add", "sub", "or", "xor"):
        yield Rule(name, ("X", 0), "X")
    for name in _SHIFTS:
        yield Rule(name, ("X", "K"), "X", when=("eq", ("and", "K", 31), 0))
    for name in ("mul", "div_u", "div_s"):
        yield Rule(name, ("X", 1), "X")
    yield Rule("and", ("X", _ONES), "X")
    for name in ("mul", "and", "mul_high", "carry", "lt_u"):
        yield Rule(name, ("X", 0), 0)
    yield Rule("or", ("X", _ONES), _ONES)
    yield Rule("mul_high", ("X", 1), 0)
    yield Rule("rem_u", ("X", 1), 0)
    yield Rule("ge_u", ("X", 0), 1)
    yield Rule("gt_u", ("X", _ONES), 0)
    yield Rule("le_u", ("X", _ONES), 1)
    for name in ("sub", "xor"):
        yield Rule(name, ("X", "X"), 0)
    for name in ("and", "or"):
        yield Rule(name, ("X", "X"), "X")
    for name in COMPARISONS:
        yield Rule(name, ("X", "X"), MEANINGS[name](0, 0, 0))


def _cheaper() -> Iterator[Rule]:
    """Divisions say the digits of quotients."""
    power = ("eq", ("popcnt", "K"), 1)
    yield Rule("div_u", ("X", "K"), ("shr_u", "X", ("ctz", "K")), when=power)
    yield Rule("rem_u", ("X", "K"), ("and", "X", ("sub", "K", 1)), when=power)


def _sums_of_three() -> Iterator[Rule]:
    """Of three numbers that are added or subtracted the second may be a constant."""
    for sources in (("X", "K", "L"), ("K", "X", "L"), ("K", "L", "X")):
        yield Rule("add3", sources, ("add", "X", ("add", "K", "L")))
    yield Rule("add3", ("X", 0, "Y"), ("add", "X", "Y"))
    yield Rule("add3", (0, "X", "Y"), ("add", "X", "Y"))
    yield Rule("add3", ("X", "Y", 0), ("add", "X", "Y"))
    yield Rule("add3", ("K", "X", "Y"), ("add3", "X", "K", "Y"))
    yield Rule("add3", ("X", "Y", "K"), ("add3", "X", "K", "Y"))
    yield Rule("sub3", ("X", "K", "L"), ("sub", "X", ("add", "K", "L")))
    yield Rule("sub3", ("X", 0, "Y"), ("sub", "X", "Y"))
    yield Rule("sub3", ("X", "Y", 0), ("sub", "X", "Y"))
    yield Rule("sub3", ("X", "Y", "K"), ("sub3", "X", "K", "Y"))


def _funnels() -> Iterator[Rule]:
    """The sources are the high word, the amount and the low word."""
    amount = ("and", "K", 31)
    nothing = ("eq", amount, 0)
    rest = ("sub", 32, amount)
    yield Rule("funnel_shl", ("X", "K", "Y"), "X", when=nothing)
    yield Rule("funnel_shl", (0, "K", "Y"), ("shr_u", "Y", rest), when=amount)
    yield Rule("funnel_shl", ("X", "K", 0), ("shl", "X", "K"))
    yield Rule("funnel_shr", ("X", "K", "Y"), "Y", when=nothing)
    yield Rule("funnel_shr", (0, "K", "Y"), ("shr_u", "Y", "K"))
    yield Rule("funnel_shr", ("X", "K", 0), ("shl", "X", rest), when=amount)


def _choices() -> Iterator[Rule]:
    """`select` is its first source where the third is not 0."""
    yield Rule("select", ("X", "X", "Y"), "X")
    yield Rule("select", ("X", "Y", 0), "Y")
    yield Rule("select", ("X", "Y", "K"), "X", when="K")


def _wide_comparisons() -> Iterator[Rule]:
    """One word is compared instead of two where the others cannot matter."""
    for name in COMPARISONS:
        wide = WIDE + name
        swapped = WIDE + SWAPPED[name]
        yield Rule(wide, ("K", "L", "X", "Y"), (swapped, "X", "Y", "K", "L"))
        low = f"{name[:2]}_u" if "_" in name else name
        yield Rule(wide, ("X", "Z", "Y", "Z"), (low, "X", "Y"))
    for name in ("eq", "ne"):
        yield Rule(WIDE + name, ("X", "Y", "X", "Z"), (name, "Y", "Z"))
    for name in ("lt_s", "ge_s"):
        yield Rule(WIDE + name, ("X", "Y", 0, 0), (name, "Y", 0))
    for name in ("gt_s", "le_s"):
        yield Rule(WIDE + name, ("X", "Y", _ONES, _ONES), (name, "Y", _ONES))


RULES = tuple(_rules())


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
    """The same by the rules: a value that is there already, or an operation that no rule fits."""
    while (found := rewrite(operation, facts)) is not None:
        result, binding = found
        if isinstance(result, str):
            return binding[result]
        if isinstance(result, int):
            return constant(result)
        sources = (
            binding[term] if isinstance(term, str) else constant(evaluate(term, binding, facts))
            for term in result[1:]
        )
        operation = Operation(str(result[0]), tuple(sources))
    return operation


def rewrite(operation: Operation, facts: Facts) -> tuple[Term, Binding] | None:
    """What an operation is by the first rule that fits, and what names in that stand for.

    An operation of constants is the word that it means.
    """
    constants, pending = facts
    kinds = tuple(
        CONSTANT if source in constants else pending[source].name if source in pending else ""
        for source in operation.sources
    )
    if kinds.count(CONSTANT) == len(kinds) and operation.name in MEANINGS:
        words = [constants[source] for source in operation.sources]
        return meaning(operation.name, words), {}
    for rule in _possible(operation.name, kinds):
        binding: Binding = {}
        if _fit(rule.sources, operation.sources, facts, binding) and (
            rule.when == 1 or evaluate(rule.when, binding, facts)
        ):
            return rule.result, binding
    return None


def meaning(name: str, words: Sequence[int]) -> int:
    """The word that an operation of words is."""
    return MEANINGS[name](*words, *[0] * (3 - len(words)))


def _fit(
    patterns: tuple[Term, ...], sources: tuple[Value, ...], facts: Facts, binding: Binding
) -> bool:
    """Whether values are what patterns say; names get their values."""
    for pattern, source in zip(patterns, sources, strict=True):
        if isinstance(pattern, str):
            if pattern in binding:
                if binding[pattern] != source:
                    return False
            elif pattern in CONSTANTS and source not in facts.constants:
                return False
            else:
                binding[pattern] = source
        elif isinstance(pattern, int):
            if facts.constants.get(source) != pattern:
                return False
        else:
            within = facts.pending.get(source)
            if within is None or within.name != pattern[0]:
                return False
            if not _fit(pattern[1:], within.sources, facts, binding):
                return False
    return True


def evaluate(term: Term, binding: Binding, facts: Facts) -> int:
    """The word that a term of constants is."""
    if isinstance(term, int):
        return term
    if isinstance(term, str):
        return facts.constants[binding[term]]
    name, *sources = term
    return meaning(str(name), [evaluate(source, binding, facts) for source in sources])
