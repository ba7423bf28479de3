"""What the translation of a function needs to know of its module and of the whole program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from curta.errors import UnsupportedFeatureError
from curta.machine.instructions import GLOBALS, ZERO
from curta.machine.layout import FIRST_FREE
from curta.machine.lower.code import Callee
from curta.machine.parts.operations import Extension
from curta.machine.wasm.module import FunctionType, Module

LAST_REGISTER = 2 * GLOBALS - 1


class SharedRegisters:
    """Hands out registers that are the same in every frame.

    Constants that an instruction can take only from a register lie in such registers, set when the
    instance is: then they cost nothing where they are used.
    """

    def __init__(self) -> None:
        self._next = FIRST_FREE
        self.constants: dict[int, int] = {0: ZERO}

    def take(self, what: str) -> int:
        if self._next > LAST_REGISTER:
            raise UnsupportedFeatureError(
                f"{what}: all {LAST_REGISTER - FIRST_FREE + 1} shared registers are in use; "
                "split the module, or keep some of its globals in memory"
            )
        self._next += 1
        return self._next - 1

    def constant(self, word: int) -> int:
        """The register that holds a constant."""
        register = self.constants.get(word)
        if register is None:
            register = self.constants[word] = self.take(f"the constant {word}")
        return register


@dataclass(frozen=True, slots=True)
class PassiveSegment:
    """Where a segment's bytes or entries lie in the private memory, and its present length."""

    address: int
    length_register: int
    length: int


@dataclass(slots=True)
class ModuleContext:
    """One of the modules that are linked: the user's or a library."""

    name: str
    module: Module
    registers: SharedRegisters
    imports: tuple[Callee | str, ...] = ()
    """What the imported functions are: functions of a library, or names of native instructions."""
    extensions: Mapping[str, Extension] = field(default_factory=dict)
    """Native instructions of this machine alone."""
    functions: tuple[FunctionType, ...] = ()
    """Types of all functions, imports first."""
    global_words: tuple[tuple[int, ...], ...] = ()
    """What each global is at first."""
    global_registers: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Where the globals are that change."""
    mutable: frozenset[int] = frozenset()
    """The registers that functions of this module may change."""
    signatures: dict[FunctionType, int] = field(default_factory=dict)
    table_size: int = 0
    most_pages: int = 0
    data: tuple[PassiveSegment, ...] = ()
    elements: tuple[PassiveSegment, ...] = ()

    def callee(self, index: int) -> Callee | str:
        if index < len(self.imports):
            return self.imports[index]
        return self.name, index
