"""The table of operations: their names, how many operands they take, and what they mean.

Every backend has a column of its own for this table; what an operation means is said here, and
`exact` is the definition.
"""

from __future__ import annotations

from dataclasses import dataclass

MANY = 64
"""As many operands as an expression can have."""


@dataclass(frozen=True)
class Operation:
    """One operation. Operators are written between or before their operands, others as calls."""

    name: str
    least: int
    most: int
    about: str


TABLE = (
    Operation("add", 2, 2, "a + b"),
    Operation("subtract", 2, 2, "a - b"),
    Operation("multiply", 2, 2, "a * b"),
    Operation("divide", 2, 2, "a / b"),
    Operation("floor_divide", 2, 2, "a // b, the greatest whole number that is not above a / b"),
    Operation("modulo", 2, 2, "a % b, which is a - b * (a // b): it has the sign of b"),
    Operation("power", 2, 2, "a ** b or a ^ b; 0 ** 0 is 1"),
    Operation("negate", 1, 1, "-a"),
    Operation("percent", 1, 1, "a%, a hundredth"),
    Operation("less", 2, 2, "a < b"),
    Operation("at_most", 2, 2, "a <= b"),
    Operation("greater", 2, 2, "a > b"),
    Operation("at_least", 2, 2, "a >= b"),
    Operation("equal", 2, 2, "a == b"),
    Operation("unequal", 2, 2, "a != b"),
    Operation("sqrt", 1, 1, "square root"),
    Operation("cbrt", 1, 1, "cube root, of negative numbers too"),
    Operation("exp", 1, 1, "e to the power of a"),
    Operation("ln", 1, 1, "natural logarithm"),
    Operation("log", 1, 2, "natural logarithm, or that to the base b"),
    Operation("log2", 1, 1, "logarithm to the base 2"),
    Operation("log10", 1, 1, "logarithm to the base 10"),
    Operation("sin", 1, 1, "sine of an angle in radians"),
    Operation("cos", 1, 1, "cosine of an angle in radians"),
    Operation("tan", 1, 1, "tangent of an angle in radians"),
    Operation("asin", 1, 1, "angle of a sine"),
    Operation("acos", 1, 1, "angle of a cosine"),
    Operation("atan", 1, 1, "angle of a tangent"),
    Operation("degrees", 1, 1, "radians in degrees"),
    Operation("radians", 1, 1, "degrees in radians"),
    Operation("abs", 1, 1, "without its sign"),
    Operation("sign", 1, 1, "-1, 0 or 1"),
    Operation("floor", 1, 1, "the next whole number downwards"),
    Operation("ceil", 1, 1, "the next whole number upwards"),
    Operation("trunc", 1, 1, "the next whole number towards 0"),
    Operation("round", 1, 2, "to whole numbers or b decimals; halves to the even neighbour"),
    Operation("factorial", 1, 1, "a!, the product of 1 to a"),
    Operation("comb", 2, 2, "ways to choose b of a"),
    Operation("perm", 2, 2, "ways to choose b of a in order"),
    Operation("gcd", 1, MANY, "greatest common divisor"),
    Operation("lcm", 1, MANY, "least common multiple"),
    Operation("min", 1, MANY, "the least of them"),
    Operation("max", 1, MANY, "the greatest of them"),
    Operation("sum", 1, MANY, "all of them added up"),
    Operation("mean", 1, MANY, "their sum divided by their number"),
)

OPERATIONS = {operation.name: operation for operation in TABLE}

NEVER_VANISHING = frozenset({"multiply", "divide", "percent", "power", "exp", "degrees", "radians"})
"""Operations of which the result is 0 only if an operand is: a float of 0 is too small a one."""

OPERATORS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "modulo",
    "**": "power",
    "<": "less",
    "<=": "at_most",
    ">": "greater",
    ">=": "at_least",
    "==": "equal",
    "!=": "unequal",
}

WRITTEN_OTHERWISE = {*OPERATORS.values(), "negate", "percent"}
"""Operations that are no functions."""

FUNCTIONS = {
    **{name: each for name, each in OPERATIONS.items() if name not in WRITTEN_OTHERWISE},
    "pow": OPERATIONS["power"],
    "mod": OPERATIONS["modulo"],
    "avg": OPERATIONS["mean"],
    "average": OPERATIONS["mean"],
}

CONSTANTS = ("pi", "tau", "e")
