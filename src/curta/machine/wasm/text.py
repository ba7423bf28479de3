"""The text format (.wat): `assemble` makes a binary of it; what that means, `decode` defines."""

from __future__ import annotations

from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import Module
from curta.machine.wasm.text_fields import build_module
from curta.machine.wasm.text_tree import Cursor, Source


def parse_text(source: str) -> Module:
    """The module that a text describes; errors in the text name line and column."""
    return decode(assemble(source))


def assemble(source: str) -> bytes:
    """The binary of one module: (module ...), or its fields only."""
    text = Source(source)
    top = Cursor(text, text.tree())
    inner = top.accept_group("module")
    if inner is None:
        return encode(build_module(text, top))
    top.finish()
    return assemble_group(text, inner)


def assemble_group(text: Source, inner: Cursor) -> bytes:
    """The binary of a (module ...) whose first word has been read."""
    inner.take_id()
    if inner.accept("binary"):
        parts = []
        while not inner.done:
            parts.append(inner.take_string("bytes"))
        return b"".join(parts)
    if inner.accept("quote"):
        parts = []
        while not inner.done:
            parts.append(inner.take_string("text"))
        return assemble(b" ".join(parts).decode("utf-8", errors="surrogateescape"))
    return encode(build_module(text, inner))
