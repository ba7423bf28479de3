"""WebAssembly as a front end: binary and text formats, validation, a reference interpreter."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import FunctionType, Instruction, Module
from curta.machine.wasm.validate import validate
from curta.machine.wasm.validate_code import Branch, FunctionInfo

if TYPE_CHECKING:
    from curta.machine.wasm.interpret import Instance, RunLimits
    from curta.machine.wasm.store import GlobalCell, HostFunction, Memory, Table
    from curta.machine.wasm.text import assemble, parse_text

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
_LATER = {
    "interpret": ("Instance", "RunLimits"),
    "store": ("GlobalCell", "HostFunction", "Memory", "Table"),
    "text": ("assemble", "parse_text"),
}
"""What a program that is known already does not need is imported when somebody asks for it."""


def __getattr__(name: str) -> object:
    for module, names in _LATER.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
