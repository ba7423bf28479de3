"""Faults in the source of the lowering: one expression or statement of one function is another.

The function keeps its identity, only its code is exchanged: whoever has imported it runs the fault.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from functools import cache, partial
from types import CodeType, FunctionType, ModuleType

from tests.machine.faults.fault import Fault

SIBLINGS = {
    "add": "sub",
    "sub": "add",
    "mul": "mul_high",
    "mul_high": "mul",
    "carry": "lt_u",
    "and": "or",
    "or": "xor",
    "xor": "and",
    "add3": "sub3",
    "sub3": "add3",
    "shl": "shr_u",
    "shr_u": "shr_s",
    "shr_s": "shr_u",
    "rotl": "rotr",
    "rotr": "rotl",
    "funnel_shl": "funnel_shr",
    "funnel_shr": "funnel_shl",
    "clz": "ctz",
    "ctz": "clz",
    "popcnt": "clz",
    "extend8": "extend16",
    "extend16": "extend8",
    "select": "add3",
    "eq": "ne",
    "ne": "eq",
    "lt_u": "lt_s",
    "lt_s": "lt_u",
    "ge_u": "gt_u",
    "ge_s": "ge_u",
    "gt_u": "ge_u",
    "gt_s": "gt_u",
    "le_u": "lt_u",
    "le_s": "le_u",
    "copy": "clz",
    "div_u": "div_s",
    "div_s": "div_u",
    "rem_u": "rem_s",
    "rem_s": "rem_u",
    "load32": "load16_u",
    "load8_u": "load8_s",
    "load8_s": "load8_u",
    "load16_u": "load16_s",
    "load16_s": "load8_s",
    "store32": "store16",
    "store16": "store8",
    "store8": "store16",
    "peek32": "peek8",
    "peek8": "peek32",
    "poke32": "poke8",
    "poke8": "poke32",
    "local.set": "nop",
    "local.tee": "local.get",
    "call_indirect": "nop",
    "end": "nop",
}
"""For every operation one that it might be mistaken for."""
EXCHANGED = {
    "al": "ah",
    "ah": "al",
    "bl": "bh",
    "bh": "bl",
    "low": "high",
    "high": "low",
    "first": "second",
    "second": "first",
    "then": "otherwise",
    "otherwise": "then",
    "few": "many",
    "many": "few",
    "d": "source",
    "label": "following",
    "index": "label",
    "jumped": "other",
    "other": "jumped",
    "one": "other",
    "parameter": "value",
    "top": "cross",
    "bottom": "high",
    "shifted": "low",
    "amount": "low",
    "carry": "al",
}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
Change = Callable[[], str]
"""Changes a node of a tree where it is; says how."""


@dataclass(frozen=True)
class Spot:
    """A change of a function: the function's name and the number of the change."""

    module: ModuleType
    function: str
    number: int


def functions_of(module: ModuleType) -> dict[str, FunctionType]:
    """The functions and methods that a module defines."""
    found: dict[str, FunctionType] = {}
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        if isinstance(value, FunctionType):
            found[name] = value
        elif isinstance(value, type):
            methods = {n: m for n, m in vars(value).items() if isinstance(m, FunctionType)}
            found |= {f"{name}.{n}": m for n, m in methods.items() if _is_written(m, module)}
    return found


def _is_written(method: FunctionType, module: ModuleType) -> bool:
    """What a dataclass adds to a class stands in no file."""
    return method.__code__.co_filename == module.__file__


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(inspect.getsource(module))


def _definition(tree: ast.Module, name: str) -> ast.FunctionDef:
    node: ast.AST = tree
    for part in name.split("."):
        body = getattr(node, "body", [])
        node = next(one for one in body if getattr(one, "name", None) == part)
    assert isinstance(node, ast.FunctionDef)
    return node


def changes_of(function: ast.FunctionDef) -> Iterator[tuple[ast.AST, Change]]:
    """All changes that can be made in a function."""
    for node in ast.walk(function):
        if isinstance(node, ast.FunctionDef):
            node.returns = None
            for argument in node.args.args:
                argument.annotation = None
        for change in _changes_of_node(node):
            yield node, change
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            for at, statement in enumerate(statements if isinstance(statements, list) else ()):
                if _can_be_left_out(statement):
                    yield statement, partial(_leave_out, statements, at)


