"""A program of core instructions, with all that it needs to be run and explained.

An instance is a conversation. The program waits for an invocation (`await`, instruction 0), the
host appends the number of an entry and then the words of its arguments, the program runs, says the
words of the results, and waits again. So that entries can be called at any time, instruction 0 is
the top of a loop: await a number, jump by it to a stub; the stub awaits the arguments, calls,
copies the results, in order, to registers that nobody reads, and jumps to 0. A copy says its word:
that is how the host learns of it.

Entry 0 sets the instance up: memory size, globals, active segments, start function. It has no
parameters and no results, and the host invokes it once, before all others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from curta.machine.instructions import CoreInstruction
from curta.machine.wasm import ValueType

Callee = tuple[str, int]
"""A function: the module that it is from (USER or the name of a library), and its index there."""
USER = "user"
PRIVATE = 1 << 32
"""Addresses from here on are the private memory's."""
INITIALISE = 0
"""The entry that sets an instance up."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Bytes that lie in memory before the program begins."""

    address: int
    content: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """A function that the host may invoke."""

    number: int
    parameters: tuple[ValueType, ...]
    results: tuple[ValueType, ...]


class WasmLocation(NamedTuple):
    """What WebAssembly asks for: an instruction of a function, which may be in the place of a call
    of another one (`within`) that was put in line.
    """

    callee: Callee
    instruction: int
    within: WasmLocation | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where core instructions come from.

    `function` names it for people; `place` is the index of the WebAssembly instruction that the
    core instruction does (the last of those that it does), or -1 for what no instruction asked for.
    `library` says that the function is not the user's. `asked` says all of it, down to functions
    that were put in line; a hint for those who compare both programs, nothing rests on it.
    """

    function: str
    place: int = -1
    library: bool = False
    asked: WasmLocation | None = None


class Claim(NamedTuple):
    """Both sides where a block begins: `words` are WebAssembly's locals and operands, then those of
    the functions that this one is in line in. What has the same number is the same word, ~k is the
    constant k, None the place to return to. Numbers in `made` are operations of others, in order.
    """

    place: WasmLocation
    words: tuple[int, ...]
    registers: Mapping[int, int | None]
    made: Mapping[int, tuple[str, tuple[int, ...]]]


@dataclass(frozen=True, slots=True)
class Claims:
    """What the lowering says of a program besides. To a proof these are hints: one that is not true
    makes it fail.
    """

    functions: Mapping[Callee, int] = field(default_factory=dict)
    """Where each function begins."""
    globals: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """The registers that hold each global that can change."""
    data: tuple[tuple[int, int], ...] = ()
    """Where each data segment lies in the private memory if it is passive; the register that holds
    its length, or 0 if no instruction refers to it.
    """
    elements: tuple[tuple[int, int], ...] = ()
    blocks: Mapping[int, Claim] = field(default_factory=dict)
    """What holds before the first instruction of a block, by its number."""
    inlined: Mapping[WasmLocation, Callee] = field(default_factory=dict)
    """Calls that have their function in line."""


@dataclass(frozen=True, slots=True)
class CoreProgram:
    """What the prompt says."""

    instructions: tuple[CoreInstruction, ...]
    segments: tuple[Segment, ...] = ()
    entries: Mapping[str, Entry] = field(default_factory=dict)
    origins: tuple[Origin, ...] = ()
    """One for each instruction, if the program was lowered."""
    claims: Claims = field(default_factory=Claims)
