"""Counts the WebAssembly instructions that a program executes, at wasmtime's speed.

A copy of the module adds, at the head of every stretch of straight-line code, the number of its
instructions to a global counter that it exports. Block, loop, else, end and nop are not counted:
they only mark places. A call ends a stretch, so a program that ends itself in one is counted
exactly; one that traps within a stretch is counted to the stretch's end.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import wasmtime

from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import Export, Expression, Global, GlobalType, Instruction
from curta.machine.wasm.opcodes import MARKERS

COUNTER = "curta.executed"
STRETCH_ENDS = frozenset(
    {
        *("block", "loop", "if", "else", "end", "br", "br_if", "br_table", "return"),
        *("unreachable", "call", "call_indirect"),
    }
)


@dataclass(frozen=True)
class Counted:
    """What a program did under wasmtime."""

    stdout: bytes
    stderr: bytes
    exit_code: int
    instructions: int
    seconds: float
    """Of the call, without compilation."""


def with_counter(content: bytes) -> bytes:
    """The module, counting."""
    module = decode(content)
    counter = len(module.index_spaces().globals)
    zero = (Instruction("i64.const", (0,)), Instruction("end"))
    counted = replace(
        module,
        functions=tuple(
            replace(function, body=_counting(function.body, counter))
            for function in module.functions
        ),
        globals=(*module.globals, Global(GlobalType("i64", True), zero)),
        exports=(*module.exports, Export(COUNTER, "global", counter)),
    )
    return encode(counted)


def _counting(body: Expression, counter: int) -> Expression:
    written: list[Instruction] = []
    stretch: list[Instruction] = []
    count = 0
    for instruction in body:
        stretch.append(instruction)
        count += instruction.opcode not in MARKERS
        if instruction.opcode in STRETCH_ENDS:
            if count:
                written += [
                    Instruction("global.get", (counter,)),
                    Instruction("i64.const", (count,)),
                    Instruction("i64.add"),
                    Instruction("global.set", (counter,)),
                ]
            written += stretch
            stretch, count = [], 0
    return tuple(written + stretch)


def run_in_wasmtime(
    content: bytes,
    stdin: bytes = b"",
    args: Sequence[str] = (),
    *,
    count: bool = True,
    engine: wasmtime.Engine | None = None,
) -> Counted:
    """Run a WASI program from its start to its end."""
    engine = engine or wasmtime.Engine()
    store = wasmtime.Store(engine)
    linker = wasmtime.Linker(engine)
    linker.define_wasi()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "in").write_bytes(stdin)
        config = wasmtime.WasiConfig()
        config.argv = ["program", *args]
        config.stdin_file = str(folder / "in")
        config.stdout_file = str(folder / "out")
        config.stderr_file = str(folder / "err")
        store.set_wasi(config)
        module = wasmtime.Module(engine, with_counter(content) if count else content)
        exports = linker.instantiate(store, module).exports(store)
        code, begun = 0, time.perf_counter()
        try:
            exports["_start"](store)  # type: ignore[operator]
        except wasmtime.ExitTrap as end:
            code = end.code
        seconds = time.perf_counter() - begun
        executed = exports[COUNTER].value(store) if count else 0  # type: ignore[union-attr]
        out, err = (folder / "out").read_bytes(), (folder / "err").read_bytes()
        return Counted(out, err, code, executed, seconds)


def executed_by_call(content: bytes, name: str, *numbers: int) -> int:
    """How many instructions an exported function of a module without imports executes."""
    store = wasmtime.Store()
    module = wasmtime.Module(store.engine, with_counter(content))
    exports = wasmtime.Instance(store, module, []).exports(store)
    exports[name](store, *numbers)  # type: ignore[operator]
    executed: int = exports[COUNTER].value(store)  # type: ignore[union-attr]
    return executed
