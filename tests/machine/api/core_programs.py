"""Programs of core instructions, written by hand, that talk with the host."""

from __future__ import annotations

from curta.machine.core_program import CoreProgram, Entry, Origin, Segment
from curta.machine.instructions import FIRST_GLOBAL, MEMORY_PAGES, CoreInstruction

SCRATCH = FIRST_GLOBAL
CALLS = 4
"""The first stub: a stub's place is CALLS + its entry number times STUB."""
STUB = 8


def program() -> CoreProgram:
    """Entries: add two words, a 64-bit swap, trap, exit, and an echo of the input.

    Instructions 0 to 3 wait for the number of an entry and jump to its stub.
    """
    stubs = [
        # 0: set up: one page of memory
        [CoreInstruction("copy", d=MEMORY_PAGES, immediate=1)],
        # 1: add(i32, i32) -> i32
        [
            CoreInstruction("await", d=1),
            CoreInstruction("await", d=2),
            CoreInstruction("add", a=1, b=2, d=SCRATCH),
        ],
        # 2: swap(i64) -> (i32, i32)
        [
            CoreInstruction("await", d=1),
            CoreInstruction("await", d=2),
            CoreInstruction("copy", b=2, d=SCRATCH),
            CoreInstruction("copy", b=1, d=SCRATCH),
        ],
        # 3: divide(i32, i32) -> i32, which may trap
        [
            CoreInstruction("await", d=1),
            CoreInstruction("await", d=2),
            CoreInstruction("div_s", a=1, b=2, d=1),
            CoreInstruction("copy", b=1, d=SCRATCH),
        ],
        # 4: quit(i32): the exit code is the argument
        [
            CoreInstruction("await", d=1),
            CoreInstruction("copy", b=1, d=SCRATCH),
            CoreInstruction("exit"),
        ],
        # 5: _start: the input to the output, with a mark on the standard error at the end
        [
            CoreInstruction("read", d=1),
            CoreInstruction("jump_eq", a=1, immediate=0xFFFFFFFF, target=CALLS + 5 * STUB + 4),
            CoreInstruction("write_out", b=1),
            CoreInstruction("jump", target=CALLS + 5 * STUB),
            CoreInstruction("write_err", immediate=ord("!")),
        ],
        # 6: spin: for ever
        [CoreInstruction("jump", target=CALLS + 6 * STUB)],
        # 7: same(f64) -> f64, through memory
        [
            CoreInstruction("await", d=1),
            CoreInstruction("await", d=2),
            CoreInstruction("store32", a=0, immediate=8, c=2),
            CoreInstruction("copy", b=1, d=SCRATCH),
            CoreInstruction("load32", a=0, immediate=8, d=SCRATCH),
        ],
    ]
    code = [
        CoreInstruction("await", d=1),
        CoreInstruction("mul", a=1, immediate=STUB, d=1),
        CoreInstruction("add", a=1, immediate=CALLS, d=1),
        CoreInstruction("call_to", a=1, immediate=0, d=30),
    ]
    origins = [Origin("entry", library=True)] * CALLS
    for number, stub in enumerate(stubs):
        rest = [CoreInstruction("jump")] * (STUB - len(stub))
        code += [*stub, *rest]
        # The stub of divide is a library function, so that a trap is placed in what came before.
        origins += [Origin(f"stub{number}", -1, library=number == 3)] * STUB
    i32, i64, f64 = "i32", "i64", "f64"
    entries = {
        "add": Entry(1, (i32, i32), (i32,)),
        "swap": Entry(2, (i64,), (i32, i32)),
        "divide": Entry(3, (i32, i32), (i32,)),
        "quit": Entry(4, (i32,), ()),
        "_start": Entry(5, (), ()),
        "spin": Entry(6, (), ()),
        "same": Entry(7, (f64,), (f64,)),
    }
    return CoreProgram(
        tuple(code), (Segment(16, b"abc"), Segment((1 << 32) + 5, b"")), entries, tuple(origins)
    )
