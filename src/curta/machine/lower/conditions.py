"""Comparisons: as values, and as jumps.

A comparison right before a br_if, an if or an i32.eqz is not computed: it becomes the jump.
Of two numbers of 64 bits the high words decide, unless they are equal, as they mostly are.
"""

from __future__ import annotations

from curta.machine.lower.body import Body, Condition
from curta.machine.lower.code import NO_REGISTER
from curta.machine.lower.folding import INVERTED, SWAPPED, fold

_TAKERS = ("br_if", "if", "i32.eqz", "select")
_ONES = 0xFFFF_FFFF


def compare(body: Body, condition: Condition) -> None:
    """The result of a comparison instruction whose operands were popped."""
    condition = simplify_condition(condition)
    if body.code[body.index + 1].opcode in _TAKERS:
        body.condition = condition
        body.push(~0)
        return
    body.push(value_of(body, condition))


def pop_condition(body: Body) -> Condition:
    """What the top of the stack is true for."""
    word = body.pop()
    if body.condition is None:
        return "ne", (word,), (~0,)
    condition, body.condition = body.condition, None
    return condition


def invert(condition: Condition) -> Condition:
    name, a, b = condition
    return INVERTED[name], a, b


def constant_truth(condition: Condition) -> bool | None:
    """Whether the condition holds, if that is known."""
    name, a, b = condition
    if len(a) == 1 and a[0] < 0 and b[0] < 0:
        return bool(fold(name, ~a[0], ~b[0]))
    return None


def simplify_condition(condition: Condition) -> Condition:
    """Compare one word instead of two where the others cannot matter."""
    name, a, b = condition
    if len(a) == 1:
        return condition
    if a[0] < 0 and a[1] < 0:
        if b[0] < 0 and b[1] < 0:
            return "ne", (~_compare_wide(name, _wide(a), _wide(b)),), (~0,)
        name, a, b = SWAPPED[name], b, a
    if name in ("eq", "ne"):
        return (name, a[:1], b[:1]) if a[1] < 0 and a[1] == b[1] else (name, a, b)
    if b[0] < 0 and b[1] < 0:
        limit = _wide(b)
        # x < 0, x >= 0, x > -1, x <= -1: the sign says it.
        if (name, limit) in (("lt_s", 0), ("ge_s", 0)):
            return name, a[1:], (~0,)
        if (name, limit) in (("gt_s", 2**64 - 1), ("le_s", 2**64 - 1)):
            return name, a[1:], (~_ONES,)
    if a[1] == b[1] and (a[1] < 0):
        return name[:-1] + "u", a[:1], b[:1]
    return condition if a is condition[1] else (name, a, b)


def _wide(operands: tuple[int, ...]) -> int:
    return ~operands[0] | ~operands[1] << 32


def _compare_wide(name: str, a: int, b: int) -> int:
    if name.endswith("_s"):
        a, b = a ^ 1 << 63, b ^ 1 << 63
    kind = name[:2]
    results = {"eq": a == b, "ne": a != b, "lt": a < b, "le": a <= b, "gt": a > b, "ge": a >= b}
    return int(results[kind])


# -- as jumps -------------------------------------------------------------------------------------


def branch(body: Body, condition: Condition, label: int) -> None:
    """Jump to a label if the condition holds."""
    truth = constant_truth(condition)
    if truth is not None:
        if truth:
            body.jump("jump", label)
        return
    name, a, b = condition
    if len(a) == 1:
        _branch_word(body, name, a[0], b[0], label)
    elif name in ("eq", "ne"):
        _branch_equal(body, name, a, b, label)
    else:
        _branch_ordered(body, name, a, b, label)


def _branch_word(body: Body, name: str, a: int, b: int, label: int) -> None:
    if a < 0 and b < 0:
        branch(body, (name, (a,), (b,)), label)
        return
    if a < 0:
        name, a, b = SWAPPED[name], b, a
    if b < 0:
        body.jump(f"jump_{name}", label, a, immediate=~b)
    else:
        body.jump(f"jump_{name}", label, a, b)


def _branch_equal(
    body: Body, name: str, a: tuple[int, ...], b: tuple[int, ...], label: int
) -> None:
    if name == "ne":
        _branch_word(body, "ne", a[0], b[0], label)
        _branch_word(body, "ne", a[1], b[1], label)
        return
    different = body.new_label()
    _branch_word(body, "ne", a[0], b[0], different)
    _branch_word(body, "eq", a[1], b[1], label)
    body.put_label(different)


def _branch_ordered(
    body: Body, name: str, a: tuple[int, ...], b: tuple[int, ...], label: int
) -> None:
    level, done = body.new_label(), body.new_label()
    _branch_word(body, "eq", a[1], b[1], level)
    _branch_word(body, name, a[1], b[1], label)
    body.jump("jump", done)
    body.put_label(level)
    _branch_word(body, name[:-1] + "u", a[0], b[0], label)
    body.put_label(done)


# -- as values ------------------------------------------------------------------------------------


def value_of(body: Body, condition: Condition, d: int | None = None) -> int:
    """The operand that is 1 if the condition holds, else 0."""
    name, a, b = condition
    truth = constant_truth(condition)
    if truth is not None:
        return ~int(truth)
    if len(a) == 1:
        return body.binary(name, a[0], b[0], d)
    d = body.new(0, (a[1], b[1])) if d is None else d
    level = body.new_label()
    low = name if name in ("eq", "ne") else name[:-1] + "u"
    found = body.binary(low, a[0], b[0], d)
    if found != d:
        body.copy(d, found)
    _branch_word(body, "eq", a[1], b[1], level)
    if name in ("eq", "ne"):
        body.copy(d, ~int(name == "ne"))
    else:
        found = body.binary(name, a[1], b[1], d)
        if found != d:
            body.copy(d, found)
    body.put_label(level)
    return d


def condition_register(body: Body, condition: Condition) -> int:
    """A register that is not 0 if the condition holds; NO_REGISTER if that is known."""
    name, a, b = condition
    if name == "ne" and b == (~0,) and a[0] >= 0:
        return a[0]
    if constant_truth(condition) is not None:
        return NO_REGISTER
    return body.register(value_of(body, condition, body.temporary()))
