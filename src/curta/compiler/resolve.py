"""Resolve: the user's graph in, a well-formed graph out.

Declared nodes are replaced by their definitions; what nothing depends on is dropped; operands
come before the nodes that use them. Cycles and missing definitions are refused here.
"""

from __future__ import annotations

from collections.abc import Callable

from curta.compiler.graph import Family, Graph, Node
from curta.compiler.nodes import (
    Assume,
    Declared,
    Gate,
    Linear,
    Lookup,
    Operation,
    Piecewise,
    RunningSum,
    operands,
)
from curta.dyadic import short
from curta.errors import GraphError


def resolve(graph: Graph) -> Graph:
    """The same program, checked, without declared or unused nodes."""
    if not isinstance(graph, Graph):
        raise GraphError(f"expected a Graph, got {short(graph)}")
    check_output(graph)
    resolved = Graph(graph.tokens)
    mapping: dict[int, Node] = {}
    for index in topological_order(graph, roots(graph)):
        operation = graph.operations[index]
        if isinstance(operation, Declared):
            node = mapping[graph.definitions[index]]
        else:
            node = copy_operation(resolved, operation, lambda i: mapping[i])
        mapping[index] = node
        if index in graph.names:
            node.named(graph.names[index])
    resolved.families = [
        Family(
            family.tokens,
            mapping[family.linear].index,
            mapping[family.square].index,
            mapping[family.base].index,
            None if family.when is None else mapping[family.when].index,
        )
        for family in graph.families
    ]
    resolved.stops = set(graph.stops)
    return resolved


def copy_operation(target: Graph, operation: Operation, mapped: Callable[[int], Node]) -> Node:
    """The same operation in another graph, on mapped operands."""
    match operation:
        case Linear(terms, constant):
            return target.linear([(mapped(i), c) for i, c in terms], constant)
        case Gate(condition, value):
            return target.gate(mapped(condition), mapped(value))
        case Piecewise(argument, bends):
            return target.piecewise(mapped(argument), bends)
        case Lookup(query, key, value, missing):
            return target.lookup(
                query=tuple(mapped(i) for i in query),
                key=tuple(mapped(i) for i in key),
                value=mapped(value),
                missing=missing,
            )
        case RunningSum(value):
            return target.running_sum(mapped(value))
        case Assume(value, low, high):
            return target.assume(mapped(value), low, high)
        case _:
            return target.intern(operation)


def roots(graph: Graph) -> list[int]:
    """What the program is for: the scores, and every promise made."""
    found: list[int] = []
    for family in graph.families:
        found += [family.linear, family.square, family.base]
        found += [] if family.when is None else [family.when]
    found += [i for i, operation in enumerate(graph.operations) if isinstance(operation, Assume)]
    return list(dict.fromkeys(found))


def topological_order(graph: Graph, starts: list[int]) -> list[int]:
    """All nodes that the starts depend on, operands first; cycles are refused."""
    order: list[int] = []
    state: dict[int, str] = {}
    for start in starts:
        stack = [(start, iter(dependencies(graph, start)))]
        if start in state:
            continue
        state[start] = "open"
        while stack:
            index, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[index] = "done"
                order.append(index)
                stack.pop()
            elif following not in state:
                state[following] = "open"
                stack.append((following, iter(dependencies(graph, following))))
            elif state[following] == "open":
                raise cycle_error(graph, [index for index, _ in stack], following)
    return order


def dependencies(graph: Graph, index: int) -> tuple[int, ...]:
    operation = graph.operations[index]
    if not isinstance(operation, Declared):
        return operands(operation)
    if index not in graph.definitions:
        raise GraphError(
            f"{operation.name!r} is used but never defined; give it a value with graph.define"
        )
    return (graph.definitions[index],)


def cycle_error(graph: Graph, path: list[int], again: int) -> GraphError:
    names = [graph.name_of(i) for i in [*path[path.index(again) :], again]]
    return GraphError(
        f"cycle: {' -> '.join(names)}. A value cannot depend on itself at the same position; "
        "to read what an earlier position computed, it has to be said as a token first"
    )


def check_output(graph: Graph) -> None:
    """Every graph says something, and its rules can be compared with one another."""
    if not graph.tokens:
        raise GraphError("the graph has no tokens; name them: Graph(['0', '1', ...])")
    if not graph.families:
        raise GraphError("the graph never says anything; call emit, emit_token or score")
    conditional = [family.when is not None for family in graph.families]
    if any(conditional) and not all(conditional):
        token = graph.families[conditional.index(False)].tokens[0]
        name = list(graph.tokens)[token]
        raise GraphError(
            f"the rule for token {name!r} has no condition, but others have: give every rule "
            "a `when`, or none"
        )
