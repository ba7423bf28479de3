"""The text format (.wat): wasmtime makes a binary of it; what that means, `decode` defines."""

from __future__ import annotations

import re

from curta.errors import TextFormatError
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import Module

PLACE = re.compile(r"\s*(?:at|-->) <anon>:(\d+):(\d+)")
"""Where an error is, behind what it is."""


def parse_text(source: str) -> Module:
    """The module that a text describes; errors in the text name line and column."""
    return decode(assemble(source))


def assemble(source: str) -> bytes:
    """The binary of one module: (module ...), or its fields only."""
    import wasmtime

    try:
        return bytes(wasmtime.wat2wasm(source))
    except wasmtime.WasmtimeError as error:
        message, line, column, *_ = [*PLACE.split(str(error), maxsplit=1), "1", "1"]
        raise TextFormatError(message, int(line), int(column)) from None
