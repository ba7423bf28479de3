"""What a proof is here: the negated claim, and z3 that finds no numbers for it."""

from __future__ import annotations

from collections.abc import Iterable

import z3

SECONDS = 120
"""How long one question may take."""


class RefutedError(AssertionError):
    """The claim does not hold; the message has the numbers."""


class UndecidedError(AssertionError):
    """z3 gave up: neither a proof nor a counterexample."""


def prove(claim: z3.BoolRef, *assumptions: z3.BoolRef, seconds: int = SECONDS) -> None:
    """The claim holds for all values of its variables that the assumptions admit."""
    solver = z3.SolverFor("QF_BVFP") if uses_floats(claim) else z3.SolverFor("QF_BV")
    solver.set("timeout", seconds * 1000)
    solver.add(*assumptions, z3.Not(claim))
    answer = solver.check()
    if answer == z3.sat:
        raise RefutedError(described(solver.model()))
    if answer != z3.unsat:
        raise UndecidedError(f"no answer after {seconds} s: {solver.reason_unknown()}")


def prove_each(
    claim: z3.BoolRef, cases: Iterable[z3.BoolRef], *assumptions: z3.BoolRef, seconds: int = SECONDS
) -> None:
    """The claim by cases, and that there are no others."""
    known = list(cases)
    for case in known:
        prove(claim, case, *assumptions, seconds=seconds)
    prove(z3.Or(known), *assumptions, seconds=seconds)


def uses_floats(term: z3.ExprRef) -> bool:
    """Whether there is a float in it."""
    seen, waiting = set(), [term]
    while waiting:
        one = waiting.pop()
        if one.get_id() in seen:
            continue
        seen.add(one.get_id())
        if z3.is_fp(one):
            return True
        waiting += one.children()
    return False


def described(model: z3.ModelRef) -> str:
    """Numbers in hexadecimal, by name."""
    found = {}
    for variable in model.decls():
        value = model[variable]
        found[variable.name()] = f"{value.as_long():#x}" if z3.is_bv_value(value) else str(value)
    return ", ".join(f"{name} = {found[name]}" for name in sorted(found))
