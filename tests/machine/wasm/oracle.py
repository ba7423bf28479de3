"""What wasmtime says, in curta's terms: accepted or not, and the results of calls.

Features that curta refuses are switched off, as far as wasmtime lets one; reference types have to
stay on, because compilers write table indices in the form that came with them.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence

import wasmtime

from curta.errors import ModuleError, UnsupportedFeatureError
from curta.machine.wasm.decode import decode
from curta.machine.wasm.floats import F32, F64, Format, is_nan
from curta.machine.wasm.module import FunctionType, Module
from curta.machine.wasm.validate import validate

Outcome = tuple[int, ...] | str
"""Results, or the reason of a trap."""

FUEL = "out of fuel"

TRAPS = {
    wasmtime.TrapCode.STACK_OVERFLOW: "call stack exhausted",
    wasmtime.TrapCode.MEMORY_OUT_OF_BOUNDS: "out of bounds memory access",
    wasmtime.TrapCode.TABLE_OUT_OF_BOUNDS: "undefined element",
    wasmtime.TrapCode.INDIRECT_CALL_TO_NULL: "uninitialized element",
    wasmtime.TrapCode.BAD_SIGNATURE: "indirect call type mismatch",
    wasmtime.TrapCode.INTEGER_OVERFLOW: "integer overflow",
    wasmtime.TrapCode.INTEGER_DIVISION_BY_ZERO: "integer divide by zero",
    wasmtime.TrapCode.BAD_CONVERSION_TO_INTEGER: "invalid conversion to integer",
    wasmtime.TrapCode.UNREACHABLE: "unreachable",
}
# wasmtime has one code for two reasons of the specification.
SAME_TRAP = {"out of bounds table access": "undefined element"}


def make_engine(*, fuel: bool = False) -> wasmtime.Engine:
    config = wasmtime.Config()
    for feature in (
        *("wasm_relaxed_simd", "wasm_simd", "wasm_threads", "wasm_exceptions", "wasm_tail_call"),
        *("wasm_memory64", "wasm_multi_memory", "wasm_gc", "wasm_function_references"),
        *("wasm_custom_page_sizes", "wasm_wide_arithmetic", "wasm_stack_switching"),
    ):
        setattr(config, feature, False)
    config.cranelift_opt_level = "none"
    config.cranelift_nan_canonicalization = True
    config.consume_fuel = fuel
    return wasmtime.Engine(config)


def wasmtime_accepts(engine: wasmtime.Engine, binary: bytes) -> bool:
    try:
        wasmtime.Module.validate(engine, binary)
    except wasmtime.WasmtimeError:
        return False
    return True


def verdict(binary: bytes) -> str:
    """Ours: "accepted", "rejected" or "unsupported"."""
    try:
        validate(decode(binary))
    except UnsupportedFeatureError:
        return "unsupported"
    except ModuleError:
        return "rejected"
    return "accepted"


class Wasmtime:
    """An instance in wasmtime."""

    def __init__(
        self,
        engine: wasmtime.Engine,
        binary: bytes,
        imports: Callable[[wasmtime.Store], list[wasmtime.Func]] = lambda _: [],
        *,
        fuel: int | None = None,
        most_memory: int = -1,
    ) -> None:
        """`fuel` is in instructions, `most_memory` in bytes; growing beyond it fails."""
        self.place: int | None = None  # the function that the last trap was in
        self.store = wasmtime.Store(engine)
        if fuel is not None:
            self.store.set_fuel(fuel)
        self.store.set_limits(memory_size=most_memory)
        module = wasmtime.Module(engine, binary)
        self.exports = wasmtime.Instance(self.store, module, imports(self.store)).exports(
            self.store
        )

    def invoke(self, type_: FunctionType, name: str, arguments: Sequence[int]) -> Outcome:
        given = [
            _to_wasmtime(kind, value)
            for kind, value in zip(type_.parameters, arguments, strict=True)
        ]
        try:
            returned = self.exports[name](self.store, *given)
        except wasmtime.Trap as trap:
            self.place = next((frame.func_index for frame in trap.frames), None)
            return trap_reason(trap)
        if returned is None:
            return ()
        results = returned if isinstance(returned, list) else [returned]
        return tuple(
            _from_wasmtime(kind, value) for kind, value in zip(type_.results, results, strict=True)
        )

    def global_value(self, kind: str, name: str) -> int:
        return _from_wasmtime(kind, self.exports[name].value(self.store))

    def memory(self) -> bytes:
        memory = next(
            found for found in self.exports.values() if isinstance(found, wasmtime.Memory)
        )
        return bytes(memory.read(self.store))


def trap_reason(trap: wasmtime.Trap) -> str:
    code = trap.trap_code
    return FUEL if code is wasmtime.TrapCode.OUT_OF_FUEL else TRAPS[code]


def _to_wasmtime(kind: str, value: int) -> wasmtime.Val:
    if kind == "i32":
        return wasmtime.Val.i32(value - (value >> 31 << 32))
    if kind == "i64":
        return wasmtime.Val.i64(value - (value >> 63 << 64))
    if kind == "f32":
        return wasmtime.Val.f32(struct.unpack("<f", value.to_bytes(4, "little"))[0])
    return wasmtime.Val.f64(struct.unpack("<d", value.to_bytes(8, "little"))[0])


def _from_wasmtime(kind: str, value: float) -> int:
    if kind[0] == "i":
        return int(value) % (1 << int(kind[1:]))
    packed = struct.pack("<f" if kind == "f32" else "<d", value)
    return int.from_bytes(packed, "little")


def function_type(module: Module, name: str) -> FunctionType:
    (index,) = (entry.index for entry in module.exports if entry.name == name)
    return module.types[module.index_spaces().functions[index]]


def one_nan(type_: FunctionType, outcome: Outcome) -> Outcome:
    """The outcome with every NaN replaced by the canonical one: Python passes on no payloads."""
    if isinstance(outcome, str):
        return outcome
    forms: dict[str, Format] = {"f32": F32, "f64": F64}
    return tuple(
        forms[kind].quiet_nan if kind in forms and is_nan(value, forms[kind]) else value
        for kind, value in zip(type_.results, outcome, strict=True)
    )