def _changes_of_node(node: ast.AST) -> Iterator[Change]:
    match node:
        case ast.Constant(value=bool()):
            yield partial(_set, node, "value", not node.value)
        case ast.Constant(value=int()):
            yield partial(_set, node, "value", node.value + 1)
            if node.value:
                yield partial(_set, node, "value", node.value - 1)
        case ast.Constant(value=str()) if node.value in SIBLINGS:
            yield partial(_set, node, "value", SIBLINGS[node.value])
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARISONS:
            yield partial(_set, node, "ops", [_COMPARISONS[type(operator)]()])
        case ast.BinOp() if type(node.op) in _OPERATORS:
            yield partial(_set, node, "op", _OPERATORS[type(node.op)]())
        case ast.BoolOp():
            other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield partial(_set, node, "op", other)
            for at in range(len(node.values)):
                yield partial(_decide_without, node.values, at)
        case ast.If() | ast.While():
            yield partial(_set, node, "test", ast.UnaryOp(ast.Not(), node.test))
        case ast.IfExp():
            yield partial(_exchange, node, "body", "orelse")
        case ast.Call() if len(node.args) > 1:
            for at in range(len(node.args) - 1):
                yield partial(_exchange_items, node.args, at)
        case ast.Tuple(ctx=ast.Load()) if len(node.elts) > 1:
            yield partial(_exchange_items, node.elts, 0)
        case ast.Name(ctx=ast.Load()) if node.id in EXCHANGED:
            yield partial(_set, node, "id", EXCHANGED[node.id])


def _can_be_left_out(statement: ast.AST) -> bool:
    is_text = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    left_out = ast.Expr | ast.AugAssign | ast.Continue | ast.Delete
    return isinstance(statement, left_out) and not is_text


def _shown(node: ast.AST) -> str:
    text = ast.unparse(ast.fix_missing_locations(node)).replace("\n", "; ")
    return text if len(text) <= 60 else f"{text[:57]}..."


def _set(node: ast.AST, name: str, value: object) -> str:
    before = _shown(node)
    setattr(node, name, value)
    return f"{before}  ->  {_shown(node)}"


def _exchange(node: ast.AST, one: str, other: str) -> str:
    first, second = getattr(node, one), getattr(node, other)
    setattr(node, one, second)
    return _set(node, other, first)


def _exchange_items(items: list[ast.expr], at: int) -> str:
    items[at], items[at + 1] = items[at + 1], items[at]
    return f"{_shown(items[at + 1])} and {_shown(items[at])} change places"


def _leave_out(items: list[ast.AST], at: int) -> str:
    before = _shown(items[at])
    if isinstance(items[at], ast.stmt):
        items[at] = ast.copy_location(ast.Pass(), items[at])
    else:
        del items[at]
    return f"without {before}"


def _decide_without(values: list[ast.expr], at: int) -> str:
    """One condition less."""
    before = _shown(values[at])
    values[at] = values[at - 1]
    return f"without {before}"


def count_changes(module: ModuleType, name: str) -> int:
    return sum(1 for _ in changes_of(deepcopy(_definition(_tree(module), name))))


def source_fault(kind: str, spot: Spot) -> Fault:
    """The fault of this number in a function."""
    tree = deepcopy(_tree(spot.module))
    found = list(changes_of(_definition(tree, spot.function)))
    node, change = found[spot.number]
    line = getattr(node, "lineno", 0)
    told = change()
    short = spot.module.__name__.rpartition(".")[2]
    compiled = compile(ast.fix_missing_locations(tree), spot.module.__file__ or "", "exec")
    code = _find_code(compiled, spot.function)
    function = functions_of(spot.module)[spot.function]
    name = f"{short}.py:{line} {spot.function}: {told}"
    return Fault(kind, name, partial(exchanged_code, function, code))


def _find_code(code: CodeType, name: str) -> CodeType:
    for part in name.split("."):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == part)
    return code


@contextmanager
def exchanged_code(function: FunctionType, code: CodeType) -> Iterator[None]:
    before = function.__code__
    function.__code__ = code
    try:
        yield
    finally:
        function.__code__ = before
