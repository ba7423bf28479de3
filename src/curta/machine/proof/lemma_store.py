"""What was proved before: functions by all that their proof depends on.

The C library's functions are the same in every program but for the numbers of what they call. So in
a fingerprint users' functions are numbered as they come, and jumps count from where the function
begins. Hints are not part of it: they help to find a proof, and what is proved holds without them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from curta.machine.core_program import USER, Callee
from curta.machine.instructions import CORE, GLOBALS, has_fourth
from curta.machine.proof.modules import SourceModule, Sources
from curta.machine.proof.target import Target
from curta.machine.wasm.module import Instruction
from curta.store import Shelf, key_of

PROVED = Shelf("proved")


@dataclass(frozen=True, slots=True)
class LemmaStore:
    """Lemmas of proved functions; `digest` is that of all that proves."""

    digest: bytes

    def find(self, fingerprint: str) -> tuple[str, ...] | None:
        lemmas = PROVED.read(key_of(self.digest, fingerprint.encode()))
        return None if lemmas is None else tuple(json.loads(lemmas))

    def keep(self, fingerprint: str, lemmas: tuple[str, ...]) -> None:
        PROVED.keep(key_of(self.digest, fingerprint.encode()), json.dumps(lemmas).encode())


def fingerprint(
    sources: Sources, target: Target, callee: Callee, start: int, reached: Iterable[int]
) -> str:
    """All that it depends on whether these instructions do what a function does."""
    numbers: dict[Callee, int] = {}

    def named(other: Callee) -> object:
        if other[0] != USER:
            return other
        type_ = sources.user.functions[other[1]]
        return numbers.setdefault(other, len(numbers)), type_

    function = sources.function(callee)
    module = function.module
    parts: list[object] = [named(callee), function.type, function.locals, target.shared]
    parts += [module.most_pages, module.table_size]
    for instruction in function.body:
        parts.append(instruction.opcode)
        if instruction.opcode == "call":
            index = instruction.operands[0]
            called = module.callee(index)
            native = called, module.functions[index]  # how many words an extension takes
            parts.append(native if isinstance(called, str) else named(called))
        else:
            parts += _meant(module, instruction)
    for at in sorted(reached):
        core = target.instructions[at]
        there = target.starts.get(core.target)
        is_call = core.operation in ("jump", "call")
        leads = named(there) if is_call and there else core.target - start
        if core.operation not in CORE:
            parts.append(sources.extensions[core.operation])
        parts.append((at - start, core.operation, core.a, core.b, core.c, core.d, core.immediate))
        parts.append(core.e if has_fourth(core.operation) else None)
        parts.append(leads if core.operation.startswith(("jump", "call")) else None)
        fourth = core.e if has_fourth(core.operation) else None
        for register in (core.a, core.b, core.c, core.d, fourth):
            if register is not None and register >= GLOBALS:
                parts.append(target.constants.get(register))
    return repr(parts)


def _meant(module: SourceModule, instruction: Instruction) -> Iterable[object]:
    """Operands, with what they refer to in its place."""
    if not instruction.operands:
        return ()
    first, *others = instruction.operands
    match instruction.opcode:
        case "call_indirect":
            type_ = module.module.types[first]
            return type_, module.signatures[type_]
        case "global.get" | "global.set":
            return module.globals[first]
        case "memory.init" | "data.drop":
            return (module.data[first],)
        case "table.init" | "elem.drop":
            return (module.elements[first],)
        case "block" | "loop" | "if":
            return module.module.block_type(first), others
    return instruction.operands
