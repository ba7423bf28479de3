"""Flow: how blocks lead to each other: their order, what dominates them, which are in loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import and_

from curta.machine.lower.code import Branch, Code, Label, edges

_TURNS = 8
"""Of a loop, at a guess."""
_DEEPEST = 4
_SELDOM = 1 / 64


@dataclass(frozen=True, slots=True)
class Flow:
    """Of the blocks that are reached: in how many loops each is, those that branches say are seldom
    reached, and how often blocks run, at a guess, if loops did only once.
    """

    depths: dict[Label, int]
    rare: frozenset[Label]
    shares: dict[Label, float]

    def often(self, label: Label) -> float:
        """How often a block runs when the function does, at a guess."""
        turns: int = _TURNS ** min(self.depths.get(label, 0), _DEEPEST)
        return turns * self.shares.get(label, 0.0)


def find_flow(code: Code) -> Flow:
    order, before = find_order(code)
    depths = _depths(order, before)
    rare = _rare(code, order)
    return Flow(depths, rare, _shares(code, order, depths, rare))


def find_order(code: Code) -> tuple[tuple[Label, ...], dict[Label, list[Label]]]:
    """The blocks that are reached, in the reverse of a postorder, and what leads to each."""
    after = {
        label: [edge.label for edge in edges(block.end)] for label, block in code.blocks.items()
    }
    entry = code.entry.label
    seen = {entry}
    found = []
    open_ = [(entry, iter(after[entry]))]
    while open_:
        label, rest = open_[-1]
        for following in rest:
            if following not in seen:
                seen.add(following)
                open_.append((following, iter(after[following])))
                break
        else:
            open_.pop()
            found.append(label)
    order = tuple(reversed(found))
    before: dict[Label, list[Label]] = {label: [] for label in order}
    for label in order:
        for following in dict.fromkeys(after[label]):
            before[following].append(label)
    return order, before


def find_dominators(
    order: tuple[Label, ...], before: dict[Label, list[Label]]
) -> dict[Label, Label]:
    """The immediate dominators, of those above a block the last one; the entry's is itself."""
    number = {label: n for n, label in enumerate(order)}
    above = [1] + [-1] * (len(order) - 1)
    """For each block those that dominate it, as the bits of a number; at first all."""
    changed = True
    while changed:
        changed = False
        for n, label in enumerate(order[1:], 1):
            common = 1 << n | reduce(and_, [above[number[other]] for other in before[label]])
            if common != above[n]:
                above[n] = common
                changed = True
    last = [max((bits ^ 1 << n).bit_length() - 1, 0) for n, bits in enumerate(above)]
    return {label: order[last[n]] for n, label in enumerate(order)}


def _depths(order: tuple[Label, ...], before: dict[Label, list[Label]]) -> dict[Label, int]:
    """A loop is all that leads to a jump back without passing what it jumps back to."""
    number = {label: n for n, label in enumerate(order)}
    dominators = find_dominators(order, before)
    depths = dict.fromkeys(order, 0)

    def is_above(head: Label, label: Label) -> bool:
        while number[label] > number[head]:
            label = dominators[label]
        return label == head

    for head in order:
        waiting = [label for label in before[head] if is_above(head, label)]
        within = {head} if waiting else set()
        while waiting:
            label = waiting.pop()
            if label not in within:
                within.add(label)
                waiting += before[label]
        for label in within:
            depths[label] += 1
    return depths


def _rare(code: Code, order: tuple[Label, ...]) -> frozenset[Label]:
    """Blocks that are reached only by branches that are seldom taken, and from such blocks."""
    usual = {order[0]}
    for label in order:
        if label in usual:
            end = code.blocks[label].end
            ways = edges(end)
            if isinstance(end, Branch) and end.rare:
                ways = (end.otherwise if end.rare == 1 else end.then,)
            usual.update(edge.label for edge in ways)
    return frozenset(order) - usual


def _shares(
    code: Code, order: tuple[Label, ...], depths: dict[Label, int], rare: frozenset[Label]
) -> dict[Label, float]:
    """A branch goes one way as often as the other, unless one is rare, or leaves a loop."""
    shares = dict.fromkeys(order, 0.0)
    shares[order[0]] = 1.0
    number = {label: n for n, label in enumerate(order)}
    for label in order:
        here = shares[label]
        ways = {edge.label for edge in edges(code.blocks[label].end)}
        usual = [way for way in ways if way not in rare and depths[way] == depths[label]]
        for way in ways:
            if number[way] <= number[label]:
                continue
            if way in rare and label not in rare:
                shares[way] += here * _SELDOM
            else:
                shares[way] += here / (len(usual) if way in usual else 1)
    return shares
