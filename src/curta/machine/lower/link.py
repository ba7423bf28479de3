"""Link: a module in, a core program out, with all functions of the library that it uses."""

from __future__ import annotations

from curta.errors import UnsupportedFeatureError
from curta.machine.instructions import LARGEST_FRAME
from curta.machine.lower.arrange import arrange, return_early
from curta.machine.lower.coalesce import coalesce
from curta.machine.lower.code import USER, Callee, FunctionCode
from curta.machine.lower.context import ModuleContext, SharedRegisters
from curta.machine.lower.contexts import library_context, user_context
from curta.machine.lower.entries import exported, function_callee, make_entries
from curta.machine.lower.inline import inline_in_loops
from curta.machine.lower.optimise import optimise
from curta.machine.lower.options import LowerOptions
from curta.machine.lower.order import order
from curta.machine.lower.place import Placed, place
from curta.machine.lower.propagate import propagate
from curta.machine.lower.segments import InitialState, all_segments, find_initial_state
from curta.machine.lower.tail_calls import jump_to_last_calls
from curta.machine.lower.translate import translate
from curta.machine.program import Claims, CoreProgram, Place
from curta.machine.wasm.module import Function, Instruction, Module
from curta.machine.wasm.validate import validate
from curta.machine.wasm.validate_code import BodyValidator, FunctionInfo

_ORDER = (USER, "bulk", "wasi", "arithmetic")


def lower(module: Module, options: LowerOptions | None = None) -> CoreProgram:
    """The program of core instructions that does what a WebAssembly module does."""
    options = options or LowerOptions()
    infos = validate(module)
    registers = SharedRegisters()
    user = user_context(module, registers, options)
    state = find_initial_state(user)
    roots = _roots(user, state)
    in_tables = {index: function_callee(user, index) for index in sorted(state.functions(user))}
    reached = Functions(user, infos, options).reach(roots)
    functions = order(reached, roots, tuple(in_tables.values()))
    entries = make_entries(user, state)
    placed = place([entries.code, *functions])
    table_starts = {index: placed.starts[callee] for index, callee in in_tables.items()}
    return CoreProgram(
        placed.instructions,
        all_segments(user, state, table_starts, options),
        entries.table,
        placed.origins,
        _claims(user, placed),
    )


def _claims(user: ModuleContext, placed: Placed) -> Claims:
    order = sorted(placed.starts, key=lambda callee: placed.starts[callee])
    ends = [*(placed.starts[callee] for callee in order[1:]), len(placed.instructions)]
    places: list[Place] = []
    for callee, end in zip(order, ends, strict=True):
        places += [((callee, o.place),) for o in placed.origins[len(places) : end]]
    mutable = (entry.type.mutable for entry in user.module.globals)
    return Claims(
        placed.starts,
        tuple(g if m else () for g, m in zip(user.globals, mutable, strict=True)),
        tuple((p.address, p.length_register) for p in user.data),
        tuple((p.address, p.length_register) for p in user.elements),
        tuple(places),
    )


def _roots(user: ModuleContext, state: InitialState) -> list[Callee]:
    """The functions that can be reached without a call."""
    indices = [index for _, index in exported(user)]
    if user.module.start is not None:
        indices.append(user.module.start)
    indices += sorted(state.functions(user))
    return [function_callee(user, index) for index in indices]


class Functions:
    """Lowers functions, and what they call."""

    def __init__(
        self, user: ModuleContext, infos: tuple[FunctionInfo, ...], options: LowerOptions
    ) -> None:
        self.options = options
        self.user = user
        self.infos = infos
        self.contexts = {USER: user}
        self.done: dict[Callee, FunctionCode] = {}

    def reach(self, roots: list[Callee]) -> list[FunctionCode]:
        """The functions that can be reached from some, the user's first."""
        found: dict[Callee, FunctionCode] = {}
        waiting = roots.copy()
        while waiting:
            callee = waiting.pop()
            if callee not in found:
                found[callee] = self.lowered(callee)
                waiting += found[callee].needs
        return sorted(found.values(), key=lambda code: (_ORDER.index(code.callee[0]), code.callee))

    def lowered(self, callee: Callee) -> FunctionCode:
        """A function, lowered once."""
        if callee not in self.done:
            self.done[callee] = self.lower(callee)
        return self.done[callee]

    def lower(self, callee: Callee) -> FunctionCode:
        """The steps of one function, in their order."""
        name, index = callee
        if name not in self.contexts:
            self.contexts[name] = library_context(name, self.user.registers)
        context = self.contexts[name]
        function, info = self._find(context, index)
        code = translate(context, index, function, info, self._name(context, index))
        if context is self.user:
            inline_in_loops(code, self.lowered)
        return_early(code)
        jump_to_last_calls(code)
        propagate(code, self.user.registers)
        optimise(code)
        coalesce(code)
        optimise(code)
        arrange(code)
        if code.frame > LARGEST_FRAME:
            raise UnsupportedFeatureError(
                f"function {code.name} needs {code.frame} registers, {LARGEST_FRAME} are possible; "
                "give it fewer locals"
            )
        return code

    def _find(self, context: ModuleContext, index: int) -> tuple[Function, FunctionInfo]:
        module = context.module
        first = len(context.imports)
        if index >= first:
            if context is self.user:
                return module.functions[index - first], self.infos[index - first]
            info = BodyValidator(module, module.index_spaces(), index - first).run()
            return module.functions[index - first], info
        return self._wrap(context, index)

    def _wrap(self, context: ModuleContext, index: int) -> tuple[Function, FunctionInfo]:
        """A function that does what a native instruction does."""
        type_ = context.functions[index]
        parameters = [Instruction("local.get", (n,)) for n in range(len(type_.parameters))]
        body = (*parameters, Instruction("call", (index,)), Instruction("end"))
        function = Function(context.module.index_spaces().functions[index], (), body)
        chains: list[object] = [None]
        for value in type_.parameters:
            chains.append((chains[-1], value))
        chains.append(None)
        info = FunctionInfo(type_, type_.parameters, (), {}, tuple(chains))  # type: ignore[arg-type]
        return function, info

    def _name(self, context: ModuleContext, index: int) -> str:
        """For people: what the module calls it."""
        module = context.module
        for number, name in module.function_names:
            if number == index:
                return name
        for entry in module.exports:
            if entry.kind == "func" and entry.index == index:
                return entry.name
        return f"function {index}" if context is self.user else f"{context.name} {index}"
