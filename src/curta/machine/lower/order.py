"""Order: functions that call each other often lie near each other.

A jump of up to 2048 instructions is one token, a longer one two. How often a call happens is
guessed: eight times as often as the function, for every loop around it. Pairs are joined into
chains, the hottest first (Pettis and Hansen, 1990).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from curta.machine.lower.code import Callee
from curta.machine.lower.flat import Flat, Line

_ROUNDS = 4
_MOST = 1e12


def order(
    functions: Sequence[Flat], roots: Sequence[Callee], in_tables: Sequence[Callee]
) -> list[Flat]:
    """The same functions; those that no call connects stay in their order."""
    calls = {function.callee: _count_calls(function, in_tables) for function in functions}
    often = _frequencies(calls, roots)
    pairs: defaultdict[tuple[Callee, Callee], float] = defaultdict(float)
    for caller, counts in calls.items():
        for callee, count in counts.items():
            if caller != callee:
                pairs[min(caller, callee), max(caller, callee)] += count * often[caller]
    chains = {callee: [callee] for callee in calls}
    sizes = {
        function.callee: sum(isinstance(line, Line) for line in function.lines)
        for function in functions
    }
    for pair in sorted(pairs, key=lambda pair: (-pairs[pair], pair)):
        one, other = (chains[callee] for callee in pair)
        if one is not other:
            joined = _join(one, other, pair, sizes)
            chains.update(dict.fromkeys(joined, joined))
    found = {function.callee: function for function in functions}
    ordered = dict.fromkeys(callee for start in found for callee in chains[start])
    return [found[callee] for callee in ordered]


def _join(
    one: list[Callee], other: list[Callee], pair: tuple[Callee, Callee], sizes: dict[Callee, int]
) -> list[Callee]:
    """Both chains, turned so that a function of each are as near as possible."""

    def between(chain: list[Callee]) -> int:
        low, high = sorted(map(chain.index, pair))
        return sum(sizes[callee] for callee in chain[low + 1 : high])

    back = other[::-1]
    return min((one + other, one + back, one[::-1] + other, other + one), key=between)


def _count_calls(function: Flat, in_tables: Sequence[Callee]) -> dict[Callee, float]:
    """How often each callee is called, at a guess, when the function runs once.

    An indirect call leads to each function of the tables as often as to the others.
    """
    counts = {
        callee: often for callee, often in function.registers.calls.items() if callee is not None
    }
    for callee in in_tables:
        shared = function.registers.calls.get(None, 0.0) / len(in_tables)
        counts[callee] = counts.get(callee, 0.0) + shared
    return counts


def _frequencies(
    calls: dict[Callee, dict[Callee, float]], roots: Sequence[Callee]
) -> dict[Callee, float]:
    """How often functions run, at a guess; recursion counts a few times."""
    often = dict.fromkeys(calls, 1.0)
    for _ in range(_ROUNDS):
        following = dict.fromkeys(calls, 0.0)
        for callee in roots:
            following[callee] = 1.0
        for caller, counts in calls.items():
            for callee, count in counts.items():
                following[callee] = min(_MOST, following[callee] + count * often[caller])
        often = following
    return often
