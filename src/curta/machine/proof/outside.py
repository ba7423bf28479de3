"""The WebAssembly side: what is outside of a function. Memory, tables, segments, input and output.

Native instructions, which libraries import, are here too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from curta.machine.instructions import MEMORY_PAGES, TRAPS, WORD
from curta.machine.layout import (
    ARGUMENTS,
    ARGUMENTS_LENGTH,
    ENVIRONMENT,
    ENVIRONMENT_LENGTH,
    STATE,
)
from curta.machine.library import instruction_function
from curta.machine.proof.events import accessed, written
from curta.machine.proof.meanings import Words
from curta.machine.proof.terms import ZERO, Term, constant, word_of
from curta.machine.values import WORD_BITS
from curta.machine.wasm.opcodes import MEMORY_ACCESSES, Opcode

if TYPE_CHECKING:
    from curta.machine.proof.source import Frame, SourceRun

_OUT_OF_BOUNDS = TRAPS.index("out of bounds memory access")
_ALL_ONES = constant(-1)
_HIGH = 4
"""How far the high word lies behind the low one, which is touched after it."""


def access(run: SourceRun, name: str, base: Term, offset: int, *stored: Term) -> Term:
    return accessed(run, run.state.world, name, base, offset, *stored)


def _load(row: Opcode, run: SourceRun, frame: Frame, _: int, offset: int) -> None:
    base = frame.stack[-1][0]
    if 8 * row.width > WORD_BITS:
        if offset + _HIGH >= WORD:
            return run.end("trap", _OUT_OF_BOUNDS)
        high = access(run, "load32", base, offset + _HIGH)
        frame.stack[-1] = access(run, "load32", base, offset), high
    else:
        kind = "" if row.width == 4 else "_s" if row.signed else "_u"
        low = access(run, f"load{8 * row.width}{kind}", base, offset)
        wide = row.bits > WORD_BITS
        sign = run.value("shr_s", low, constant(31)) if wide and row.signed else ZERO
        frame.stack[-1] = (low, sign) if wide else (low,)
    frame.index += 1
    return None


def _store(row: Opcode, run: SourceRun, frame: Frame, _: int, offset: int) -> None:
    (base,), value = frame.stack[-2:]
    if 8 * row.width > WORD_BITS:
        if offset + _HIGH >= WORD:
            return run.end("trap", _OUT_OF_BOUNDS)
        access(run, "store32", base, offset + _HIGH, value[1])
        access(run, "store32", base, offset, value[0])
    else:
        access(run, f"store{8 * row.width}", base, offset, value[0])
    del frame.stack[-2:]
    frame.index += 1
    return None


def _memory_size(run: SourceRun, frame: Frame) -> None:
    frame.stack.append((run.state.shared[MEMORY_PAGES],))
    frame.index += 1


def _memory_grow(run: SourceRun, frame: Frame) -> None:
    """The size before, or -1 where there is no room."""
    shared, pages = run.state.shared, frame.stack[-1][0]
    before = shared[MEMORY_PAGES]
    room = run.value("sub", constant(frame.function.module.most_pages), before)
    if run.decide(run.value("gt_u", pages, room)):
        frame.stack[-1] = (_ALL_ONES,)
    else:
        shared[MEMORY_PAGES] = run.value("add", before, pages)
        frame.stack[-1] = (before,)
    frame.index += 1


def _stretch(
    name: str, more: Callable[..., Words], run: SourceRun, frame: Frame, *operands: int
) -> None:
    """An instruction on a stretch of memory or of the table is a function of the library, which
    takes three operands and `more`.
    """
    words = tuple(word for (word,) in frame.stack[-3:])
    run.call(instruction_function(name), (*words, *more(run, frame, *operands)), 0)
    del frame.stack[-3:]
    frame.index += 1


def _data(run: SourceRun, frame: Frame, segment: int) -> Words:
    passive = frame.function.module.data[segment]
    return constant(passive.address), run.state.shared[passive.register]


def _elements(run: SourceRun, frame: Frame, segment: int, _: int) -> Words:
    module = frame.function.module
    passive = module.elements[segment]
    length = run.state.shared[passive.register]
    return constant(module.table_size), constant(passive.address), length


def _drop(kind: str, run: SourceRun, frame: Frame, segment: int) -> None:
    passive = getattr(frame.function.module, kind)[segment]
    run.state.shared[passive.register] = ZERO
    frame.index += 1


OUTSIDE: dict[str, Callable[..., None]] = {
    **{
        name: partial(_load if ".load" in name else _store, row)
        for name, row in MEMORY_ACCESSES.items()
    },
    "memory.size": _memory_size,
    "memory.grow": _memory_grow,
    "memory.fill": partial(_stretch, "memory.fill", lambda *_: ()),
    "memory.copy": partial(_stretch, "memory.copy", lambda *_: ()),
    "memory.init": partial(_stretch, "memory.init", _data),
    "data.drop": partial(_drop, "data"),
    "table.init": partial(_stretch, "table.init", _elements),
    "elem.drop": partial(_drop, "elements"),
    "table.copy": partial(
        _stretch,
        "table.copy",
        lambda run, frame, *_: (constant(frame.function.module.table_size),),
    ),
}
"""What these instructions do, given the run, the frame and their operands."""


# -- native instructions --------------------------------------------------------------------------


def native(run: SourceRun, name: str, words: Words, results: int) -> Words:
    """What a function of the machine gives."""
    value = run.value
    match name:
        case "funnel_shl" | "funnel_shr":
            high, low, amount = words
            return (value(name, high, amount, low),)
        case "trap":
            run.end("trap", _trap_number(run, words[0]))
        case "exit":
            run.end("exit", words[0])
        case "write":
            errors = run.decide(run.terms.equal(words[0], constant(2)))
            run.happen("write_err" if errors else "write_out", written(words[1]))
        case "read":
            return (run.happen("read"),)
        case "argument":
            return (_string_byte(run, ARGUMENTS_LENGTH, ARGUMENTS, words[0]),)
        case "environ":
            return (_string_byte(run, ENVIRONMENT_LENGTH, ENVIRONMENT, words[0]),)
        case "load_state" | "store_state":
            place = value("shl", words[0], constant(2))
            name = "peek32" if name == "load_state" else "poke32"
            return (access(run, name, place, STATE, *words[1:]),)[:results]
        case "peek8" | "peek32" | "poke8" | "poke32":
            return (access(run, name, words[0], 0, *words[1:]),)[:results]
        case _:  # a value of words, maybe an extension
            return (value(name, *words),)
    return ()


def _trap_number(run: SourceRun, code: Term) -> int:
    word = word_of(code)
    last = len(TRAPS) - 1
    if word is not None:
        return min(word, last)
    for number in range(last):
        if run.decide(run.terms.equal(code, constant(number))):
            return number
    return last


def _string_byte(run: SourceRun, length: int, place: int, index: Term) -> Term:
    """A byte of the arguments or the environment, or the end."""
    limit = access(run, "peek32", ZERO, length)
    within = run.decide(run.value("lt_u", index, limit))
    return access(run, "peek8", index, place) if within else _ALL_ONES
