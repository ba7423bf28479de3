"""Coalesce: two locals that a copy connects become one, if they never hold different values.

Two registers conflict where one is written, other than by a copy of the other, while the other is
read later. Without a conflict every use of one can be a use of the other, and the copy is nothing.
"""

from __future__ import annotations

from curta.machine.lower.code import ENDS, LABEL, NO_LABEL, FunctionCode, Step
from curta.machine.lower.liveness import defines, live_at_labels, uses

_ROUNDS = 4


def coalesce(code: FunctionCode) -> None:
    """Join locals, results and parameters. Stack cells stay where calls want them."""
    for _ in range(_ROUNDS):
        pairs = _candidates(code)
        if not pairs or not _join(code, pairs):
            return


def _candidates(code: FunctionCode) -> dict[tuple[int, int], int]:
    """Pairs of registers with a copy between them, the smaller one first; how many copies.

    The larger one, which is renamed, is a local: parameters and results have their places.
    """
    limit = code.first_cell
    pairs: dict[tuple[int, int], int] = {}
    for step in code.steps:
        if step.name == "copy" and 0 <= step.b < limit and step.d < limit and step.b != step.d:
            pair = (step.b, step.d) if step.b < step.d else (step.d, step.b)
            pairs[pair] = pairs.get(pair, 0) + 1
    returns = code.first_local - 1
    return {
        pair: count for pair, count in pairs.items() if pair[1] > returns and pair[0] != returns
    }


def _join(code: FunctionCode, pairs: dict[tuple[int, int], int]) -> bool:
    """Rename where there is no conflict; whether there was anything to rename."""
    partners: dict[int, list[tuple[int, tuple[int, int]]]] = {}
    for pair in pairs:
        partners.setdefault(pair[0], []).append((pair[1], pair))
        partners.setdefault(pair[1], []).append((pair[0], pair))
    conflicts = _conflicts(code, partners)
    names: dict[int, int] = {}
    touched: set[int] = set()
    for pair in sorted(pairs, key=lambda pair: -pairs[pair]):
        if pair not in conflicts and not touched & set(pair):
            names[pair[1]] = pair[0]
            touched.update(pair)
    if not names:
        return False
    kept = []
    for step in code.steps:
        _rename(step, names)
        if step.name != "copy" or step.b != step.d:
            kept.append(step)
    code.steps = kept
    return True


def _rename(step: Step, names: dict[int, int]) -> None:
    step.a = names.get(step.a, step.a)
    step.b = names.get(step.b, step.b)
    step.c = names.get(step.c, step.c)
    step.d = names.get(step.d, step.d)


def _conflicts(
    code: FunctionCode, partners: dict[int, list[tuple[int, tuple[int, int]]]]
) -> set[tuple[int, int]]:
    at_labels = live_at_labels(code.steps, code.labels)
    conflicts: set[tuple[int, int]] = set()
    live = 0
    for step in reversed(code.steps):
        if step.name == LABEL:
            continue
        if step.name in ENDS:
            live = 0
        if step.label != NO_LABEL:
            live |= at_labels[step.label]
        for label in step.ways:
            live |= at_labels[label]
        d = step.d
        if d in partners:
            for other, pair in partners[d]:
                if live >> other & 1 and not (step.name == "copy" and step.b == other):
                    conflicts.add(pair)
        live = (live & ~defines(step)) | uses(step)
    for register, others in partners.items():
        for other, pair in others:
            if live >> register & 1 and live >> other & 1:
                conflicts.add(pair)
    return conflicts
