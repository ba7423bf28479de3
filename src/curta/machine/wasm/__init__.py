"""WebAssembly as a front end: binary and text formats, validation, a reference interpreter."""

from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.interpret import Instance, RunLimits
from curta.machine.wasm.module import FunctionType, Instruction, Module
from curta.machine.wasm.store import GlobalCell, HostFunction, Memory, Table
from curta.machine.wasm.text import assemble, parse_text
from curta.machine.wasm.validate import validate
from curta.machine.wasm.validate_code import Branch, FunctionInfo

__all__ = [
    "Branch",
    "FunctionInfo",
    "FunctionType",
    "GlobalCell",
    "HostFunction",
    "Instance",
    "Instruction",
    "Memory",
    "Module",
    "RunLimits",
    "Table",
    "assemble",
    "decode",
    "encode",
    "parse_text",
    "validate",
]
