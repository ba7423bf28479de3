"""A whole program: what the prompt says is what the module means.

- the program is read from the tokens of its prompt, and nothing else of the lowering is trusted
- registers that are written once, by the code that sets the instance up, and nowhere else, are
  constants; globals, sizes and lengths begin as the module says, and so do memories, whether the
  prompt has their bytes or code stores them
- every entry awaits its arguments, calls its function and says the results
- both memories hold what the module's segments say, the table names functions by where they begin
- every function that can be reached does what its WebAssembly does (simulate.py)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from curta.errors import ProofError
from curta.machine.core_program import (
    INITIALISE,
    PRIVATE,
    USER,
    Callee,
    Claims,
    CoreProgram,
    Entry,
    WasmLocation,
)
from curta.machine.instructions import (
    DIVISIONS,
    GLOBALS,
    MEMORY_PAGES,
    MOST_INSTRUCTIONS,
    PAGE,
    TRAPS,
    WORD,
    CoreInstruction,
    kind_of,
    operation_of,
)
from curta.machine.layout import DATA, ENTRY_BYTES, SCRATCH, STATE_SEED, TABLE
from curta.machine.library import instruction_function
from curta.machine.proof.explain import not_proved
from curta.machine.proof.lemma_store import LemmaStore, fingerprint
from curta.machine.proof.modules import (
    ROOMS,
    Refused,
    SourceFunction,
    SourceModule,
    Sources,
    shared_registers,
    user_module,
    words_of,
)
from curta.machine.proof.simulate import FunctionProof
from curta.machine.proof.target import Target
from curta.machine.proof.terms import Terms
from curta.machine.values import word_count
from curta.machine.wasm import MAX_PAGES
from curta.machine.wasm.module import Module
from curta.machine.wasm.opcodes import SEGMENT_USERS


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of a function: it does what its WebAssembly does, and the lemmas that this rests on; or why
    that could not be shown (`refused`).
    """

    callee: Callee
    name: str
    start: int
    instructions: int
    lemmas: tuple[str, ...]
    calls: tuple[Callee, ...]
    refused: str | None = None


