"""What WebAssembly says: the user's module and the libraries, ready to be executed on terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property

from curta.machine.core_program import USER, Callee, Claims, WasmLocation
from curta.machine.instructions import MEMORY_PAGES, WORD
from curta.machine.library import (
    ARITHMETIC,
    BULK,
    NATIVES,
    WASI,
    exported_functions,
    instruction_function,
    library_module,
)
from curta.machine.proof.terms import ZERO, Term, constant, word_of
from curta.machine.values import to_words
from curta.machine.wasm import ValueType
from curta.machine.wasm.module import Expression, FunctionType, Instruction, Module
from curta.machine.wasm.opcodes import OPCODES, SEGMENT_USERS
from curta.machine.wasm.validate_code import BodyValidator, Branch

Words = tuple[Term, ...]

ROOMS = (USER, ARITHMETIC, BULK, WASI)
_CHANGING = {"global.set", "memory.grow", "call_indirect", *SEGMENT_USERS}
_MARKERS = ("block", "loop", "end", "nop")
"""They do nothing: being before one is being behind it."""


class Refused(Exception):  # noqa: N818
    """The proof does not go on: what was found instead."""


@dataclass(frozen=True, slots=True)
class Passive:
    """A segment that instructions refer to: where its bytes lie, and what holds its length."""

    address: int
    register: int


@dataclass(frozen=True, slots=True)
class SourceFunction:
    """A function of WebAssembly, and what validation found out about its branches."""

    callee: Callee
    name: str
    module: SourceModule
    type: FunctionType
    locals: tuple[ValueType, ...]
    body: Expression
    branches: Mapping[int, tuple[Branch, ...]]


@dataclass
class SourceModule:
    """A module. `globals` are for each global its constants, or the registers that hold it."""

    name: str
    module: Module
    most_pages: int = 0
    globals: tuple[Words, ...] = ()
    data: Sequence[Passive] = ()
    elements: Sequence[Passive] = ()
    _functions: dict[int, SourceFunction] = field(default_factory=dict)

    @cached_property
    def functions(self) -> tuple[FunctionType, ...]:
        """Types of all functions, imports first."""
        return tuple(self.module.types[index] for index in self.module.index_spaces().functions)

    @cached_property
    def imports(self) -> tuple[Callee | str, ...]:
        return tuple(
            entry.name if entry.module == NATIVES else (WASI, exported_functions(WASI)[entry.name])
            for entry in self.module.imported("func")
        )

    @cached_property
    def signatures(self) -> dict[FunctionType, int]:
        """Types by number, equal ones together: what `call_indirect` compares."""
        numbers: dict[FunctionType, int] = {}
        for type_ in self.module.types:
            numbers.setdefault(type_, len(numbers))
        return numbers

    @cached_property
    def table_size(self) -> int:
        return self.module.tables[0].limits.minimum if self.module.tables else 0

    def callee(self, index: int) -> Callee | str:
        """What a function is: a native instruction by its name, or code."""
        return self.imports[index] if index < len(self.imports) else (self.name, index)

    def code_of(self, index: int) -> Callee:
        """What to call for a function; for a native instruction, code that does nothing else."""
        callee = self.callee(index)
        return (self.name, index) if isinstance(callee, str) else callee

    def function(self, index: int) -> SourceFunction:
        if index not in self._functions:
            self._functions[index] = self._function(index)
        return self._functions[index]

    def _function(self, index: int) -> SourceFunction:
        callee, name = (self.name, index), self.module.function_name(index)
        own = index - len(self.imports)
        type_ = self.functions[index]
        if own < 0:  # a native instruction as a function
            arguments = [Instruction("local.get", (n,)) for n in range(len(type_.parameters))]
            body = (*arguments, Instruction("call", (index,)), Instruction("end"))
            return SourceFunction(callee, name, self, type_, (), body, {})
        function = self.module.functions[own]
        branches = BodyValidator(self.module, self.module.index_spaces(), own).run()
        return SourceFunction(callee, name, self, type_, function.locals, function.body, branches)


@cache
def _library(name: str) -> SourceModule:
    module = library_module(name)
    opcodes = {instruction.opcode for function in module.functions for instruction in function.body}
    if opcodes & _CHANGING:
        raise Refused(f"library {name} may change what functions of the module share")
    return SourceModule(name, module)


@dataclass
class Sources:
    """The modules of a program."""

    user: SourceModule
    extensions: Mapping[str, int]
    """How many words each takes."""

    def module(self, name: str) -> SourceModule:
        return self.user if name == USER else _library(name)

    def function(self, callee: Callee) -> SourceFunction:
        return self.module(callee[0]).function(callee[1])

    def behind_markers(self, place: WasmLocation) -> WasmLocation:
        """The place of what is done next."""
        body, index = self.function(place.callee).body, place.instruction
        if not 0 <= index < len(body):
            raise Refused(f"{place} is for an instruction that there is not")
        while body[index].opcode in _MARKERS and index < len(body) - 1:
            index += 1
        return place._replace(instruction=index)

    def changes_shared(self, callee: Callee) -> bool:
        """Functions of the libraries set no globals, and do not grow memories (`_library`)."""
        return callee[0] == USER

    def stand_in(self, wanted: Callee, name: str, words: Words) -> tuple[Callee, Words]:
        """The function that is an instruction, or the one that is wanted, if for these arguments
        that does the same.
        """
        for other, arguments in alternatives(name, words):
            if wanted == instruction_function(other):
                return wanted, arguments
        return instruction_function(name), words

    def plain_call(self, callee: Callee, words: Words) -> tuple[Callee, Words]:
        """A call of such another function as the call that it stands for."""
        name = _stand_ins().get(callee)
        if name is not None:
            plain = _plain_arguments(name, words)
            if plain is not None and (name, words) in alternatives(plain[0], plain[1]):
                return instruction_function(plain[0]), plain[1]
        return callee, words


@cache
def _stand_ins() -> dict[Callee, str]:
    exported = exported_functions(ARITHMETIC)
    return {(ARITHMETIC, exported[name]): name for name in exported if name[-1] == "#"}


def alternatives(name: str, words: Words) -> list[tuple[str, Words]]:
    """A lemma of the library: dividing by a constant of one word takes the divisor shifted to the
    left end and its inverse.
    """
    divisor = word_of(words[2]) if len(words) == 4 else None
    if name.startswith(("i64.div_", "i64.rem_")) and divisor and words[3] == ZERO:
        shift = 32 - divisor.bit_length()
        shifted = divisor << shift
        inverse = (WORD * WORD - 1) // shifted % WORD
        constants = (constant(shifted), constant(inverse), constant(shift))
        return [(f"{name}#", (*words[:2], *constants))]
    return []


def _plain_arguments(name: str, words: Words) -> tuple[str, Words] | None:
    """What such another function stands for, if its arguments can be taken at their word."""
    shifted, shift = word_of(words[2]), word_of(words[4])
    if shifted is None or shift is None:
        return None
    return name.removesuffix("#"), (*words[:2], constant(shifted >> shift), ZERO)


def user_module(module: Module, claims: Claims, most_pages: int) -> SourceModule:
    """The user's module, with what the lowering claims about where things are."""
    operands: list[Words] = []
    for number, entry in enumerate(module.globals):
        held = claims.globals.get(number, ()) if entry.type.mutable else words_of(entry.initial)
        operands.append(held)
    for memory in module.memories:
        if memory.limits.maximum is not None:
            most_pages = min(most_pages, memory.limits.maximum)
    return SourceModule(
        USER,
        module,
        most_pages,
        tuple(operands),
        [Passive(*place) for place in claims.data],
        [Passive(*place) for place in claims.elements],
    )


def words_of(expression: Expression) -> Words:
    """The constants that a constant expression is."""
    instruction = expression[0]
    words = to_words(instruction.operands, OPCODES[instruction.opcode].results)
    return tuple(constant(word) for word in words)


def shared_registers(user: SourceModule) -> list[int]:
    """All registers that are the same in every frame and may change."""
    registers = [word for held in user.globals for word in held if word >= 0]
    if user.module.memories:
        registers.append(MEMORY_PAGES)
    registers += [passive.register for passive in (*user.data, *user.elements) if passive.register]
    return registers
