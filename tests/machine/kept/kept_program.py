"""A program that reads, writes, calls and traps, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from curta import Machine
from curta.machine.host import Host
from curta.machine.kept.file import KeptRun, Kind
from curta.machine.kept.keeping import Ready, play
from curta.machine.wasm.text import assemble

REFERENCE = Machine("reference")
MODULE = assemble("""(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (memory 1)
  (func $spend (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 7)) (else
      (i32.add (local.get 0) (call $spend (i32.sub (local.get 0) (i32.const 1)))))))
  (func (export "_start") (local i32 i32)
    (loop $next
      (local.set 0 (call $read))
      (if (i32.eq (local.get 0) (i32.const 33)) (then unreachable))
      (if (i32.ge_s (local.get 0) (i32.const 0)) (then
        (i32.store8 (local.get 1) (call $spend (i32.and (local.get 0) (i32.const 31))))
        (call $write (i32.const 1)
          (i32.add (i32.const 48) (i32.and (i32.const 63) (i32.load8_u (local.get 1)))))
        (call $write (i32.const 2) (i32.const 65))
        (local.set 1 (i32.add (local.get 1) (i32.const 1)))
        (br $next)))))
  (func (export "add") (param i64 i32) (result i64 i32)
    (i64.add (local.get 0) (i64.extend_i32_u (call $spend (local.get 1)))) (i32.const -1)))""")
GIVEN = bytes(range(40, 100))
OPTIONS = {"stdin": GIVEN, "chapter_tokens": 300}


def goes_on(path: Path, ready: Ready) -> tuple[bytes, bytes]:
    """What a run that goes on hands on, and all that it wrote."""
    handed: list[bytes] = []
    with KeptRun.open(path, to_write=True) as kept:
        fresh = replace(ready, talker=ready.talker.fresh())
        play(kept, fresh, Host(on_stdout=handed.append))
        output = kept.streams[Kind.OUTPUT]
        return b"".join(handed), output.read(0, output.length)
