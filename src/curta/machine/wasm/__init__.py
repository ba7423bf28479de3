"""WebAssembly as a front end: binary and text formats, validation."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import FunctionType, Instruction, Module
from curta.machine.wasm.validate import validate
from curta.machine.wasm.validate_code import Branch, Branches

if TYPE_CHECKING:
    from curta.machine.wasm.text import assemble, parse_text

__all__ = [
    "Branch",
    "Branches",
    "FunctionType",
    "Instruction",
    "Module",
    "assemble",
    "decode",
    "encode",
    "parse_text",
    "validate",
]


def __getattr__(name: str) -> object:
    """The text format, which a program that is known already does not need."""
    if name in ("assemble", "parse_text"):
        return getattr(import_module(f"{__name__}.text"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