@dataclass
class ProgramProof:
    """Proves a program; `functions` has what was proved so far."""

    program: CoreProgram
    entries: Mapping[str, Entry]
    claims: Claims
    places: Sequence[WasmLocation | None]
    """What of WebAssembly each instruction is for: hints, too."""
    module: Module
    most_pages: int
    extensions: Mapping[str, int]
    """How many words each takes."""
    lemma_store: LemmaStore | None = None
    """What was proved before."""
    functions: dict[Callee, Verdict] = field(default_factory=dict)

    def prove(self) -> tuple[Verdict, ...]:
        """All functions of the program. Raises ProofError for what is wrong with the whole."""
        user = user_module(self.module, self.claims, self.most_pages)
        self.sources = Sources(user, self.extensions)
        self.starts = {
            at: callee for callee, at in self.claims.functions.items() if callee[0] in ROOMS
        }
        try:
            self._check_limits()
            self._check_claims(user)
            setting_up = self._check_entries(user)
            constants = self._find_constants(setting_up, shared_registers(user))
            self._check_beginning(user, setting_up)
        except Refused as refused:
            raise ProofError(not_proved("the program", str(refused))) from None
        target = Target(
            self.program.instructions, self.starts, constants, tuple(shared_registers(user))
        )
        divisions = {instruction_function(f"i64.{name}") for name in DIVISIONS}
        self.divided = frozenset(
            place
            for place, instruction in zip(self.places, self.program.instructions, strict=False)
            if place is not None
            and instruction.operation == "call"
            and self.starts.get(instruction.target) in divisions
        )
        waiting = self._roots(user)
        while waiting:
            callee = waiting.pop()
            if callee not in self.functions:
                self.functions[callee] = proved = self._prove_function(target, callee)
                waiting += proved.calls
        return tuple(sorted(self.functions.values(), key=lambda one: one.start))

    # -- what holds of the whole program ----------------------------------------------------------

    def _check_limits(self) -> None:
        """Of the machine: how many instructions there can be, how many words, and where bytes."""
        for type_ in self.module.types:
            if max(word_count(type_.parameters), word_count(type_.results)) >= GLOBALS:
                raise Refused("a function takes or gives more words than a frame has")
        if sum(memory.limits.minimum for memory in self.module.memories) > self.most_pages:
            raise Refused("memory begins with more pages than it may have")
        if len(self.program.instructions) >= MOST_INSTRUCTIONS:
            raise Refused("there are more instructions than the machine can have")
        for segment in self.program.segments:
            last = segment.address + max(len(segment.content), 1) - 1
            if segment.address // PRIVATE != last // PRIVATE or last >= PRIVATE + WORD:
                raise Refused("a segment lies outside of the memories")

    def _check_claims(self, user: SourceModule) -> None:
        for claim in self.claims.blocks.values():
            numbers = [
                *claim.words,
                *claim.made,
                *(n for n in claim.registers.values() if n is not None),
            ]
            for _, sources in claim.made.values():
                numbers += sources
            if not all(type(number) is int and number >= -WORD for number in numbers):
                raise Refused("a claim is of constants that are no words")
        if len(set(self.claims.functions.values())) != len(self.claims.functions):
            raise Refused("two functions begin at the same instruction")
        shared = shared_registers(user)
        lengths = [place.register for place in (*user.data, *user.elements) if place.register]
        held = [*lengths, *(one for held in self.claims.globals.values() for one in held)]
        if len(set(shared)) != len(shared) or not all(SCRATCH < r < 2 * GLOBALS for r in held):
            raise Refused("two globals are in one register, or one is in none of those")
        widths = [word_count((entry.type.value,)) for entry in user.module.globals]
        counts = len(user.data), len(user.elements), [len(held) for held in user.globals]
        if counts != (len(user.module.data), len(user.module.elements), widths):
            raise Refused("it is not said where all globals and segments are")
        used = {
            (SEGMENT_USERS[instruction.opcode], instruction.operands[0])
            for function in user.module.functions
            for instruction in function.body
            if instruction.opcode in SEGMENT_USERS
        }
        for kind, places in (("data", user.data), ("elem", user.elements)):
            if any((kind, n) in used and not place.register for n, place in enumerate(places)):
                raise Refused("the length of a segment that is used is in no register")

    def _find_constants(
        self, setting_up: Sequence[CoreInstruction], shared: Sequence[int]
    ) -> dict[int, int]:
        """Registers that only the first code writes, once: no function sees another word."""
        writers: dict[int, int] = {}
        for instruction in self.program.instructions:
            if instruction.d < GLOBALS or "d" not in operation_of(instruction.operation).operands:
                continue
            if kind_of(instruction.operation) == "jump":
                raise Refused("a call keeps where to return to in a shared register")
            writers[instruction.d] = writers.get(instruction.d, 0) + 1
        if MEMORY_PAGES in writers and MEMORY_PAGES not in shared:
            raise Refused("there is no memory, and it is given a size")
        constants = dict.fromkeys((r for r in range(GLOBALS, 2 * GLOBALS) if r not in writers), 0)
        for instruction in setting_up:
            if instruction.operation == "copy" and writers.get(instruction.d) == 1:
                constants[instruction.d] = instruction.immediate
        for register in (*shared, SCRATCH):
            constants.pop(register, None)
        return constants

    def _check_entries(self, user: SourceModule) -> list[CoreInstruction]:
        """The loop that waits for invocations; the code that sets the instance up."""
        instructions = self.program.instructions
        if len(instructions) < 2 or len(instructions) <= 2 + instructions[1].immediate:
            raise Refused("it ends before its entries do")
        first, dispatch = instructions[:2]
        if first.operation != "await" or dispatch.operation != "jump_table":
            raise Refused("it does not begin by waiting for the number of an entry")
        if dispatch.a != first.d or first.d in shared_registers(user) or dispatch.b is not None:
            raise Refused("it chooses by another word than the one it waited for")
        stubs = []
        for number in range(dispatch.immediate + 1):
            jump = instructions[2 + number]
            if jump.operation != "jump":
                raise Refused(f"entry {number} is no jump")
            stubs.append(jump.target)
        if stubs[-1] != 0 and self._straight(stubs[-1]) != []:
            raise Refused("a number that is no entry's leads somewhere")
        exports = [entry for entry in user.module.exports if entry.kind == "func"]
        if {entry.name for entry in exports} != set(self.entries):
            raise Refused("the entries are not the exported functions")
        for export in exports:
            self._check_stub(user, self.entries[export.name], export.index, stubs)
        return self._straight(stubs[INITIALISE])

    def _straight(self, at: int) -> list[CoreInstruction]:
        """The instructions from a place on until it waits again or traps; jumps are followed."""
        found: list[CoreInstruction] = []
        instructions = self.program.instructions
        for _ in instructions:
            if at == 0 or (found and found[-1].operation == "trap"):
                return found
            if at >= len(instructions):
                raise Refused("an entry goes on behind the last instruction")
            instruction = instructions[at]
            kind = kind_of(instruction.operation)
            if instruction.operation == "jump":
                at = instruction.target
            elif kind == "jump" and instruction.operation != "call":
                raise Refused(f"an entry goes several ways, at {at}")
            else:
                found.append(instruction)
                at += 1
        raise Refused("an entry goes round and round")

    def _check_stub(
        self, user: SourceModule, entry: Entry, index: int, stubs: Sequence[int]
    ) -> None:
        type_ = user.functions[index]
        if (entry.parameters, entry.results) != (type_.parameters, type_.results):
            raise Refused(f"entry {entry.number} has another type than its function")
        if not 0 < entry.number < len(stubs) - 1:
            raise Refused(f"there is no entry {entry.number}")
        takes, gives = word_count(type_.parameters), word_count(type_.results)
        awaited = [CoreInstruction("await", d=n, b=0) for n in range(takes)]
        expected = [*awaited, self._call_of(user.code_of(index), takes, gives)]
        start = stubs[entry.number]
        straight = self._straight(start)
        own = self.program.instructions[start : start + len(straight) + 1]
        if [*own[:-1]] != straight or (own[-1].operation, own[-1].target) != ("jump", 0):
            raise Refused(f"entry {entry.number} says more than its results")
        if not _same(straight[: takes + 1], expected) or len(straight) != takes + 1 + gives:
            raise Refused(f"entry {entry.number} does not call its function")
        taken = set(shared_registers(user))
        for number, copy in enumerate(straight[takes + 1 :]):
            if copy.operation != "copy" or copy.b != number or copy.d in taken | {MEMORY_PAGES}:
                raise Refused(f"entry {entry.number} does not say the results")
            if number < copy.d < gives:
                raise Refused(f"entry {entry.number} says a result that it has written over")

    def _call_of(self, callee: Callee, takes: int, gives: int) -> CoreInstruction:
        if callee not in self.claims.functions:
            raise Refused(f"nothing is said of where {callee} begins")
        return CoreInstruction(
            "call", d=max(takes, gives), b=0, target=self.claims.functions[callee]
        )

    def _check_beginning(self, user: SourceModule, setting_up: Sequence[CoreInstruction]) -> None:
        """Registers and memories are what the module says; then it traps, or calls the start
        function.
        """
        held, memories, rest = self._set_up(setting_up)
        self._check_memories(user, memories)
        expected: dict[int, int] = {}
        for entry, registers in zip(user.module.globals, user.globals, strict=True):
            for register, term in zip(registers, words_of(entry.initial), strict=True):
                if entry.type.mutable:
                    expected[register] = ~term
        expected[MEMORY_PAGES] = sum(memory.limits.minimum for memory in user.module.memories)
        for place, data in zip(user.data, user.module.data, strict=True):
            expected[place.register] = len(data.content) if data.mode == "passive" else 0
        for place, element in zip(user.elements, user.module.elements, strict=True):
            expected[place.register] = len(element.functions) if element.mode == "passive" else 0
        expected.pop(0, None)  # of segments that no instruction refers to
        for register, word in expected.items():
            if held.get(register, 0) != word:
                raise Refused(f"shared register {register} begins as another word than {word}")
        if not _same(rest, self._first_call(user)):
            raise Refused("the start function is not called, or there is a trap too many or few")

    def _first_call(self, user: SourceModule) -> list[CoreInstruction]:
        _, _, trap = active_segments(user)
        start = user.module.start
        if trap is not None:
            return [CoreInstruction("trap", b=None, immediate=trap)]
        return [] if start is None else [self._call_of(user.code_of(start), 0, 0)]

    # -- memories ---------------------------------------------------------------------------------

    def _set_up(
        self, setting_up: Sequence[CoreInstruction]
    ) -> tuple[dict[int, int], Image, Sequence[CoreInstruction]]:
        """What registers and memories hold once constants are copied and stored, and what is done
        then.
        """
        held: dict[int, int] = {}
        memories = Image()
        for segment in self.program.segments:
            memories.put(segment.address, segment.content)
        for number, one in enumerate(setting_up):
            if one.operation == "copy" and one.b is None:
                held[one.d] = one.immediate
                if held.get(MEMORY_PAGES, 0) > MAX_PAGES:
                    raise Refused("memory has more pages than there can be")
                continue
            # What the host says (arguments, environment, seed) lies below the table.
            within = {
                "store32": range(held.get(MEMORY_PAGES, 0) * PAGE - 3),
                "poke32": range(TABLE, WORD - 3),
            }.get(one.operation, ())
            if one.b is not None or held.get(one.a, 0) != 0 or one.immediate not in within:
                return held, memories, setting_up[number:]
            private = PRIVATE if one.operation == "poke32" else 0
            memories.put(private + one.immediate, held.get(one.c, 0).to_bytes(4, "little"))
        return held, memories, []

    def _check_memories(self, user: SourceModule, found: Image) -> None:
        pieces, table, _ = active_segments(user)
        expected = Image()
        for offset, content in pieces:
            expected.put(offset, content)
        for number, index in table.items():
            expected.put(PRIVATE + TABLE + ENTRY_BYTES * number, self._entry(user, index))
        elements = [(TABLE, TABLE + ENTRY_BYTES * user.table_size)]
        for place, element in zip(user.elements, user.module.elements, strict=True):
            if place.register and element.mode == "passive":
                content = b"".join(self._entry(user, index) for index in element.functions)
                expected.put(PRIVATE + place.address, content)
                elements.append((place.address, place.address + len(content)))
        bytes_: list[tuple[int, int]] = []
        for place, data in zip(user.data, user.module.data, strict=True):
            if place.register and data.mode == "passive":
                expected.put(PRIVATE + place.address, data.content)
                bytes_.append((place.address, place.address + len(data.content)))
        _check_apart(elements, TABLE, DATA)
        _check_apart(bytes_, DATA, WORD)
        found.put(PRIVATE + STATE_SEED, bytes(4))
        expected.put(PRIVATE + STATE_SEED, bytes(4))
        different = found.first_difference(expected)
        if different is not None:
            raise Refused(f"memory holds another byte at {different:#x} than the module says")

    def _entry(self, user: SourceModule, index: int | None) -> bytes:
        """An element of the table: its signature's number + 1, and where it begins."""
        if index is None:
            return bytes(ENTRY_BYTES)
        signature = user.signatures[user.functions[index]] + 1
        start = self.claims.functions.get(user.code_of(index))
        if start is None:
            raise Refused(f"function {index} is in a table, and nothing says where it begins")
        return signature.to_bytes(4, "little") + start.to_bytes(4, "little")

    # -- functions --------------------------------------------------------------------------------

    def _roots(self, user: SourceModule) -> list[Callee]:
        """What can be called from outside, or through the table."""
        indices = [entry.index for entry in user.module.exports if entry.kind == "func"]
        if user.module.start is not None:
            indices.append(user.module.start)
        for element in user.module.elements:
            indices += [index for index in element.functions if index is not None]
        return [callee for callee in map(user.code_of, indices) if callee in self.claims.functions]

    def _prove_function(self, target: Target, callee: Callee) -> Verdict:
        start = self.claims.functions.get(callee)
        name = name_of(self.sources.function(callee))
        if start is None:
            return Verdict(callee, name, 0, 0, (), (), "nothing says where it begins")
        try:
            reached = target.reached(start)
        except Refused as refused:
            return Verdict(callee, name, start, 0, (), (), str(refused))
        content = (
            fingerprint(self.sources, target, callee, start, reached) if self.lemma_store else ""
        )
        lemmas = self.lemma_store.find(content) if self.lemma_store else None
        why = None
        if lemmas is None:
            lemmas, why = self._prove_anew(target, callee, start)
            if self.lemma_store and why is None:
                self.lemma_store.keep(content, lemmas)
        calls = tuple(sorted(target.called(reached, start)))
        return Verdict(callee, name, start, len(reached), lemmas, calls, why)

    def _prove_anew(
        self, target: Target, callee: Callee, start: int
    ) -> tuple[tuple[str, ...], str | None]:
        """The lemmas, and why it is not proved, if it is not."""
        hints = self._place, self.claims.blocks, self.claims.inlined, self.divided
        proof = FunctionProof(Terms(), self.sources, target, callee, start, *hints)
        try:
            proof.prove()
        except Refused as refused:
            return tuple(sorted(proof.lemmas)), str(refused)
        return tuple(sorted(proof.lemmas)), None

    def _place(self, at: int) -> WasmLocation:
        """What of WebAssembly an instruction is for."""
        place = self.places[at]
        if place is None:
            raise Refused(f"nothing says what instruction {at} is for")
        return self.sources.behind_markers(place)


