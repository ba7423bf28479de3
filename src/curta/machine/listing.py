"""Programs and traces as text that a person can read.

`disassembly` sets WebAssembly beside core instructions beside tokens; `executed` sets a trace
beside the instructions that it executed, one line for each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from curta.machine.core_program import PRIVATE
from curta.machine.ids import ENDING, ENDS, FIRST_ERROR, FIRST_OUTPUT, Ids, last_words, names
from curta.machine.instructions import (
    CORE,
    FIRST_GLOBAL,
    GLOBALS,
    MEMORY_PAGES,
    SIGN,
    TRAPS,
    WORD,
    ZERO,
    CoreInstruction,
    kind_of,
    operation_of,
)
from curta.machine.loaded import LoadedProgram
from curta.machine.trace import counters
from curta.machine.vocabulary import FIELDS, RECORD
from curta.machine.wasm.module import Expression, Instruction, Module
from curta.machine.wasm.opcodes import MARKERS, MEMORY_ACCESSES

if TYPE_CHECKING:
    from curta.machine.proof import Verdict


# -- instructions ---------------------------------------------


def register(number: int) -> str:
    """r: in the current frame; g: the same in every frame."""
    if number < GLOBALS:
        return f"r{number}"
    special = {ZERO: "zero", MEMORY_PAGES: "pages"}
    return special.get(number) or f"g{number - FIRST_GLOBAL}"


def constant(word: int) -> str:
    return str(word - WORD if word >= SIGN else word)


def instruction_text(instruction: CoreInstruction) -> str:
    """A core instruction: what it computes, and where that goes."""
    name, b = instruction.operation, instruction.b
    words = {field: register(getattr(instruction, field)) for field in "acde"}
    words["b"] = constant(instruction.immediate) if b is None else register(b)
    operands = operation_of(name).operands
    if name not in CORE and words["b"] == "0" and not instruction.c:
        operands = "a"
    return operation_of(name).listing.format(
        name=name,
        sources=", ".join(words[field] for field in "abce" if field in operands),
        address=_address(words["a"], instruction),
        immediate=instruction.immediate,
        target=instruction.target,
        trap=TRAPS[instruction.immediate] if name == "trap" else "",
        **words,
    )


def _address(a: str, instruction: CoreInstruction) -> str:
    parts = [a] if instruction.b is None else [a, register(instruction.b)]
    return " + ".join([*parts, *([str(instruction.immediate)] if instruction.immediate else [])])


def wasm_text(instruction: Instruction) -> str:
    """A WebAssembly instruction, without the places of its block's ends."""
    operands = instruction.operands
    match instruction.opcode:
        case "block" | "loop" | "if":
            operands = operands[:1] if operands[0] is not None else ()
        case "else":
            operands = ()
        case "br_table":
            operands = (*operands[0], operands[1])
        case name if name in MEMORY_ACCESSES:
            operands = (f"offset={operands[1]}",) if operands[1] else ()
        case "i32.const":
            operands = (constant(operands[0]),)
    return " ".join([instruction.opcode, *map(str, operands)])


# -- programs ---------------------------------------------


def disassembly(program: LoadedProgram, module: Module | None) -> Iterator[str]:
    """The program, function by function, and its memory; of a baked one no module is known."""
    bodies = {} if module is None else _bodies(module)
    tokens_of = program.tokens
    current, shown = "", -1
    for number in range(len(program)):
        origin = program.origin(number)
        if origin.function != current or number == 0:
            current, shown = origin.function, -1
            kind = " (library)" if origin.library else ""
            yield f"\n{current}{kind}:"
        body = () if origin.library else bodies.get(current, ())
        asked: list[str] = []
        if origin.place > shown and origin.place < len(body):
            asked = [
                wasm_text(step)
                for step in body[shown + 1 : origin.place + 1]
                if step.opcode not in MARKERS
            ]
            shown = origin.place
        for line in asked[:-1]:
            yield f"    {line}"
        record = program.records[number * RECORD : (number + 1) * RECORD]
        said = record_tokens([tokens_of[token] for token in record.tolist()])
        tokens = "" if program.baked else " ".join(said)
        text = instruction_text(program.instruction(number))
        yield f"    {asked[-1] if asked else '':<28} {number:>6}  {text:<44} {tokens}"
    if program.segments:
        yield "\nmemory:"
    for segment in program.segments:
        private, address = divmod(segment.address, PRIVATE)
        place = f"{'private ' if private else ''}{address:#x}"
        yield f"    {place:<28} {len(segment.content):>6}  {segment.content[:24]!r}"


def record_tokens(record: Sequence[str]) -> list[str]:
    """The tokens of an instruction, with leading zero bytes of its operands left out."""
    shown, at = [record[0]], 1
    for name, size in FIELDS.items():
        value = [token.removeprefix("P") for token in record[at : at + size]]
        while len(value) > 1 and value[0] == "0":
            del value[0]
        if value != ["0"]:
            shown.append(f"{name}:{'.'.join(value)}")
        at += size
    return shown


def _bodies(module: Module) -> dict[str, Expression]:
    """Functions by the names that the lowering gives them."""
    known = dict(module.function_names)
    for entry in module.exports:
        if entry.kind == "func":
            known.setdefault(entry.index, entry.name)
    first = len(module.imported("func"))
    return {
        known.get(index, f"function {index}"): function.body
        for index, function in enumerate(module.functions, first)
    }


def proof_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """What is proved, function by function, and the lemmas that it rests on."""
    refused = sum(verdict.refused is not None for verdict in verdicts)
    yield f"{len(verdicts) - refused} of {len(verdicts)} functions are proved: what the prompt says"
    yield "does what the WebAssembly does; what a proof rests on is said in docs/proofs.md"
    for verdict in verdicts:
        yield f"{verdict.start:>8}  {verdict.instructions:>6} instructions  {verdict.name}"
        if verdict.refused is not None:
            yield f"{'':>10}not proved: {verdict.refused}"
        elif verdict.lemmas:
            yield f"{'':>10}by {', '.join(verdict.lemmas)}"


# -- traces ---------------------------------------------


def executed(program: LoadedProgram, ids: Ids) -> Iterator[str]:
    """A line for every core instruction: its place, what it is, the tokens that it said.

    `ids` is the whole conversation behind the prompt.
    """
    places = counters(ids)
    ends = np.flatnonzero(ENDING[ids] | ENDS[ids])
    start = 0
    function = ""
    for step, end in enumerate([*ends.tolist(), *([len(ids) - 1] if len(ids) else [])], 1):
        if end < start:
            return
        number = int(places[start])
        origin = program.origin(number)
        if origin.function != function:
            function = origin.function
            yield f"{function}:"
        tokens = ids[start : end + 1]
        instruction = program.instruction(number)
        text = instruction_text(instruction)
        value = _value(instruction, tokens)
        yield f"{step:>9} {number:>6}  {text:<44} {' '.join(names(tokens.tolist())):<20} {value}"
        start = end + 1


def _value(instruction: CoreInstruction, tokens: Ids) -> str:
    """What an instruction came to."""
    last = int(tokens[-1])
    if FIRST_OUTPUT <= last < FIRST_ERROR + 256:
        return repr(bytes([(last - FIRST_OUTPUT) % 256]))[1:]
    if kind_of(instruction.operation) not in ("value", "load", "read", "divide"):
        return ""
    words = last_words(tokens, 1)
    if not words or not ENDING[last]:
        return ""
    signed = f" ({constant(words[0])})" if words[0] >= SIGN else ""
    return f"= {words[0]}{signed}"
