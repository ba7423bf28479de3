"""What is known about core operations before they run: laws, and results for constants."""

from __future__ import annotations

from curta.machine.instructions import WORD
from curta.machine.reference import VALUES

SWAPPED = {
    **{name: name for name in ("add", "mul", "mul_high", "and", "or", "xor", "carry", "eq", "ne")},
    **{f"l{kind}": f"g{kind}" for kind in ("t_u", "t_s", "e_u", "e_s")},
    **{f"g{kind}": f"l{kind}" for kind in ("t_u", "t_s", "e_u", "e_s")},
}
"""What gives the same with its sources exchanged."""

INVERTED = {
    "eq": "ne",
    "ne": "eq",
    **{f"lt_{sign}": f"ge_{sign}" for sign in "us"},
    **{f"ge_{sign}": f"lt_{sign}" for sign in "us"},
    **{f"gt_{sign}": f"le_{sign}" for sign in "us"},
    **{f"le_{sign}": f"gt_{sign}" for sign in "us"},
}
"""The comparison that holds when this one does not."""

_ONES = WORD - 1
_SAME = {
    **dict.fromkeys(("add", "sub", "or", "xor"), 0),
    **dict.fromkeys(("shl", "shr_u", "shr_s", "rotl", "rotr"), 0),
    **dict.fromkeys(("mul", "div_u", "div_s"), 1),
    "and": _ONES,
}
"""x, for this second source."""
_FIXED = {
    ("mul", 0): 0,
    ("and", 0): 0,
    ("or", _ONES): _ONES,
    ("mul_high", 0): 0,
    ("mul_high", 1): 0,
    ("carry", 0): 0,
    ("lt_u", 0): 0,
    ("ge_u", 0): 1,
    ("gt_u", _ONES): 0,
    ("le_u", _ONES): 1,
    ("rem_u", 1): 0,
}
"""The same word whatever the first source is."""


def fold(name: str, a: int, b: int, c: int = 0) -> int:
    """The word that a value of constants is."""
    return VALUES[name](a, b, c)


def folds(name: str) -> bool:
    return name in VALUES


def simplify(name: str, a: int, k: int) -> int | None:
    """The operand that `name` of register a and constant k is, if it needs no instruction."""
    fixed = _FIXED.get((name, k))
    if fixed is not None:
        return ~fixed
    return a if _SAME.get(name) == k else None


def cheaper(name: str, k: int) -> tuple[str, int]:
    """The same value of a register and constant k, by an operation that says fewer tokens."""
    if k > 1 and not k & (k - 1):
        if name == "div_u":
            return "shr_u", k.bit_length() - 1
        if name == "rem_u":
            return "and", k - 1
    return name, k