def active_segments(
    user: SourceModule,
) -> tuple[list[tuple[int, bytes]], dict[int, int | None], int | None]:
    """What they put where in memory and table, in order, until one does not fit: then it traps."""
    table: dict[int, int | None] = {}
    for element in user.module.elements:
        if element.mode == "active":
            offset = element.offset[0].operands[0]
            if offset + len(element.functions) > user.table_size:
                return [], table, TRAPS.index("out of bounds table access")
            table.update(enumerate(element.functions, offset))
    pieces: list[tuple[int, bytes]] = []
    for data in user.module.data:
        if data.mode == "active":
            offset = data.offset[0].operands[0]
            if offset + len(data.content) > user.module.memories[0].limits.minimum * PAGE:
                return pieces, table, TRAPS.index("out of bounds memory access")
            pieces.append((offset, data.content))
    return pieces, table, None


class Image:
    """Bytes by their places; what is not there is 0."""

    def __init__(self) -> None:
        self.pages: dict[int, bytearray] = {}

    def put(self, address: int, content: bytes) -> None:
        at = 0
        while at < len(content):
            page, place = divmod(address + at, PAGE)
            part = content[at : at + PAGE - place]
            self.pages.setdefault(page, bytearray(PAGE))[place : place + len(part)] = part
            at += len(part)

    def first_difference(self, other: Image) -> int | None:
        empty = bytes(PAGE)
        for page in sorted(self.pages.keys() | other.pages.keys()):
            one, another = self.pages.get(page, empty), other.pages.get(page, empty)
            if one != another:
                place = next(n for n in range(PAGE) if one[n] != another[n])
                return page * PAGE + place
        return None


def _check_apart(taken: list[tuple[int, int]], first: int, end: int) -> None:
    """They lie in their part of the private memory, and none in another."""
    taken = sorted(part for part in taken if part[0] < part[1])
    if taken and not first <= taken[0][0] <= taken[-1][1] <= end:
        raise Refused("a passive segment lies where the private memory has something else")
    for (_, last), (following, _) in pairwise(taken):
        if following < last:
            raise Refused("passive segments overlap in the private memory")


def _same(found: Sequence[CoreInstruction], expected: Sequence[CoreInstruction]) -> bool:
    return [(_fields(one)) for one in found] == [_fields(one) for one in expected]


def _fields(instruction: CoreInstruction) -> tuple[object, ...]:
    """What counts of an instruction of an entry."""
    match instruction.operation:
        case "await":
            return "await", instruction.d
        case "copy":
            return "copy", instruction.d, instruction.b, instruction.immediate
        case "call":
            return "call", instruction.d, instruction.immediate, instruction.target
        case "trap":
            return "trap", instruction.b, instruction.immediate
    return instruction.operation, instruction.immediate


def name_of(function: SourceFunction) -> str:
    return function.name if function.callee[0] == USER else f"{function.callee[0]} {function.name}"
