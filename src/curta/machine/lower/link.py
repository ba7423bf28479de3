"""Link: a module in, a core program out, with all functions of the library that it uses."""

from __future__ import annotations

from curta.errors import UnsupportedFeatureError
from curta.machine.core_program import Claims, CoreProgram
from curta.machine.instructions import LARGEST_FRAME
from curta.machine.lower.beginning import (
    InitialState,
    all_segments,
    exported,
    find_initial_state,
    function_callee,
    make_entries,
)
from curta.machine.lower.check import Checker
from curta.machine.lower.code import USER, Callee, Code
from curta.machine.lower.context import (
    LowerOptions,
    ModuleContext,
    SharedRegisters,
    library_context,
    user_context,
)
from curta.machine.lower.drop import drop
from curta.machine.lower.emit import emit
from curta.machine.lower.flat import Flat, arrange
from curta.machine.lower.inline import inline_in_loops
from curta.machine.lower.late import add_in_accesses, sink
from curta.machine.lower.order import order
from curta.machine.lower.place import place
from curta.machine.lower.registers import choose_registers
from curta.machine.lower.simplify import simplify
from curta.machine.lower.tails import leave_for_last_calls
from curta.machine.lower.translate import translate
from curta.machine.wasm.module import Function, Instruction, Module
from curta.machine.wasm.validate import validate

_ORDER = (USER, "bulk", "wasi", "arithmetic")
PASSES = (drop, simplify, leave_for_last_calls, add_in_accesses, drop, sink)
"""What is done to every function; what comes first makes more of it possible for others."""


def lower(module: Module, options: LowerOptions | None = None) -> CoreProgram:
    """The program of core instructions that does what a WebAssembly module does."""
    options = options or LowerOptions()
    validate(module)
    registers = SharedRegisters()
    user = user_context(module, registers, options)
    state = find_initial_state(user)
    roots = _roots(user, state)
    in_tables = {index: function_callee(user, index) for index in sorted(state.functions(user))}
    reached = Functions(user).reach(roots)
    flats = [allocate(code, registers) for code in reached]
    functions = order(flats, roots, tuple(in_tables.values()))
    dispatcher, entries = make_entries(user, state)
    Checker(dispatcher).check("entries")
    placed = place([allocate(dispatcher, registers), *functions])
    table_starts = {index: placed.starts[callee] for index, callee in in_tables.items()}
    return CoreProgram(
        placed.instructions,
        all_segments(user, state, table_starts, options),
        entries,
        placed.origins,
        Claims(
            placed.starts,
            user.global_registers,
            tuple((passive.address, passive.length_register) for passive in user.data),
            tuple((passive.address, passive.length_register) for passive in user.elements),
            placed.blocks,
            placed.inlined,
        ),
    )


def allocate(code: Code, registers: SharedRegisters) -> Flat:
    """The instructions of a function, in their order; targets of jumps are still labels."""
    flat = arrange(emit(code, choose_registers(code), registers))
    if flat.frame > LARGEST_FRAME:
        raise UnsupportedFeatureError(
            f"function {code.name} needs {flat.frame} registers, {LARGEST_FRAME} are possible; "
            "give it fewer locals"
        )
    return flat


def _roots(user: ModuleContext, state: InitialState) -> list[Callee]:
    """The functions that can be reached without a call."""
    indices = [index for _, index in exported(user)]
    if user.module.start is not None:
        indices.append(user.module.start)
    indices += sorted(state.functions(user))
    return [function_callee(user, index) for index in indices]


class Functions:
    """Lowers functions, and what they call."""

    def __init__(self, user: ModuleContext) -> None:
        self.user = user
        self.contexts = {USER: user}
        self.done: dict[Callee, Code] = {}

    def reach(self, roots: list[Callee]) -> list[Code]:
        """The functions that can be reached from some, the user's first."""
        found: dict[Callee, Code] = {}
        waiting = roots.copy()
        while waiting:
            callee = waiting.pop()
            if callee not in found:
                found[callee] = self.lowered(callee)
                waiting += found[callee].needs
        return sorted(found.values(), key=lambda code: (_ORDER.index(code.callee[0]), code.callee))

    def lowered(self, callee: Callee) -> Code:
        """A function, lowered once."""
        if callee not in self.done:
            self.done[callee] = self.lower(callee)
        return self.done[callee]

    def lower(self, callee: Callee) -> Code:
        """One function as values in blocks, with no more steps than needed."""
        name, index = callee
        if name not in self.contexts:
            self.contexts[name] = library_context(name, self.user.registers)
        context = self.contexts[name]
        code = translate(context, index, _function(context, index), _name(context, index))
        checker = Checker(code)
        checker.check("translation")
        if context is self.user:
            inline_in_loops(code, self.lowered)
            checker.check("inlining")
        for improve in PASSES:
            improve(code)
            checker.check(improve.__name__)
        return code


def _function(context: ModuleContext, index: int) -> Function:
    """A function of a module; of a native instruction, one that does what it does."""
    first = len(context.imports)
    if index >= first:
        return context.module.functions[index - first]
    parameters = range(len(context.functions[index].parameters))
    body = (*(Instruction("local.get", (n,)) for n in parameters), Instruction("call", (index,)))
    return Function(0, (), (*body, Instruction("end")))


def _name(context: ModuleContext, index: int) -> str:
    """For people: what the module calls it."""
    module = context.module
    names = {entry.index: entry.name for entry in module.exports[::-1] if entry.kind == "func"}
    names.update(reversed(module.function_names))
    kind = "function" if context.name == USER else context.name
    return names.get(index, f"{kind} {index}")
