"""Small programs for the lowering, beside those of the front end (wasm_cases).

Each is a module in the text format and calls, in order, on one instance. What they give is what
the interpreter gives.
"""

from __future__ import annotations

CALLS = list[tuple[str, tuple[int, ...]]]
_SWITCHES = [("f", (n,)) for n in (0, 1, 2, 3, 4, 99, 2**32 - 1)]
_PAIRS = [("f", (a, b)) for a in (0, 1, 5, 2**31, 2**32 - 1) for b in (0, 1, 7, 2**32 - 2)]
_WIDE_PAIRS = [
    ("f", (a, b))
    for a in (0, 1, 2**32, 2**63, 2**64 - 1, 2**40 + 5)
    for b in (0, 1, 2**32 - 1, 2**63 - 1, 2**64 - 1, 31, 32, 33)
]
_EDGES = [0, 1, 65528, 65529, 65532, 65533, 65535, 65536, 2**31, 2**32 - 8, 2**32 - 1]

LOWER_CASES: dict[str, tuple[str, CALLS]] = {
    "locals that change while their values are wanted": (
        """(module (func (export "f") (param i32 i32) (result i32) (local i32)
          local.get 0
          local.get 0
          local.get 1
          i32.add
          local.tee 0
          local.get 1
          local.get 0
          local.set 1
          local.get 0
          i32.const 3
          local.set 0
          local.get 0
          i32.mul
          i32.sub
          i32.xor
          i32.add
          local.get 1
          i32.add))""",
        _PAIRS,
    ),
    "results that change places": (
        """(module
          (func $swap (param i32 i32) (result i32 i32) local.get 1 local.get 0)
          (func $turn (param i32 i32 i32) (result i32 i32 i32)
            local.get 2 local.get 0 local.get 1)
          (func (export "f") (param i32 i32) (result i32 i32 i32)
            local.get 0 local.get 1 call $swap
            i32.const 9
            call $turn))""",
        _PAIRS,
    ),
    "wide numbers that change places": (
        """(module (func (export "f") (param i64 i64) (result i64 i64 i64)
          local.get 0
          local.get 1
          local.set 0
          local.set 1
          local.get 0
          i64.const 32
          i64.rotl
          local.set 0
          local.get 1 local.get 0 local.get 1 local.get 0 i64.add))""",
        _WIDE_PAIRS,
    ),
    "loop that passes values around": (
        """(module (func (export "f") (param i32) (result i32 i32)
          i32.const 1 i32.const 2
          (loop (param i32 i32) (result i32 i32)
            (block (param i32 i32) (result i32 i32)
              (block $swap (param i32 i32) (result i32 i32)
                (br_if $swap (i32.and (local.get 0) (i32.const 1)))
                (drop) (i32.const 17))
              (local.set 0 (i32.sub (local.get 0) (i32.const 1))))
            (local.get 0)
            (i32.const 0)
            i32.gt_s
            br_if 0)))""",
        [("f", (n,)) for n in (0, 1, 2, 5, 6)],
    ),
    "branches with values, taken and not": (
        """(module (func (export "f") (param i32 i32) (result i32)
          (block $a (result i32)
            (i32.add (i32.const 100)
              (block $b (result i32)
                (local.get 1)
                (br_if $a (i32.eq (local.get 0) (i32.const 1)))
                (br_if $b (i32.lt_u (local.get 0) (i32.const 3)))
                (drop)
                (i32.const 5)
                (br_if 2 (i32.eqz (i32.eqz (local.get 1))))
                (drop)
                (i32.const 6))))))""",
        _PAIRS,
    ),
    "table of branches with values": (
        """(module (func (export "f") (param i32) (result i32)
          (block $c (result i32) (block $b (result i32) (block $a (result i32)
            (i32.mul (local.get 0) (i32.const 10))
            (local.get 0)
            (br_table $a $b 3 $c $a $b))
            (i32.const 1) (i32.add))
          (i32.const 1) (i32.add))
          (i32.const 1) (i32.add)))""",
        _SWITCHES,
    ),
    "tables of one and none": (
        """(module (func (export "f") (param i32) (result i32)
          (block (block (br_table 1 0 (local.get 0))) (return (i32.const 7)))
          (block (br_table 0 (local.get 0)))
          (block (br_table 0 0 0 (i32.const 2)))
          (i32.const 8)))""",
        _SWITCHES,
    ),
    "conditions that are constants": (
        """(module (func (export "f") (param i32) (result i32)
          (if (i32.const 0) (then (return (i32.const 1))))
          (if (result i32) (i32.const 1) (then (local.get 0)) (else (i32.const 3)))
          (if (param i32) (result i32) (i32.eq (i32.const 1) (i32.const 2))
            (then (drop) (i32.const 9)) (else (i32.const 4) (i32.add)))
          (block (br_if 0 (i32.const 0)) (local.set 0 (i32.const 50)))
          (block (br_if 0 (i32.const 1)) (local.set 0 (i32.const 60)))
          (select (i32.const 5) (local.get 0) (i32.const 0))
          (i32.add)))""",
        _SWITCHES,
    ),
    "if without else that has values": (
        """(module (func (export "f") (param i32 i32) (result i32)
          (local.get 1) (local.get 0)
          (if (param i32) (result i32) (then (i32.const 1) (i32.add)))
          (if (param) (i32.lt_s (local.get 0) (local.get 1))
            (then (local.set 1 (i32.const 1000))))
          (i32.add (local.get 1))))""",
        _PAIRS,
    ),
    "loops right behind one another": (
        """(module (func (export "f") (param i32) (result i32) (local i32)
          (block $a (loop $l (br_if $a (i32.ge_s (local.get 1) (local.get 0))) (br $l)))
          (block $b (loop $m
            (br_if $b (i32.gt_s (local.get 1) (local.get 0)))
            (loop $n
              (if (i32.lt_s (local.get 1) (i32.const 9))
                (then (local.set 1 (i32.add (local.get 1) (i32.const 2))) (br $n))))
            (local.set 1 (i32.add (local.get 1) (i32.const 1)))
            (br $m)))
          (local.get 1)))""",
        [("f", (n,)) for n in (2**32 - 1, 0, 2**31)],
    ),
    "choices": (
        """(module (func (export "f") (param i32 i32) (result i32 i32 i32 i32) (local i32)
          (local.set 2 (select (local.get 0) (local.get 1)
            (i32.lt_s (local.get 0) (local.get 1))))
          (local.set 0 (select (local.get 0) (local.get 1)
            (i32.gt_u (local.get 0) (local.get 1))))
          (local.set 1 (select (i32.const 3) (local.get 1)
            (i32.eqz (local.get 1))))
          (select (i32.const 1) (i32.const 2) (i32.ne (local.get 0) (local.get 2)))
          (local.get 0) (local.get 1) (local.get 2)))""",
        _PAIRS,
    ),
    "wide choices": (
        """(module (func (export "f") (param i64 i64) (result i64 i64)
          (local.set 0 (select (local.get 0) (local.get 1)
            (i64.lt_s (local.get 0) (local.get 1))))
          (select (i64.const 3) (local.get 0) (i64.eqz (local.get 1)))
          (select (local.get 1) (local.get 0) (i64.gt_u (local.get 0) (local.get 1)))))""",
        _WIDE_PAIRS,
    ),
    "wide shifts": (
        """(module (func (export "f") (param i64 i64) (result i64 i64 i64 i64 i64) (local i64)
          (i64.shl (local.get 0) (local.get 1))
          (i64.shr_u (local.get 0) (local.get 1))
          (i64.rotr (local.get 0) (local.get 1))
          (local.set 2 (i64.rotl (local.get 0) (local.get 1)))
          (local.set 0 (i64.shr_s (local.get 0) (local.get 1)))
          (local.get 0) (local.get 2)))""",
        _WIDE_PAIRS,
    ),
    "locals that are not set on all ways": (
        """(module (func (export "f") (param i32) (result i32) (local i32 i32 i64)
          (block (br_if 0 (local.get 0)) (local.set 1 (i32.const 7)))
          (loop
            (local.set 2 (i32.add (local.get 2) (local.get 1)))
            (local.set 1 (i32.add (local.get 1) (i32.const 1)))
            (local.set 3 (i64.add (local.get 3) (i64.const 4294967297)))
            (br_if 0 (i32.lt_u (local.get 1) (i32.const 10))))
          (i32.add (local.get 2) (i32.wrap_i64 (i64.shr_u (local.get 3) (i64.const 30)))))
          (func (export "twice") (param i32) (result i32)
            (i32.add (call 0 (local.get 0)) (call 0 (i32.const 1)))))""",
        [("twice", (0,)), ("twice", (1,)), ("f", (0,)), ("twice", (0,))],
    ),
    "globals whose values are wanted across changes": (
        """(module (global $g (mut i32) (i32.const 5)) (global $w (mut i64) (i64.const -2))
          (global $c i32 (i32.const 70000)) (global $f f64 (f64.const 1.5))
          (func $change (result i32)
            (global.set $g (i32.add (global.get $g) (global.get $c)))
            (global.set $w (i64.add (global.get $w) (i64.const 1)))
            (global.get $g))
          (func (export "f") (param i32) (result i32 i64 f64)
            (global.get $g)
            (call $change)
            (i32.sub)
            (global.get $g)
            (block (if (local.get 0) (then (drop (call $change)))))
            (i32.add)
            (global.get $w)
            (loop (drop (call $change)))
            (global.set $w (i64.const 99))
            (global.get $f)))""",
        [("f", (0,)), ("f", (1,)), ("f", (0,))],
    ),
    "bounds of memory": (
        """(module (memory 1)
          (func (export "load") (param i32) (result i32) (i32.load (local.get 0)))
          (func (export "load8") (param i32) (result i32) (i32.load8_s (local.get 0)))
          (func (export "wide") (param i32) (result i64) (i64.load (local.get 0)))
          (func (export "far") (param i32) (result i64) (i64.load offset=4294967292 (local.get 0)))
          (func (export "near") (param i32) (result i32) (i32.load16_u offset=9 (local.get 0)))
          (func (export "store") (param i32)
            (i64.store (local.get 0) (i64.const 0x1122334455667788)))
          (func (export "store far") (param i32)
            (f64.store offset=4294967290 (local.get 0) (f64.const 1)))
          (func (export "constant") (result i64) (i64.load offset=65528 (i32.const 0)))
          (func (export "beyond") (result i32) (i32.load offset=65533 (i32.const 0)))
          (func (export "over") (result i32) (i32.load offset=4294967295 (i32.const 1)))
          (func (export "drop") (param i32) (drop (i32.load8_u (local.get 0)))))""",
        [
            (name, (address,))
            for name in ("store", "load", "load8", "wide", "far", "near", "store far", "drop")
            for address in _EDGES
        ]
        + [("constant", ()), ("beyond", ()), ("over", ())],
    ),
    "memory that grows": (
        """(module (memory 1 5)
          (func (export "grow") (param i32) (result i32 i32 i32)
            (memory.size) (memory.grow (local.get 0)) (memory.size))
          (func (export "size") (result i32) (local i32)
            (local.set 0 (memory.size))
            (drop (memory.grow (i32.const 1)))
            (local.get 0))
          (func (export "touch") (param i32) (i32.store8 (local.get 0) (i32.const 1))))""",
        [
            *(("touch", (65536,)), ("grow", (1,)), ("touch", (65536,)), ("grow", (0,))),
            *(("grow", (2**32 - 1,)), ("size", ()), ("grow", (3,)), ("grow", (2,)), ("size", ())),
        ],
    ),
    "stretches of memory": (
        """(module (memory 1) (data $p "0123456789abcdefghij") (data (i32.const 65530) "xyz")
          (func (export "fill") (param i32 i32 i32)
            (memory.fill (local.get 0) (local.get 1) (local.get 2)))
          (func (export "copy") (param i32 i32 i32)
            (memory.copy (local.get 0) (local.get 1) (local.get 2)))
          (func (export "init") (param i32 i32 i32)
            (memory.init $p (local.get 0) (local.get 1) (local.get 2)))
          (func (export "drop") (data.drop $p))
          (func (export "active") (param i32) (memory.init 1 (i32.const 0) (i32.const 0)
            (local.get 0))))""",
        [
            *(("init", (100, 3, n)) for n in (0, 1, 5, 17, 18)),
            *(("init", (place, 20, 0)) for place in (0, 65536, 65537)),
            *(("init", (65530, 0, n)) for n in (6, 7)),
            *(("fill", (place, 0x1AB, n)) for place in (1000, 65500) for n in (0, 1, 35, 36, 37)),
            *(("fill", (place, 1, 0)) for place in (65535, 65536, 65537, 2**32 - 1)),
            ("fill", (1, 1, 2**32 - 1)),
            *(("copy", (to, 100, n)) for to in (98, 99, 101, 104, 117) for n in (0, 3, 18, 40)),
            *(("copy", (65520, start, 20)) for start in (65510, 65520, 65530)),
            *(("copy", (start, 65520, 20)) for start in (65510, 0)),
            *(("copy", (2**32 - 4, 0, n)) for n in (0, 4, 8)),
            *(("copy", (0, 2**32 - 4, n)) for n in (4, 8)),
            *(("active", (n,)) for n in (0, 1)),
            ("drop", ()),
            ("init", (0, 0, 1)),
            ("init", (0, 0, 0)),
            ("drop", ()),
        ],
    ),
    "table": (
        """(module (type $i (func (param i32) (result i32)))
          (type $j (func (param i32) (result i32)))
          (type $w (func (result i64)))
          (table 8 funcref)
          (elem (i32.const 1) $a $b $c)
          (elem $p func $c $b $a)
          (func $a (type $i) (i32.add (local.get 0) (i32.const 1)))
          (func $b (type $j) (i32.mul (local.get 0) (i32.const 2)))
          (func $c (type $w) (i64.const -7))
          (func (export "call") (param i32 i32) (result i32)
            (call_indirect (type $i) (local.get 1) (local.get 0)))
          (func (export "wide") (param i32) (result i64) (call_indirect (type $w) (local.get 0)))
          (func (export "fixed") (result i32)
            (call_indirect (type $j) (i32.const 3) (i32.const 1)))
          (func (export "copy") (param i32 i32 i32)
            (table.copy (local.get 0) (local.get 1) (local.get 2)))
          (func (export "init") (param i32 i32 i32)
            (table.init $p (local.get 0) (local.get 1) (local.get 2)))
          (func (export "drop") (elem.drop $p)))""",
        [
            *(("call", (n, 20)) for n in (0, 1, 2, 3, 4, 7, 8, 2**32 - 1)),
            *(("wide", (n,)) for n in (0, 1, 3, 8)),
            ("fixed", ()),
            ("copy", (3, 1, 3)),
            *(("wide", (n,)) for n in (3, 5)),
            ("copy", (0, 1, 5)),
            *(("call", (n, 20)) for n in range(8)),
            *(("copy", (8, 8, n)) for n in (0, 1)),
            ("copy", (2**32 - 1, 0, 1)),
            ("init", (5, 0, 3)),
            *(("call", (n, 20)) for n in (5, 6, 7)),
            *(("init", (n, 1, 2)) for n in (6, 7)),
            ("init", (0, 2, 2)),
            ("drop", ()),
            ("init", (0, 0, 1)),
            ("init", (8, 0, 0)),
        ],
    ),
    "start and recursion": (
        """(module (global $g (mut i32) (i32.const 0)) (memory 1)
          (start $go)
          (func $go (global.set $g (i32.add (global.get $g) (i32.const 5)))
            (i32.store (i32.const 8) (global.get $g)))
          (func $fib (export "fib") (param i32) (result i32)
            (if (result i32) (i32.lt_u (local.get 0) (i32.const 2))
              (then (local.get 0))
              (else (i32.add (call $fib (i32.sub (local.get 0) (i32.const 1)))
                (call $fib (i32.sub (local.get 0) (i32.const 2)))))))
          (func (export "get") (result i32 i32) (global.get $g) (i32.load (i32.const 8))))""",
        [("get", ()), *(("fib", (n,)) for n in range(9)), ("get", ())],
    ),
    "many arguments and results": (
        """(module
          (func $mix (param i32 i64 f32 f64 i32) (result i64 i32 f64 f32)
            (local.get 1) (local.get 4) (local.get 3) (local.get 2))
          (func (export "f") (param i32 i64 f32 f64 i32) (result f32 i64 i32)
            (local f64)
            (call $mix (i32.const 1) (local.get 1) (f32.neg (local.get 2))
              (f64.neg (local.get 3)) (local.get 0))
            (local.set 2) (local.set 5) (local.set 4) (local.set 1)
            (f32.abs (local.get 2))
            (i64.reinterpret_f64 (f64.copysign (f64.abs (local.get 5)) (local.get 3)))
            (i32.reinterpret_f32 (f32.copysign (local.get 2) (f32.const -1)))))""",
        [("f", (1, 2**40, 0x3FC00000, 0xC00C000000000000, 3))],
    ),
}
