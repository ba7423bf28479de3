"""The binary format: what is refused, in which words and at which byte; what is legal although odd.

Binaries are written as hexadecimal text; `module` puts sections behind a header.
"""

from __future__ import annotations

import pytest

from curta.errors import InvalidModuleError, MalformedModuleError, UnsupportedFeatureError
from curta.machine.wasm.decode import decode
from curta.machine.wasm.encode import encode
from curta.machine.wasm.module import Data, Element, FunctionType
from curta.machine.wasm.text import assemble
from curta.machine.wasm.validate import validate
from tests.machine.wasm.oracle import Outcome, Wasmtime, make_engine

HEADER = "00 61 73 6d 01 00 00 00"
TYPES = "01 04 01 60 00 00"  # [] -> []
FUNCTION = "03 02 01 00"


def module(*sections: str) -> bytes:
    return bytes.fromhex(" ".join((HEADER, *sections)))


def code(body: str) -> bytes:
    """A module with one function of type [] -> [] and this body, locals included."""
    content = bytes.fromhex(body)
    size = len(content)
    return module(TYPES, FUNCTION, f"0a {size + 2:02x} 01 {size:02x}", body)


MALFORMED = {
    "empty": (b"", "unexpected end", 0),
    "half a magic": (b"\0as", "unexpected end", 3),
    "magic": (b"wasm\1\0\0\0", "magic header not detected", 0),
    "version": (bytes.fromhex("0061736d 02000000"), "unknown binary version", 4),
    "section id": (module("0e 00"), "malformed section id 14", 8),
    "section too long": (module("01 05 00"), "unexpected end: length out of bounds", 10),
    "section ends early": (module("01 03 01 60 00"), "unexpected end of section", 13),
    "section goes on": (module("01 02 00 00"), "section size mismatch", 11),
    "no size": (module("01"), "unexpected end", 9),
    "twice": (module("01 01 00", "01 01 00"), "unexpected content after last section", 11),
    "order": (module("03 01 00", "01 01 00"), "unexpected content after last section", 11),
    "size too long": (module("01 80 80 80 80 80 00"), "integer representation too long", 9),
    "size too large": (module("01 ff ff ff ff 7f"), "integer too large", 9),
    "form": (module("01 02 01 61"), "malformed function type", 11),
    "value type": (module("01 05 01 60 01 7a 00"), "malformed value type 0x7a", 13),
    "custom without name": (module("00 00"), "unexpected end", 10),
    "custom name": (module("00 02 01 ff"), "malformed UTF-8 encoding", 10),
    "surrogate": (module("00 04 03 ed a0 80"), "malformed UTF-8 encoding", 10),
    "import kind": (module("02 05 01 00 00 05 00"), "malformed import kind 5", 13),
    "import name": (module("02 06 01 01 80 00 00 00"), "malformed UTF-8 encoding", 11),
    "export kind": (module("07 04 01 00 05 00"), "malformed export kind 5", 12),
    "mutability": (module("06 06 01 7f 02 41 00 0b"), "malformed mutability 2", 12),
    "limits": (module("05 03 01 10 00"), "malformed limits flags 16", 11),
    "table type": (module("04 04 01 7f 00 00"), "malformed reference type 0x7f", 11),
    "element kind": (module("09 04 01 01 01 00"), "malformed element kind", 12),
    "element flags": (module("09 02 01 08"), "malformed elements segment kind", 12),
    "data flags": (module("0b 02 01 03"), "malformed data segment kind", 12),
    "data too long": (module("0b 05 01 01 05 41 42"), "unexpected end: length out", 12),
    "data count": (module("0c 01 01"), "data count and data section have inconsistent", 11),
    "declared, no code": (
        module(TYPES, FUNCTION),
        "function and code section have inconsistent lengths: 1 declarations, 0 bodies",
        18,
    ),
    "code, not declared": (
        module(TYPES, "0a 04 01 02 00 0b"),
        "function and code section have inconsistent lengths",
        20,
    ),
    "opcode": (code("00 ff 0b"), "illegal opcode 0xff", 23),
    "long opcode": (code("00 fc 80 01 0b"), "illegal opcode 0xfc 128", 23),
    "no end": (code("00 01"), "END opcode expected", 24),
    "block without end": (code("00 02 40"), "unexpected end of section or function", 25),
    "code behind the end": (code("00 0b 01"), "section size mismatch", 24),
    "else alone": (code("00 05 0b"), "illegal opcode: else", 23),
    "two elses": (code("00 41 00 04 40 05 05 0b 0b"), "illegal opcode: else", 28),
    "block type": (code("00 02 7a 0b 0b"), "malformed block type", 24),
    "alignment": (code("00 41 00 28 20 00 1a 0b"), "malformed memop flags", 26),
    "memory.size": (code("00 3f 01 1a 0b"), "zero byte expected", 24),
    "memory.size overlong": (code("00 3f 80 00 1a 0b"), "zero byte expected", 24),
    "constant too long": (
        code("00 41 80 80 80 80 80 00 1a 0b"),
        "integer representation too long",
        24,
    ),
    "constant too large": (code("00 41 ff ff ff ff 0f 1a 0b"), "integer too large", 24),
    "half a float": (code("00 44 00 00 0b"), "unexpected end of section or function", 27),
    "locals": (code("02 d0 86 03 7f 01 7e 0b"), "too many locals: 50001", 27),
    "very many locals": (code("01 ff ff ff ff 0f 7f 0b"), "too many locals", 23),
    "data.drop without count": (
        module(TYPES, FUNCTION, "0a 07 01 05 00 fc 09 00 0b", "0b 03 01 01 00"),
        "data count section required",
        23,
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed(name: str) -> None:
    binary, wording, offset = MALFORMED[name]
    with pytest.raises(MalformedModuleError) as caught:
        decode(binary)
    assert str(caught.value).startswith(wording)
    assert caught.value.offset == offset
    assert str(caught.value).endswith(f"(at byte {offset})")


UNSUPPORTED = {
    "v128 parameter": (module("01 05 01 60 01 7b 00"), "SIMD"),
    "v128 block": (code("00 02 7b 0b 0b"), "SIMD"),
    "v128.const": (code("00 fd 0c 00 0b"), "SIMD"),
    "atomic": (code("00 fe 03 00 0b"), "threads"),
    "shared memory": (module("05 04 01 03 01 01"), "threads"),
    "tag section": (module("0d 03 01 00 00"), "exceptions"),
    "tag import": (module("02 06 01 00 00 04 00 00"), "exceptions"),
    "throw": (code("00 08 00 0b"), "exceptions"),
    "return_call": (code("00 12 00 0b"), "tail calls"),
    "return_call_indirect": (code("00 13 00 00 0b"), "tail calls"),
    "memory64": (module("05 03 01 04 01"), "memory64"),
    "memory index": (code("00 41 00 28 42 00 00 1a 0b"), "multi-memory"),
    "memory.fill 1": (code("00 41 00 41 00 41 00 fc 0b 01 0b"), "multi-memory"),
    "externref": (module("04 04 01 6f 00 00"), "reference types"),
    "funcref parameter": (module("01 05 01 60 01 70 00"), "reference types"),
    "ref.null": (code("00 d0 70 1a 0b"), "reference types"),
    "table.get": (code("00 41 00 25 00 1a 0b"), "reference types"),
    "table.size": (code("00 fc 10 00 1a 0b"), "reference types"),
    "select with type": (code("00 1c 01 7f 0b"), "reference types"),
    "call_ref": (code("00 14 00 0b"), "typed function references"),
    "struct type": (module("01 03 01 5f 00"), "garbage collection"),
    "ref.eq": (code("00 d3 0b"), "garbage collection"),
    "page size": (module("05 04 01 08 01 00"), "custom page sizes"),
    "constant addition": (
        module("06 09 01 7f 00 41 01 41 02 6a 0b"),
        "extended constant expressions",
    ),
    "two tables": (module("04 07 02 70 00 00 70 00 00"), "reference types"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_unsupported_features_are_named(name: str) -> None:
    binary, feature = UNSUPPORTED[name]
    with pytest.raises(UnsupportedFeatureError, match=f"^{feature}: "):
        validate(decode(binary))


def run_f(binary: bytes) -> Outcome:
    """As it was understood."""
    return Wasmtime(make_engine(), encode(decode(binary))).invoke(
        FunctionType((), ("i32",)), "f", ()
    )


def test_overlong_numbers_are_legal() -> None:
    """As linkers write them."""
    binary = module(
        "01 85 80 80 80 00 01 60 00 01 7f",
        "03 83 80 00 01 80 00",
        "07 05 01 01 66 00 00",
        "0a 0c 01 88 80 00 00 41 86 80 80 80 00 0b",
    )
    assert run_f(binary) == (6,)


def test_padded_call_indirect() -> None:
    binary = module(
        "01 05 01 60 00 01 7f",
        "03 03 02 00 00",
        "04 04 01 70 00 01",
        "07 05 01 01 66 00 00",
        "09 07 01 00 41 00 0b 01 01",
        "0a 16 02 0f 00 41 00 11 80 80 80 80 00 80 80 80 80 00 0b",
        "04 00 41 2a 0b",
    )
    assert run_f(binary) == (42,)


def test_names_serve_messages_and_may_be_broken() -> None:
    text = "(module (func $bad (result i32)))"
    with pytest.raises(InvalidModuleError, match=r"of function 0 \(\$bad\)"):
        validate(decode(assemble(text)))
    broken = module(TYPES, FUNCTION, "0a 04 01 02 00 0b", "00 08 04 6e 61 6d 65 01 50 01")
    assert decode(broken).function_names == ()


def test_custom_sections_may_be_anywhere() -> None:
    custom = "00 03 01 78 ff"
    binary = module(custom, TYPES, custom, custom, FUNCTION, custom, "0a 04 01 02 00 0b", custom)
    assert decode(binary) == decode(code("00 0b"))


def test_segments_of_every_kind() -> None:
    binary = module(
        *(TYPES, FUNCTION, "04 04 01 70 00 09", "05 03 01 00 01"),
        "09 2f 08",
        *("00 41 00 0b 01 00", "01 00 01 00", "02 00 41 00 0b 00 01 00", "03 00 01 00"),
        *("04 41 00 0b 01 d0 70 0b", "05 70 01 d2 00 0b", "06 00 41 00 0b 70 00", "07 70 00"),
        "0c 01 03",
        "0a 04 01 02 00 0b",
        "0b 11 03 00 41 00 0b 01 61 01 01 62 02 00 41 00 0b 01 63",
    )
    decoded = decode(binary)
    offset = decoded.data[0].offset
    assert [instruction.opcode for instruction in offset] == ["i32.const", "end"]
    assert decoded.elements == (
        Element("active", (0,), 0, offset),
        Element("passive", (0,)),
        Element("active", (0,), 0, offset),
        Element("declarative", (0,)),
        Element("active", (None,), 0, offset),
        Element("passive", (0,)),
        Element("active", (), 0, offset),
        Element("declarative", ()),
    )
    assert decoded.data == (
        Data("active", b"a", 0, offset),
        Data("passive", b"b"),
        Data("active", b"c", 0, offset),
    )
    validate(decoded)


def test_targets_of_constructs() -> None:
    text = """(func (block (loop (if (i32.const 1) (then nop) (else nop)))
                (if (i32.const 0) (then))))"""
    body = decode(assemble(text)).functions[0].body
    targets = {
        index: (instruction.opcode, instruction.operands[-1])
        for index, instruction in enumerate(body)
        if instruction.opcode in ("block", "loop", "if", "else")
    }
    assert targets == {
        0: ("block", 12),
        1: ("loop", 8),
        3: ("if", 5),
        5: ("else", 7),
        10: ("if", 11),
    }


def test_deep_nesting_is_no_problem() -> None:
    depth = 20_000
    body = b"\0" + b"\x02\x40" * depth + b"\x0b" * (depth + 1)
    size = bytes([len(body) & 0x7F | 0x80, len(body) >> 7 & 0x7F | 0x80, len(body) >> 14])
    inner = b"\1" + size + body
    total = len(inner)
    section = bytes([total & 0x7F | 0x80, total >> 7 & 0x7F | 0x80, total >> 14]) + inner
    decoded = decode(module(TYPES, FUNCTION) + b"\x0a" + section)
    validate(decoded)
    assert len(decoded.functions[0].body) == 2 * depth + 1
