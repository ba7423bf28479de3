"""The reference interpreter: plain, slow, and the definition of what a module does.

    instance = Instance(decode(binary), imports={("env", "print"): HostFunction(type, call)})
    (result,) = instance.invoke("add", 1, 2)

Values are unsigned bit patterns, those of floats too. Every function call has a frame with a stack
of its own; what a branch does was worked out by the validator. Instructions are counted: all but
block, loop, else, end and nop, which only mark places.

After a trap an instance can be used again, as the specification has it. After a FuelError it can
too, but the call that ran out is lost half-way.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from curta.errors import FuelError, LinkError, Trap, UserError
from curta.machine.wasm.execute import EXECUTE
from curta.machine.wasm.module import Expression, Instruction, Module
from curta.machine.wasm.opcodes import BITS, MARKERS, ValueType
from curta.machine.wasm.store import (
    DefinedFunction,
    ExternalObject,
    FunctionObject,
    GlobalCell,
    HostFunction,
    Imports,
    Memory,
    Table,
    resolve_import,
)
from curta.machine.wasm.validate import validate
from curta.machine.wasm.validate_code import FunctionInfo


@dataclass(frozen=True, slots=True)
class RunLimits:
    """`fuel` is how many instructions all calls together may execute; None: any number.

    A memory that starts larger than `memory_pages`, or a table larger than `table_elements`, is an
    error; a memory that would grow beyond is told that there is no more, as the specification
    allows.
    """

    fuel: int | None = None
    call_depth: int = 10_000
    memory_pages: int = 16384  # 1 GiB
    table_elements: int = 10_000_000


@dataclass(slots=True)
class Frame:
    """A call in progress. `at` is the index of the next instruction."""

    callee: DefinedFunction
    locals: list[int]
    instance: Instance = field(init=False)
    body: Expression = field(init=False)
    info: FunctionInfo = field(init=False)
    stack: list[int] = field(default_factory=list)
    at: int = 0

    def __post_init__(self) -> None:
        self.instance = self.callee.instance
        self.body = self.callee.function.body
        self.info = self.callee.info
        self.locals += [0] * len(self.callee.function.locals)

    def take(self, way: int = 0) -> None:
        """Takes the branch of the instruction that is being executed."""
        branch = self.info.branches[self.at - 1][way]
        first = len(self.stack) - branch.arity
        self.stack[branch.height :] = self.stack[first:]
        self.at = branch.target


class Instance:
    """A module with its memory, table and globals; it stays as calls leave it."""

    def __init__(
        self,
        module: Module,
        imports: Imports | None = None,
        limits: RunLimits | None = None,
    ) -> None:
        infos = validate(module)
        self.module = module
        self.limits = limits or RunLimits()
        self.executed = 0
        self.depth = 0
        self.functions: list[FunctionObject] = []
        self.tables: list[Table] = []
        self.memories: list[Memory] = []
        self.globals: list[GlobalCell] = []
        self._import(imports or {})
        self._allocate(infos)
        self._initialize()

    # -- instantiation

    def _import(self, imports: Imports) -> None:
        spaces: dict[str, list[object]] = {
            "func": self.functions,  # type: ignore[dict-item]
            "table": self.tables,  # type: ignore[dict-item]
            "memory": self.memories,  # type: ignore[dict-item]
            "global": self.globals,  # type: ignore[dict-item]
        }
        for entry in self.module.imports:
            spaces[entry.kind].append(resolve_import(self.module, entry, imports))

    def _allocate(self, infos: tuple[FunctionInfo, ...]) -> None:
        module = self.module
        for function, info in zip(module.functions, infos, strict=True):
            index = len(self.functions)
            self.functions.append(DefinedFunction(self, index, info.type, function, info))
        for table in module.tables:
            self.tables.append(Table(table.limits, self.limits.table_elements))
        for memory in module.memories:
            self.memories.append(Memory(memory.limits, self.limits.memory_pages))
        for definition in module.globals:
            self.globals.append(GlobalCell(definition.type, self._constant(definition.initial)))
        self.elements: list[list[FunctionObject | None]] = [
            [None if index is None else self.functions[index] for index in segment.functions]
            for segment in module.elements
        ]
        self.data = [segment.content for segment in module.data]

    def _constant(self, expression: Expression) -> int:
        instruction = expression[0]
        if instruction.opcode == "global.get":
            index: int = instruction.operands[0]
            return self.globals[index].value
        return int(instruction.operands[0])

    def _initialize(self) -> None:
        """Copies the active segments, one after another, and runs the start function."""
        for number, segment in enumerate(self.module.elements):
            if segment.mode == "active":
                offset = self._constant(segment.offset)
                self.tables[segment.table].write(offset, self.elements[number])
            if segment.mode != "passive":
                self.elements[number] = []
        for number, data in enumerate(self.module.data):
            if data.mode == "active":
                self.memories[data.memory].write(self._constant(data.offset), data.content)
                self.data[number] = b""
        if self.module.start is not None:
            self.call(self.functions[self.module.start], [])

    # -- use

    def export(self, name: str) -> ExternalObject:
        """What the module exports under this name; other modules can import it."""
        for entry in self.module.exports:
            if entry.name == name:
                spaces = {
                    "func": self.functions,
                    "table": self.tables,
                    "memory": self.memories,
                    "global": self.globals,
                }
                found: ExternalObject = spaces[entry.kind][entry.index]  # type: ignore[index]
                return found
        names = ", ".join(f'"{entry.name}"' for entry in self.module.exports) or "nothing"
        raise LinkError(f'no export "{name}"; the module exports {names}')

    def invoke(self, name: str, *arguments: int) -> tuple[int, ...]:
        """Calls an exported function. Arguments and results are unsigned bit patterns."""
        function = self.export(name)
        if not isinstance(function, HostFunction | DefinedFunction):
            raise LinkError(f'the export "{name}" is not a function')
        parameters = function.type.parameters
        if len(arguments) != len(parameters):
            raise UserError(f"{name} takes {len(parameters)} arguments, got {len(arguments)}")
        for value, type_ in zip(arguments, parameters, strict=True):
            _check_pattern(value, type_, f"an argument of {name}")
        return tuple(self.call(function, list(arguments)))

    def call(self, function: FunctionObject, arguments: list[int]) -> list[int]:
        """Runs a function to its end, and gives its results."""
        if isinstance(function, HostFunction):
            return call_host(self, function, arguments)
        depth = self.depth
        try:
            return self._run(function, arguments)
        except RecursionError:  # host functions that call back, again and again
            raise Trap("call stack exhausted") from None
        finally:
            self.depth = depth

    def _run(self, function: DefinedFunction, arguments: list[int]) -> list[int]:
        frames: list[Frame] = []
        self._enter(frames, function, arguments)
        while True:
            frame = frames[-1]
            if frame.at == len(frame.body):
                frames.pop()
                self.depth -= 1
                if not frames:
                    return frame.stack
                frames[-1].stack += frame.stack
                continue
            instruction = frame.body[frame.at]
            try:
                callee = self.step(frame, instruction)
                if callee is not None:
                    first = len(frame.stack) - len(callee.type.parameters)
                    passed = frame.stack[first:]
                    del frame.stack[first:]
                    if isinstance(callee, HostFunction):
                        frame.stack += call_host(frame.instance, callee, passed)
                    else:
                        self._enter(frames, callee, passed)
            except Trap as trap:
                if trap.where:
                    raise
                raise Trap(trap.reason, _where(frame, instruction)) from None

    def _enter(self, frames: list[Frame], function: DefinedFunction, arguments: list[int]) -> None:
        if self.depth >= self.limits.call_depth:
            raise Trap("call stack exhausted")
        self.depth += 1
        frames.append(Frame(function, arguments))

    def step(self, frame: Frame, instruction: Instruction) -> FunctionObject | None:
        """Executes one instruction; the function that it calls, if any, is left to the caller.

        Made to be overridden by whoever wants to watch.
        """
        opcode = instruction.opcode
        frame.at += 1
        if opcode not in MARKERS:
            if self.limits.fuel is not None and self.executed >= self.limits.fuel:
                frame.at -= 1
                raise FuelError(
                    f"out of fuel after {self.executed} instructions, "
                    f"{_where(frame, instruction)}; allow more with RunLimits.fuel"
                )
            self.executed += 1
        callee: FunctionObject | None = EXECUTE[opcode](frame, *instruction.operands)
        return callee


def call_host(caller: Instance, function: HostFunction, arguments: list[int]) -> list[int]:
    """Calls into Python, and checks what comes back."""
    returned = function.call(caller, *arguments)
    match returned:
        case None:
            results = []
        case int():
            results = [returned]
        case list() | tuple():
            results = list(returned)
        case _:
            raise LinkError(f"a host function of type {function.type} returned {returned!r}")
    types = function.type.results
    if len(results) != len(types):
        raise LinkError(f"a host function of type {function.type} returned {results}")
    for value, type_ in zip(results, types, strict=True):
        _check_pattern(value, type_, f"a result of a host function of type {function.type}")
    return results


def _check_pattern(value: int, type_: ValueType, what: str) -> None:
    if not isinstance(value, int) or not 0 <= value < 1 << BITS[type_]:
        raise UserError(f"{what} must be the bit pattern of an {type_}, unsigned; got {value!r}")


def _where(frame: Frame, instruction: Instruction) -> str:
    name = frame.instance.module.function_name(frame.callee.index)
    return f"at {instruction.opcode}, byte {instruction.offset} of the module, in function {name}"
