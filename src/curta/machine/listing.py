"""Core instructions as people write them: `add r5, r3, #7`, `jump_lt_s r1, r2 -> 120`."""

from __future__ import annotations

from curta.machine.instructions import GLOBALS, KINDS, MEMORY_PAGES, TRAPS, ZERO, Instruction

_NAMES = {ZERO: "zero", MEMORY_PAGES: "pages"}
_ONE_SOURCE = frozenset({"clz", "ctz", "popcnt", "extend8", "extend16"})
_THREE_SOURCES = frozenset({"select", "add3", "sub3", "funnel_shl", "funnel_shr"})


def register_name(register: int) -> str:
    """r5 in the frame, g5 for one that all frames share."""
    if register in _NAMES:
        return _NAMES[register]
    return f"g{register - GLOBALS}" if register >= GLOBALS else f"r{register}"


def describe(instruction: Instruction) -> str:
    """An instruction in one line; `->` is where it goes."""
    name = instruction.operation
    operands = ", ".join(_operands(instruction))
    text = f"{name} {operands}" if operands else name
    if name == "call" or (name.startswith("jump") and name != "jump_table"):
        text += f" -> {instruction.target}"
    return text


def _operands(instruction: Instruction) -> list[str]:
    name, a, c, d = (
        instruction.operation,
        *map(register_name, (instruction.a, instruction.c, instruction.d)),
    )
    b = f"#{instruction.immediate}" if instruction.b is None else register_name(instruction.b)
    place = f"[{a}]" if instruction.immediate == 0 else f"[{a} + {instruction.immediate}]"
    frame = f"frame + {instruction.immediate}"
    match KINDS[name], name:
        case "value", "copy":
            return [d, b]
        case "value", _ if name in _ONE_SOURCE:
            return [d, a]
        case "value", _ if name in _THREE_SOURCES:
            return [d, a, b, c]
        case "value" | "divide", _:
            return [d, a, b]
        case "load", _:
            return [d, place]
        case "store", _:
            return [place, c]
        case "jump", "jump":
            return []
        case "jump", "call":
            return [frame, d]
        case "jump", "call_to":
            return [a, frame, d]
        case "jump", "return":
            return [a]
        case "jump", _:
            return [a, b]
        case "write", _:
            return [b]
        case "read", _:
            return [d]
        case "end", "trap":
            return [f'"{TRAPS[instruction.immediate]}"']
    return []
