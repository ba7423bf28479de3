"""One table of small programs, for decoder, validator, text format, lowering and wasmtime.

Each is a module in the text format and a list of calls, in order, on one instance: the export,
the arguments, and the results or the reason of the trap. Numbers are unsigned bit patterns.
"""

from __future__ import annotations

import struct
from typing import NamedTuple


class Call(NamedTuple):
    export: str
    arguments: tuple[int, ...]
    expected: tuple[int, ...] | str


def f32(number: float) -> int:
    return int.from_bytes(struct.pack("<f", number), "little")


def f64(number: float) -> int:
    return int.from_bytes(struct.pack("<d", number), "little")


def call(export: str, arguments: object, expected: object) -> Call:
    """A single argument or result needs no tuple."""
    given = arguments if isinstance(arguments, tuple) else (arguments,)
    if not isinstance(expected, tuple | str):
        expected = (expected,)
    return Call(export, given, expected)  # type: ignore[arg-type]


I32 = 1 << 32
I64 = 1 << 64

CASES: dict[str, tuple[str, list[Call]]] = {
    "empty": ("(module)", []),
    "recursion": (
        """(module (func $factorial (export "factorial") (param $n i64) (result i64)
            (if (result i64) (i64.eqz (local.get $n))
              (then (i64.const 1))
              (else (i64.mul (local.get $n)
                (call $factorial (i64.sub (local.get $n) (i64.const 1))))))))""",
        [call("factorial", 0, 1), call("factorial", 20, 2432902008176640000)],
    ),
    "loop": (
        """(module (func (export "sum") (param $n i32) (result i32) (local $s i32)
            block $done
              loop $again
                local.get $n
                i32.eqz
                br_if $done
                local.get $n
                local.get $s
                i32.add
                local.set $s
                local.get $n
                i32.const -1
                i32.add
                local.set $n
                br $again
              end $again
            end $done
            local.get $s))""",
        [call("sum", 0, 0), call("sum", 10, 55), call("sum", 1000, 500500)],
    ),
    "switch": (
        """(module (func (export "switch") (param i32) (result i32)
            (block $default (block $two (block $one (block $zero
              (br_table $zero $one $two $one $default (local.get 0)))
              (return (i32.const 100)))
              (return (i32.const 101)))
              (return (i32.const 102)))
            (i32.const -1))
          (func (export "value") (param i32) (result i32)
            (block $a (result i32)
              (i32.mul (i32.const 2)
                (block $b (result i32) (br_table $a $b (i32.const 33) (local.get 0)))))))""",
        [
            *(call("switch", n, r) for n, r in enumerate((100, 101, 102, 101, I32 - 1, I32 - 1))),
            call("switch", I32 - 1, I32 - 1),
            *(call("value", n, r) for n, r in enumerate((33, 66, 66))),
        ],
    ),
    "several results": (
        """(module
          (func $swap (export "swap") (param i32 i64) (result i64 i32)
            local.get 1 local.get 0)
          (func (export "twice") (param i32 i64) (result i64 i32)
            local.get 0 local.get 1
            call $swap
            (block (param i64 i32) (result i64 i32) br 0)
            i32.const 1
            if (param i64 i32) (result i64 i32)
              i32.const 5 i32.add
            else
              i32.const 6 i32.add
            end)
          (func (export "count") (param i32) (result i32 i32)
            i32.const 0 local.get 0
            loop $l (param i32 i32) (result i32 i32)
              i32.const 1 i32.sub local.set 0
              i32.const 3 i32.add
              local.get 0
              local.get 0
              br_if $l
            end)
          (func (export "early") (param i32) (result i32 i32)
            i32.const 9 i32.const 8 i32.const 7 local.get 0
            if i32.const 1 i32.const 2 return end
            drop))""",
        [
            call("swap", (1, 2), (2, 1)),
            call("twice", (1, 2), (2, 6)),
            call("count", 4, (12, 0)),
            call("early", 1, (1, 2)),
            call("early", 0, (9, 8)),
        ],
    ),
    "branches carry values": (
        """(module
          (func (export "if") (param i32) (result i32)
            (block $out (result i32)
              (drop (br_if $out (i32.const 10) (local.get 0)))
              (i32.const 20)))
          (func (export "deep") (result i32)
            (i32.add (i32.const 1) (block $a (result i32)
              (i32.const 1000) (i32.const 2000)
              (block $b (result i32) (br $a (i32.const 41)))
              drop drop drop (i32.const 0))))
          (func (export "dead") (result i32)
            (return (i32.const 3)) (i32.add) (drop) (br 0 (i32.const 4)))
          (func (export "if only") (param i32) (result i32)
            (if (local.get 0) (then (return (i32.const 1)))) (i32.const 2)))""",
        [
            call("if", 1, 10),
            call("if", 0, 20),
            call("deep", (), 42),
            call("dead", (), 3),
            call("if only", 5, 1),
            call("if only", 0, 2),
        ],
    ),
    "select and drop": (
        """(module (func (export "select") (param i64 i64 i32) (result i64)
            (drop (f32.const 1)) (select (local.get 0) (local.get 1) (local.get 2)))
          (func (export "nan") (param i32) (result f64)
            (select (f64.const nan:0x123) (f64.const -inf) (local.get 0))))""",
        [
            call("select", (7, 8, 1), 7),
            call("select", (7, 8, 0), 8),
            call("nan", 1, 0x7FF0000000000123),
            call("nan", 0, f64(float("-inf"))),
        ],
    ),
    "globals": (
        """(module (global $a (mut i32) (i32.const 5)) (global $b f64 (f64.const 0.5))
          (global $c (export "c") (mut i64) (i64.const -1))
          (func (export "bump") (result i32)
            (global.set $a (i32.add (global.get $a) (i32.const 1))) (global.get $a))
          (func (export "b") (result f64) (global.get $b))
          (func (export "c+") (result i64)
            (global.set $c (i64.add (global.get $c) (i64.const 2))) (global.get $c)))""",
        [call("bump", (), 6), call("bump", (), 7), call("b", (), f64(0.5)), call("c+", (), 1)],
    ),
    "loads and stores": (
        """(module (memory (export "memory") 1 1)
          (data (i32.const 16) "\\80\\ff\\01\\7f\\fe\\dc\\ba\\98")
          (func (export "8s") (param i32) (result i32) (i32.load8_s (local.get 0)))
          (func (export "8u") (param i32) (result i32) (i32.load8_u (local.get 0)))
          (func (export "16s") (param i32) (result i32) (i32.load16_s (local.get 0)))
          (func (export "16u") (param i32) (result i32) (i32.load16_u offset=1 (local.get 0)))
          (func (export "32") (param i32) (result i32) (i32.load align=1 (local.get 0)))
          (func (export "64") (param i32) (result i64) (i64.load (local.get 0)))
          (func (export "64_8s") (param i32) (result i64) (i64.load8_s (local.get 0)))
          (func (export "64_8u") (param i32) (result i64) (i64.load8_u (local.get 0)))
          (func (export "64_16s") (param i32) (result i64) (i64.load16_s (local.get 0)))
          (func (export "64_16u") (param i32) (result i64) (i64.load16_u (local.get 0)))
          (func (export "64_32s") (param i32) (result i64) (i64.load32_s (local.get 0)))
          (func (export "64_32u") (param i32) (result i64) (i64.load32_u (local.get 0)))
          (func (export "f32") (param i32) (result f32) (f32.load (local.get 0)))
          (func (export "f64") (param i32) (result f64) (f64.load (local.get 0)))
          (func (export "store8") (param i32 i32) (i32.store8 (local.get 0) (local.get 1)))
          (func (export "store16") (param i32 i32) (i32.store16 (local.get 0) (local.get 1)))
          (func (export "store") (param i32 i32) (i32.store (local.get 0) (local.get 1)))
          (func (export "store64_8") (param i32 i64) (i64.store8 (local.get 0) (local.get 1)))
          (func (export "store64_16") (param i32 i64) (i64.store16 (local.get 0) (local.get 1)))
          (func (export "store64_32") (param i32 i64) (i64.store32 (local.get 0) (local.get 1)))
          (func (export "store64") (param i32 i64) (i64.store (local.get 0) (local.get 1)))
          (func (export "store_f32") (param i32 f32) (f32.store (local.get 0) (local.get 1)))
          (func (export "store_f64") (param i32 f64) (f64.store (local.get 0) (local.get 1)))
          (func (export "far") (param i32) (result i32)
            (i32.load8_u offset=0xffffffff (local.get 0))))""",
        [
            call("8s", 16, I32 - 0x80),
            call("8u", 16, 0x80),
            call("16s", 16, I32 - 0x80),
            call("16u", 16, 0x01FF),
            call("32", 16, 0x7F01FF80),
            call("64", 16, 0x98BADCFE7F01FF80),
            call("64_8s", 20, I64 - 2),
            call("64_8u", 20, 0xFE),
            call("64_16s", 20, I64 - 0x2302),
            call("64_16u", 20, 0xDCFE),
            call("64_32s", 20, I64 - 0x67452302),
            call("64_32u", 20, 0x98BADCFE),
            call("store8", (0, 0x1FF), ()),
            call("store16", (1, 0x54321), ()),
            call("32", 0, 0x4321FF),
            call("store", (65532, 7), ()),
            call("32", 65532, 7),
            call("store64_8", (8, 0x1122334455667788), ()),
            call("store64_16", (9, 0x1122334455667788), ()),
            call("store64_32", (11, 0x1122334455667788), ()),
            call("64", 8, 0x0055667788778888),
            call("store64", (3, I64 - 1), ()),
            call("64", 0, 0xFFFFFFFFFF4321FF),
            call("store_f32", (100, 0x7F800001), ()),
            call("f32", 100, 0x7F800001),
            call("store_f64", (100, 0xFFF0000000000001), ()),
            call("f64", 100, 0xFFF0000000000001),
            call("32", 65533, "out of bounds memory access"),
            call("8u", 65536, "out of bounds memory access"),
            call("64", I32 - 1, "out of bounds memory access"),
            call("store64", (65529, 0), "out of bounds memory access"),
            call("far", 1, "out of bounds memory access"),
        ],
    ),
    "memory grows": (
        """(module (memory 1 3) (func (export "size") (result i32) memory.size)
          (func (export "grow") (param i32) (result i32) (memory.grow (local.get 0)))
          (func (export "peek") (param i32) (result i32) (i32.load (local.get 0))))""",
        [
            call("size", (), 1),
            call("peek", 65536, "out of bounds memory access"),
            call("grow", 1, 1),
            call("peek", 65536, 0),
            call("grow", 2, I32 - 1),
            call("grow", I32 - 1, I32 - 1),
            call("grow", 0, 2),
            call("grow", 1, 2),
            call("size", (), 3),
        ],
    ),
    "bulk memory": (
        """(module (memory 1) (data $p "abcdef") (data (i32.const 100) "active")
          (func (export "init") (param i32 i32 i32)
            (memory.init $p (local.get 0) (local.get 1) (local.get 2)))
          (func (export "init active") (param i32) (memory.init 1
            (i32.const 0) (i32.const 0) (local.get 0)))
          (func (export "drop") data.drop $p)
          (func (export "fill") (param i32 i32 i32)
            (memory.fill (local.get 0) (local.get 1) (local.get 2)))
          (func (export "copy") (param i32 i32 i32)
            (memory.copy (local.get 0) (local.get 1) (local.get 2)))
          (func (export "get") (param i32) (result i64) (i64.load (local.get 0))))""",
        [
            call("init", (0, 1, 4), ()),
            call("get", 0, 0x65646362),
            call("copy", (1, 0, 4), ()),
            call("get", 0, 0x6564636262),
            call("copy", (0, 1, 4), ()),
            call("get", 0, 0x6565646362),
            call("fill", (2, 0x1FF, 3), ()),
            call("get", 0, 0xFFFFFF6362),
            call("init", (65535, 0, 2), "out of bounds memory access"),
            call("init", (0, 5, 2), "out of bounds memory access"),
            call("init", (65536, 6, 0), ()),
            call("init", (65537, 0, 0), "out of bounds memory access"),
            call("fill", (65530, 1, 7), "out of bounds memory access"),
            call("get", 65528, 0),
            call("fill", (65536, 1, 0), ()),
            call("copy", (0, 65536, 1), "out of bounds memory access"),
            call("copy", (65537, 0, 0), "out of bounds memory access"),
            call("drop", (), ()),
            call("drop", (), ()),
            call("init", (0, 0, 1), "out of bounds memory access"),
            call("init", (0, 0, 0), ()),
            call("init active", 1, "out of bounds memory access"),
            call("init active", 0, ()),
        ],
    ),
    "tables": (
        """(module (type $get (func (result i32))) (type $id (func (param i32) (result i32)))
          (table $t (export "t") 8 8 funcref)
          (elem (i32.const 1) $one $two $same)
          (elem $p func $two $one $two)
          (elem $q funcref (ref.func $one) (ref.null func) (item ref.func $same))
          (elem declare func $one)
          (func $one (type $get) (i32.const 1)) (func $two (result i32) (i32.const 2))
          (func $same (type $id) (local.get 0))
          (func (export "call") (param i32) (result i32)
            (call_indirect (type $get) (local.get 0)))
          (func (export "call id") (param i32) (result i32)
            (call_indirect $t (param i32) (result i32) (i32.const 77) (local.get 0)))
          (func (export "init p") (param i32 i32 i32)
            (table.init $p (local.get 0) (local.get 1) (local.get 2)))
          (func (export "init q") (param i32 i32 i32)
            (table.init $t $q (local.get 0) (local.get 1) (local.get 2)))
          (func (export "drop") elem.drop $p)
          (func (export "init declared") (table.init 3 (i32.const 0) (i32.const 0) (i32.const 1)))
          (func (export "copy") (param i32 i32 i32)
            (table.copy (local.get 0) (local.get 1) (local.get 2))))""",
        [
            call("call", 1, 1),
            call("call", 2, 2),
            call("call", 3, "indirect call type mismatch"),
            call("call id", 3, 77),
            call("call", 0, "uninitialized element"),
            call("call", 8, "undefined element"),
            call("call", I32 - 1, "undefined element"),
            call("init p", (5, 0, 3), ()),
            call("call", 5, 2),
            call("call", 6, 1),
            call("init p", (6, 0, 3), "out of bounds table access"),
            call("init p", (0, 2, 2), "out of bounds table access"),
            call("init q", (4, 0, 3), ()),
            call("call", 5, "uninitialized element"),
            call("call id", 6, 77),
            call("copy", (0, 1, 7), ()),
            call("call", 0, 1),
            call("copy", (2, 0, 3), ()),
            call("call", 2, 1),
            call("call", 3, 2),
            call("copy", (2, 0, 7), "out of bounds table access"),
            call("drop", (), ()),
            call("init p", (0, 0, 1), "out of bounds table access"),
            call("init p", (8, 0, 0), ()),
            call("init declared", (), "out of bounds table access"),
        ],
    ),
    "traps": (
        """(module (memory 0)
          (func (export "unreachable") unreachable)
          (func (export "div_s") (param i32 i32) (result i32)
            (i32.div_s (local.get 0) (local.get 1)))
          (func (export "rem_u") (param i64 i64) (result i64)
            (i64.rem_u (local.get 0) (local.get 1)))
          (func (export "trunc") (param f64) (result i32) (i32.trunc_f64_s (local.get 0)))
          (func (export "load") (result i32) (i32.load8_u (i32.const 0)))
          (func $deep (export "deep") (call $deep)))""",
        [
            call("unreachable", (), "unreachable"),
            call("div_s", (I32 - 7, 2), I32 - 3),
            call("div_s", (1, 0), "integer divide by zero"),
            call("div_s", (1 << 31, I32 - 1), "integer overflow"),
            call("rem_u", (1, 0), "integer divide by zero"),
            call("trunc", f64(-2147483648.9), 1 << 31),
            call("trunc", f64(2147483648.0), "integer overflow"),
            call("trunc", f64(float("nan")), "invalid conversion to integer"),
            call("load", (), "out of bounds memory access"),
            call("deep", (), "call stack exhausted"),
            call("div_s", (9, 3), 3),
        ],
    ),
    "start": (
        """(module (global $g (mut i32) (i32.const 0)) (start $s)
          (func $s (global.set $g (i32.const 9)))
          (func (export "get") (result i32) (global.get $g)))""",
        [call("get", (), 9)],
    ),
    "abbreviations": (
        """(func (export "a") (export "b") (result i32) i32.const 1)
          (memory $m (export "m") (data "xyz" "\\00\\n"))
          (table (export "t") funcref (elem 0 0))
          (global (export "g") i32 (i32.const 1))
          (func (export "load") (result i32) (i32.load8_u (i32.const 2)))
          (func (export "call") (param i32) (result i32)
            (call_indirect (result i32) (local.get 0)))
          (func (export "size") (result i32) (memory.size))""",
        [
            call("a", (), 1),
            call("b", (), 1),
            call("load", (), ord("z")),
            call("call", 1, 1),
            call("call", 2, "undefined element"),
            call("size", (), 1),
        ],
    ),
    "numbers": (
        """(module
          (func (export "i32") (result i32 i32 i32 i32)
            (i32.const -0x8000_0000) (i32.const 4_294_967_295) (i32.const +7) (i32.const 0xAb))
          (func (export "i64") (result i64 i64)
            (i64.const -9223372036854775808) (i64.const 0xffff_ffff_ffff_ffff))
          (func (export "f32") (result f32 f32 f32 f32 f32 f32)
            (f32.const 0x1.fffffep127) (f32.const -nan:0x7f_ffff) (f32.const 16777217)
            (f32.const 0x1.000001p0) (f32.const 0x1.00000100000000001p0) (f32.const 1e-46))
          (func (export "f64") (result f64 f64 f64 f64 f64)
            (f64.const 0x0.0000000000001p-1022) (f64.const 1_0.5e-1) (f64.const -inf)
            (f64.const nan) (f64.const 0x0p0)))""",
        [
            call("i32", (), (1 << 31, I32 - 1, 7, 0xAB)),
            call("i64", (), (1 << 63, I64 - 1)),
            call(
                "f32",
                (),
                (0x7F7FFFFF, 0xFFFFFFFF, f32(16777216), f32(1), 0x3F800001, 0),
            ),
            call("f64", (), (1, f64(1.05), f64(float("-inf")), 0x7FF8000000000000, 0)),
        ],
    ),
    "comments and names": (
        """;; before
        (module $m (; block (; nested ;) ;) (@note "x" (a b)) ;; line
          (func (export "\\u{e9}\\t\\"") (result i32) i32.const 3) ;; last
          (func $!#%&'*+-./:<=>?@\\^_`|~ (export "odd name") (@note [ , ; { } ]) nop)
        )""",
        [call('\u00e9\t"', (), 3), call("odd name", (), ())],
    ),
    "many locals": (
        """(module (func (export "f") (param i32 i64) (param f32) (result f64)
            (local $a f64) (local f64 f64 i32) (local i64 i64 i64) (local.set $a (f64.const 2))
            (local.set 9 (i64.extend_i32_u (local.get 0)))
            (f64.add (local.get $a) (f64.convert_i64_u (i64.add (local.get 9) (local.get 1))))))""",
        [call("f", (3, 4, 0), f64(9.0))],
    ),
}
