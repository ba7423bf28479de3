"""The transformer compiler: a graph of per-token numbers in, transformer weights out."""

from curta.compiler.certificate import Certificate
from curta.compiler.compile import compile
from curta.compiler.derived import (
    absolute,
    at_least,
    at_most,
    at_position,
    back,
    both,
    clamp,
    count_reached,
    differ,
    either,
    equals,
    function_table,
    invert,
    large_table,
    maximum,
    minimum,
    product,
    quotient_of,
    relu,
    remainder_of,
    select,
)
from curta.compiler.graph import Graph, Node
from curta.compiler.model import Model, load_model

__all__ = [
    "Certificate",
    "Graph",
    "Model",
    "Node",
    "absolute",
    "at_least",
    "at_most",
    "at_position",
    "back",
    "both",
    "clamp",
    "compile",
    "count_reached",
    "differ",
    "either",
    "equals",
    "function_table",
    "invert",
    "large_table",
    "load_model",
    "maximum",
    "minimum",
    "product",
    "quotient_of",
    "relu",
    "remainder_of",
    "select",
]
