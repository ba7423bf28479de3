"""The content of a model file as JSON: the graph, one list per node, and the schema of all parts.

Whoever edits a file can sign it again, so the digest says nothing about the schema of the content.
`check_schema` compares a file's content with CONTENT, once, when it is read; what runs later relies
on every key, type and index. (Whether the content is also true, `verify` finds out.)
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from itertools import repeat
from math import isfinite
from typing import Any

from curta.compiler import nodes
from curta.compiler.graph import Family, Graph, is_text
from curta.compiler.resolve import check_output, copy_operation
from curta.dyadic import ARITHMETICS, LARGEST, exact, short
from curta.errors import FileError, GraphError

KINDS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        nodes.TokenFeature,
        nodes.PositionFeature,
        nodes.Linear,
        nodes.Gate,
        nodes.Piecewise,
        nodes.Lookup,
        nodes.RunningSum,
        nodes.Assume,
    )
}


def graph_to_json(graph: Graph) -> dict[str, Any]:
    return {
        "tokens": list(graph.tokens),
        "nodes": [
            [type(op).__name__, *(to_json(getattr(op, f.name)) for f in fields(op))]
            for op in graph.operations
        ],
        "names": {str(index): name for index, name in graph.names.items()},
        "families": [[list(f.tokens), f.linear, f.square, f.base, f.when] for f in graph.families],
        "stops": sorted(graph.stops),
    }


def identity(graph: Graph) -> str:
    """A digest of a resolved graph: of what its weights compute, however they are laid out."""
    return identity_of_json(graph_to_json(graph))


def identity_of_json(graph: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(graph).encode()).hexdigest()


def graph_from_json(data: dict[str, Any]) -> Graph:
    """The graph, if it is one that `resolve` could have made; `data` has the right schema."""
    graph = Graph(data["tokens"])
    for place, (kind, *values) in enumerate(data["nodes"]):
        operation = KINDS[kind](*(from_json(value) for value in values))
        if any(operand >= place for operand in nodes.operands(operation)):
            raise GraphError(f"node {place} reads a node that comes after it")
        if copy_operation(graph, operation, graph.node_at).index != place:
            raise GraphError(f"node {place} is a copy of an earlier one, or not in simplest form")
    for index, name in data["names"].items():
        graph.node_at(int(index)).named(name)
    graph.families = [
        Family(tuple(tokens), linear, square, base, when)
        for tokens, linear, square, base, when in data["families"]
    ]
    graph.stops = set(data["stops"])
    check_output(graph)
    return graph


def to_json(value: object) -> object:
    """Tuples become lists; fractions become text."""
    if type(value) is int:  # most are
        return value
    if isinstance(value, tuple):
        return [to_json(part) for part in value]
    if isinstance(value, Fraction):
        return {"fraction": str(value)}
    return value


def from_json(value: object) -> Any:
    if isinstance(value, list):
        return tuple(from_json(part) for part in value)
    if isinstance(value, dict):
        return exact(Fraction(value["fraction"]))
    return value


# -- the schema of a file -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leaf:
    """A single value: what it has to be, in words and as a predicate."""

    words: str
    holds: Callable[[Any], bool]


Schema = Any
"""A Leaf; [schema], a list of any length; (schema, ...), a list of just these; {key: schema}, an
object of just these keys; or a function from the value to its schema.
"""


def check_schema(value: Any, schema: Schema, place: str) -> None:
    """Raise an error that names the first place where the value does not have the schema."""
    if isinstance(schema, Leaf):
        require(schema.holds(value), place, value, schema.words)
    elif isinstance(schema, list):
        require(isinstance(value, list), place, value, "a list")
        check_parts(value, repeat(schema[0]), place)
    elif isinstance(schema, tuple):
        fits = isinstance(value, list) and len(value) == len(schema)
        require(fits, place, value, f"a list of {len(schema)}")
        check_parts(value, schema, place)
    elif isinstance(schema, dict):
        require(isinstance(value, dict), place, value, "an object")
        for key in sorted(schema.keys() ^ value.keys()):
            what = "lacks" if key in schema else "has an odd entry"
            raise FileError(f"{place} {what} {short(key)}; build the file again")
        for key, inner in schema.items():
            check_schema(value[key], inner, f"{place}.{key}")
    else:
        check_schema(value, schema(value), place)


def check_parts(parts: list[Any], schemas: Iterable[Schema], place: str) -> None:
    for number, (part, inner) in enumerate(zip(parts, schemas, strict=False)):
        if not (isinstance(inner, Leaf) and inner.holds(part)):
            check_schema(part, inner, f"{place}[{number}]")


def require(holds: bool, place: str, value: object, words: str) -> None:
    if not holds:
        raise FileError(f"{place} is {short(value)}, expected {words}; build the file again")


def integer_in(low: int, high: int) -> Leaf:
    words = f"an integer from {low} to {high}"
    return Leaf(words, lambda value: type(value) is int and low <= value <= high)


def one_of(*choices: object) -> Leaf:
    words = " or ".join(map(str, choices))
    return Leaf(words, lambda value: any(value is c or value == c for c in choices))


def or_null(leaf: Leaf) -> Leaf:
    return Leaf(f"{leaf.words}, or null", lambda value: value is None or leaf.holds(value))


def is_number(value: object) -> bool:
    """Whether this is a number that float64 reaches."""
    if type(value) is int:
        return abs(value) < LARGEST
    return type(value) is float and isfinite(value)


def is_exact_number(value: object) -> bool:
    """Whether from_json makes a number of it."""
    if not isinstance(value, dict):
        return type(value) is int and is_number(value)
    try:
        exact(Fraction(value["fraction"]))
    except (KeyError, TypeError, ValueError, ArithmeticError, GraphError):
        return False
    return True


KIND = one_of(*KINDS)
TEXT = Leaf("a string", is_text)
FLAG = Leaf("true or false", lambda value: isinstance(value, bool))
COUNT = integer_in(0, 2**62)
POSITIVE = integer_in(1, 2**62)
EXPONENT = integer_in(-(2**16), 2**16)
NUMBER = Leaf("a number", is_number)
EXACT = Leaf("an integer or a fraction", is_exact_number)
MISSING = Leaf(
    "nearest, stop or a number", lambda value: value in ("nearest", "stop") or EXACT.holds(value)
)
RANGE = {"low": NUMBER, "high": NUMBER, "step": EXPONENT}


def size(data: Any, key: str) -> int:
    """How long a list is; what is no list is found when its own schema is checked."""
    part = data.get(key) if isinstance(data, dict) else None
    return len(part) if isinstance(part, list) else 0


def number(data: Any, key: str) -> int:
    """An integer's value; what is none is found when its own schema is checked."""
    part = data.get(key) if isinstance(data, dict) else None
    return part if isinstance(part, int) else 0


