"""WebAssembly as a front end: binary and text formats, validation, a reference interpreter."""

from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.text import assemble, parse_text
from curta.machine.wasm.validate import validate

__all__ = ["assemble", "decode", "encode", "parse_text", "validate"]
