"""Functions that are added to a module, to look into its state from outside.

They are WebAssembly like the rest of it, so that memory and globals are asked of whoever runs it:
the transformer has them only in what it said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from curta.machine.wasm import ValueType
from curta.machine.wasm.module import Export, Function, FunctionType, Instruction, Module

DIGEST, PEEK, PAGES = "probe.digest", "probe.peek", "probe.pages"
PAGE = 1 << 16
STEP = 16
"""Bytes that a digest takes at once."""
Ask = Callable[[str, Sequence[int]], tuple[int, ...] | str]
"""Invokes a function by its name, with bit patterns."""

DIGEST_TYPE = FunctionType(("i32", "i32"), ("i32",))
"""From an address up to another one, both multiples of STEP; one word for it all."""


def global_probe(index: int) -> str:
    return f"probe.global{index}"


def code(text: str) -> tuple[Instruction, ...]:
    """Instructions without a structured operand, one a line."""
    return tuple(_instruction(line.split()) for line in text.strip().splitlines())


def _instruction(words: list[str]) -> Instruction:
    if words[0] in ("block", "loop", "if"):
        return Instruction(words[0], (None, 0))
    return Instruction(words[0], tuple(map(int, words[1:])))


_MIX_A_WORD = """
    local.get 2
    local.get 0
    i32.load 0 {}
    i32.xor
    i32.const 16777619
    i32.mul
    local.set 2"""
_DIGEST = code(
    """
    i32.const 40389
    local.set 2
    block
    loop
    local.get 0
    local.get 1
    i32.ge_u
    br_if 1"""
    + "".join(_MIX_A_WORD.format(offset) for offset in range(0, STEP, 4))
    + f"""
    local.get 0
    i32.const {STEP}
    i32.add
    local.set 0
    br 0
    end
    end
    local.get 2
    end"""
)
_PEEK = code("local.get 0\ni32.load 0 0\nend")
_PAGES = code("memory.size\nend")


def with_probes(module: Module) -> Module:
    """The module, and for its memory and each of its globals an export that reads it."""
    additions: list[tuple[str, FunctionType, tuple[ValueType, ...], tuple[Instruction, ...]]] = []
    if module.memories:
        one = FunctionType(("i32",), ("i32",))
        additions += [
            (DIGEST, DIGEST_TYPE, ("i32",), _DIGEST),
            (PEEK, one, (), _PEEK),
            (PAGES, FunctionType((), ("i32",)), (), _PAGES),
        ]
    for index, entry in enumerate(module.globals):
        kind = entry.type.value
        carrier: ValueType = "i32" if kind.endswith("32") else "i64"
        convert = f"{carrier}.reinterpret_{kind}\n" if kind != carrier else ""
        body = code(f"global.get {index}\n{convert}end")
        additions.append((global_probe(index), FunctionType((), (carrier,)), (), body))
    types, functions, exports = list(module.types), list(module.functions), list(module.exports)
    imported = len(module.imported("func"))
    for name, type_, locals_, body in additions:
        exports.append(Export(name, "func", imported + len(functions)))
        functions.append(Function(len(types), locals_, body))
        types.append(type_)
    return replace(module, types=tuple(types), functions=tuple(functions), exports=tuple(exports))


def first_difference(ours: Ask, theirs: Ask, globals_: int) -> str:
    """Where two instances of a module with probes differ; empty if they do not."""
    for index in range(globals_):
        name = global_probe(index)
        if ours(name, ()) != theirs(name, ()):
            return f"global {index}: {ours(name, ())}, in wasmtime {theirs(name, ())}"
    pages, expected = ours(PAGES, ()), theirs(PAGES, ())
    if pages != expected:
        return f"memory of {pages} pages, in wasmtime {expected}"
    assert isinstance(pages, tuple)
    low, high = 0, pages[0] * PAGE
    if ours(DIGEST, (low, high)) == theirs(DIGEST, (low, high)):
        return ""
    while high - low > STEP:
        middle = (low + high) // (2 * STEP) * STEP
        same = ours(DIGEST, (low, middle)) == theirs(DIGEST, (low, middle))
        low, high = (middle, high) if same else (low, middle)
    words = [(ours(PEEK, (at,)), theirs(PEEK, (at,))) for at in range(low, high, 4)]
    return f"memory from {low} on: words here and in wasmtime {words}"
