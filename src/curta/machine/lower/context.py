"""What is known of each module before its functions are translated, and of the whole program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from curta.errors import LinkError, UnsupportedFeatureError
from curta.machine.instructions import GLOBALS, PAGE, ZERO
from curta.machine.layout import DATA, ELEMENTS, ENTRY_BYTES, FIRST_FREE, MOST_TABLE_ELEMENTS
from curta.machine.library import imported_function, library_module
from curta.machine.lower.code import USER, Callee
from curta.machine.parts.operations import Extension
from curta.machine.values import to_words
from curta.machine.wasm import MAX_PAGES
from curta.machine.wasm.module import FunctionType, Module
from curta.machine.wasm.opcodes import SEGMENT_USERS

LAST_REGISTER = 2 * GLOBALS - 1


@dataclass(frozen=True, slots=True)
class LowerOptions:
    """`max_memory_pages` is what memory.grow can reach, if the module does not say less; a memory
    that starts larger is an error. `seed` is that of WASI's randomness; the host may give another
    one later (`layout.host_segments`). `extensions` are what the machine has in addition.
    """

    max_memory_pages: int = MAX_PAGES
    seed: int = 0
    extensions: tuple[Extension, ...] = ()


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
    imports: tuple[Callee | str, ...]
    """What the imported functions are: functions of a library, or names of native instructions."""
    functions: tuple[FunctionType, ...]
    """Types of all functions, imports first."""
    global_words: tuple[tuple[int, ...], ...] = ()
    """What each global is at first."""
    global_registers: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Where the globals are that change."""
    signatures: dict[FunctionType, int] = field(default_factory=dict)
    table_size: int = 0
    most_pages: int = 0
    data: tuple[PassiveSegment, ...] = ()
    elements: tuple[PassiveSegment, ...] = ()

    def callee(self, index: int) -> Callee | str:
        if index < len(self.imports):
            return self.imports[index]
        return self.name, index


def user_context(
    module: Module, registers: SharedRegisters, options: LowerOptions
) -> ModuleContext:
    """The module that is to be run."""
    found = (imported_function(module, entry, options.extensions) for entry in module.imports)
    context = _context(USER, module, registers, tuple(found))
    _take_globals(context)
    _measure(context, options)
    _take_segments(context)
    return context


def library_context(name: str, registers: SharedRegisters) -> ModuleContext:
    """A library: its memory is the user's, and all that it imports is native."""
    module = library_module(name)
    natives = tuple(entry.name for entry in module.imported("func"))
    return _context(name, module, registers, natives)


def _context(
    name: str, module: Module, registers: SharedRegisters, imports: tuple[Callee | str, ...]
) -> ModuleContext:
    functions = tuple(module.types[index] for index in module.index_spaces().functions)
    return ModuleContext(name, module, registers, imports, functions)


def _take_globals(context: ModuleContext) -> None:
    """Registers for globals that change; the others are constants. None is imported, so that what
    each is at first is a number.
    """
    context.global_words = tuple(
        tuple(to_words(entry.initial[0].operands, (entry.type.value,)))
        for entry in context.module.globals
    )
    context.global_registers = {
        number: tuple(context.registers.take(f"global {number}") for _ in initial)
        for number, initial in enumerate(context.global_words)
        if context.module.globals[number].type.mutable
    }


def _measure(context: ModuleContext, options: LowerOptions) -> None:
    """Sizes of memory and table."""
    module = context.module
    if module.memories:
        limits = module.memories[0].limits
        most = options.max_memory_pages
        if limits.minimum > most:
            raise LinkError(
                f"a memory of {limits.minimum} pages, {most} are allowed; "
                "allow more with LowerOptions.max_memory_pages"
            )
        context.most_pages = most if limits.maximum is None else min(most, limits.maximum)
    if module.tables:
        context.table_size = module.tables[0].limits.minimum
        if context.table_size > MOST_TABLE_ELEMENTS:
            raise UnsupportedFeatureError(
                f"a table of {context.table_size} elements, at most {MOST_TABLE_ELEMENTS} fit; "
                "make it smaller"
            )
    for type_ in module.types:
        context.signatures.setdefault(type_, len(context.signatures))


def _take_segments(context: ModuleContext) -> None:
    """Places and registers for segments that instructions refer to."""
    module = context.module
    used = {
        (SEGMENT_USERS[instruction.opcode], instruction.operands[0])
        for function in module.functions
        for instruction in function.body
        if instruction.opcode in SEGMENT_USERS
    }

    lengths = [len(data.content) if data.mode == "passive" else 0 for data in module.data]
    context.data = _lay_out(context, "data", lengths, used, DATA, 1)
    lengths = [len(elem.functions) if elem.mode == "passive" else 0 for elem in module.elements]
    context.elements = _lay_out(context, "elem", lengths, used, ELEMENTS, ENTRY_BYTES)
    size = sum(passive.length for passive in context.data)
    if size > (1 << 31) - PAGE:
        raise UnsupportedFeatureError(
            f"{size} bytes of passive data segments, at most 2 GiB fit; make them smaller"
        )


def _lay_out(
    context: ModuleContext,
    what: str,
    lengths: Sequence[int],
    used: set[tuple[str, int]],
    at: int,
    width: int,
) -> tuple[PassiveSegment, ...]:
    """Segments one after another; `width` is how many bytes a byte or a function takes there."""
    found = []
    for number, length in enumerate(lengths):
        wanted = (what, number) in used
        register = context.registers.take(f"{what} {number}") if wanted else 0
        found.append(PassiveSegment(at, register, length if wanted else 0))
        at += width * found[-1].length
    return tuple(found)