def graph_schema(graph: Any) -> Schema:
    token = integer_in(0, size(graph, "tokens") - 1)
    node = integer_in(0, size(graph, "nodes") - 1)

    fields_of: dict[object, tuple[Schema, ...]] = {
        "TokenFeature": ((EXACT,) * size(graph, "tokens"),),
        "PositionFeature": (POSITIVE, COUNT, one_of(1, 2), one_of(0)),
        "Linear": ([(node, EXACT)], EXACT),
        "Gate": (node, node),
        "Piecewise": (node, [(EXACT, EXACT)]),
        "Lookup": ([node], [node], node, MISSING),
        "RunningSum": (node,),
        "Assume": (node, EXACT, EXACT),
    }

    def node_schema(data: Any) -> Schema:
        """A kind and its fields."""
        kind = data[0] if isinstance(data, list) and data and isinstance(data[0], str) else None
        return (KIND, *fields_of.get(kind, ()))

    def names_schema(names: Any) -> Schema:
        """Names by index, for some of the nodes."""
        given = names if isinstance(names, dict) else {}
        return {key: TEXT for key in map(str, range(size(graph, "nodes"))) if key in given}

    return {
        "tokens": [TEXT],
        "nodes": [node_schema],
        "names": names_schema,
        "families": [([token], node, node, node, or_null(node))],
        "stops": [token],
    }


def plan_schema(plan: Any) -> Schema:
    layers = size(plan, "layers")
    token = integer_in(0, size(plan, "vocabulary") - 1)
    slot = integer_in(0, number(plan, "width") - 1)
    period = integer_in(0, 2 * layers)
    member = {"node": COUNT, "weight": NUMBER, "kind": TEXT, "written": period, **RANGE}
    return {
        "vocabulary": [TEXT],
        "stops": [token],
        "width": POSITIVE,
        "schedule": {
            "layers": one_of(layers),
            "peak": COUNT,
            "lower_bound": COUNT,
            "method": TEXT,
        },
        "layers": [layer_schema],
        "slots": [
            {
                "slot": slot,
                "first": period,
                "last": period,
                "erased": or_null(period),
                "name": TEXT,
                "members": [member],
                "magnitude": NUMBER,
                "step": EXPONENT,
            }
        ],
        "guards": [
            {
                "name": TEXT,
                "period": period,
                "terms": [(slot, NUMBER)],
                "low": NUMBER,
                "high": NUMBER,
            }
        ],
        "families": [[token]],
    }


def layer_schema(layer: Any) -> Schema:
    width = number(layer, "head_width")

    def head_schema(head: Any) -> Schema:
        """Queries and keys of one digit or more, and a component for their squares."""
        values = [{"name": TEXT, "is_key": FLAG, **RANGE}] * min(size(head, "values"), width)
        mean = {"kind": one_of("mean", "retrieve"), "name": TEXT, "values": tuple(values)}
        if not isinstance(head, dict) or head.get("kind") != "retrieve":
            return mean
        digits = max(1, min(size(head, "key"), width - 1))
        return {
            **mean,
            "query": (RANGE,) * digits,
            "key": (RANGE,) * digits,
            "code": {"weights": (NUMBER,) * digits, "offset": NUMBER, **RANGE},
            "recency": FLAG,
            "nearest": FLAG,
            "score_exponent": EXPONENT,
        }

    return {"head_width": integer_in(2, 2**16), "heads": [head_schema], "units": [TEXT]}


CERTIFICATE = {
    "max_tokens": POSITIVE,
    "softmax_tokens": COUNT,
    "arithmetic": one_of(*ARITHMETICS),
    "bounds_checked": COUNT,
    "tightest": [{"kind": TEXT, "node": TEXT, "bits": COUNT, "limit": COUNT}],
    "promises": [TEXT],
}
CONTENT = {
    "version": COUNT,
    "graph": graph_schema,
    "plan": plan_schema,
    "certificate": CERTIFICATE,
}
