"""A run of several chapters, and the same in parts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from curta import Machine
from curta.machine.kept.file import KeptRun
from curta.machine.kept.keeping import Ready
from curta.machine.verify.chapters import ChapterPart, read_chapter
from curta.machine.verify.jobs import (
    VerificationPlan,
    complete_chapters,
)
from curta.machine.wasm.text import assemble

REFERENCE = Machine("reference")
MODULE = assemble("""(module
  (import "curta" "write" (func $write (param i32 i32)))
  (import "curta" "read" (func $read (result i32)))
  (memory 1) (global $sum (mut i32) (i32.const 1))
  (func $sum_to (param i32) (result i32)
    (if (result i32) (i32.eqz (local.get 0)) (then (i32.const 7)) (else
      (i32.add (local.get 0) (call $sum_to (i32.sub (local.get 0) (i32.const 1)))))))
  (func (export "_start") (local i32)
    (loop $next
      (local.set 0 (call $read))
      (if (i32.ge_s (local.get 0) (i32.const 0)) (then
        (global.set $sum (i32.mul (global.get $sum) (i32.const 0x10001)))
        (i32.store (local.get 0) (i32.add (global.get $sum) (call $sum_to (local.get 0))))
        (call $write (i32.const 1)
          (i32.add (i32.const 48) (i32.and (i32.const 63) (i32.load8_u (local.get 0)))))
        (br $next)))))
  (func (export "sum") (param i32) (result i32) (call $sum_to (local.get 0))))""")
GIVEN = bytes(range(10, 40))


def read(path: Path, ready: Ready, length: int) -> list[ChapterPart]:
    parts: list[ChapterPart] = []
    with KeptRun.open(path) as kept:
        for number in range(1, complete_chapters(kept) + 1):
            read_chapter(kept, ready, number, lambda _: length, parts.append)
    return parts


def plan(chapters: range, length: int = 300, **options: Any) -> VerificationPlan:
    return VerificationPlan("hull", lambda _: length, chapters, **options)
