"""In which order places are visited: loops within loops.

A weak topological order (Bourdoncle, 1993): a place alone, or a component, which is the head of a
loop and the order of what else is in it. Every way back leads to the head of a component that it
is in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Component:
    head: int
    body: tuple[int | Component, ...]

    def members(self) -> list[int]:
        found, waiting = [self.head], list(self.body)
        while waiting:
            item = waiting.pop()
            if isinstance(item, Component):
                found.append(item.head)
                waiting += item.body
            else:
                found.append(item)
        return found


def visiting_order(
    successors: Mapping[int, Sequence[int]], start: int
) -> tuple[int | Component, ...]:
    """The order of all places that are reached from the start."""
    return _order(successors, [start], set(successors))


def _order(
    successors: Mapping[int, Sequence[int]], roots: Sequence[int], within: set[int]
) -> tuple[int | Component, ...]:
    items: list[int | Component] = []
    for component in _components(successors, roots, within):
        head, *others = component
        if not others and head not in successors[head]:
            items.append(head)
            continue
        inside = set(others)
        body = _order(successors, [s for s in successors[head] if s in inside], inside)
        items.append(Component(head, body))
    return tuple(items)


def _components(
    successors: Mapping[int, Sequence[int]], roots: Sequence[int], within: set[int]
) -> list[list[int]]:
    """Strongly connected components in topological order, each with the place first that is
    reached first (Tarjan, without recursion).
    """
    number: dict[int, int] = {}
    lowest: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in roots:
        if root in number:
            continue
        waiting = [(root, iter(successors[root]))]
        number[root] = lowest[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        while waiting:
            place, following = waiting[-1]
            for after in following:
                if after not in within:
                    continue
                if after not in number:
                    number[after] = lowest[after] = len(number)
                    stack.append(after)
                    on_stack.add(after)
                    waiting.append((after, iter(successors[after])))
                    break
                if after in on_stack:
                    lowest[place] = min(lowest[place], number[after])
            else:
                waiting.pop()
                if waiting:
                    above = waiting[-1][0]
                    lowest[above] = min(lowest[above], lowest[place])
                if lowest[place] == number[place]:
                    first = stack.index(place)
                    found.append(stack[first:])
                    on_stack.difference_update(stack[first:])
                    del stack[first:]
    return found[::-1]
