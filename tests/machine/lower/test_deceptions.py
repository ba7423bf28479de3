"""Programs, and claims of them, that were made by hand to deceive the proof: all are refused.

Each was accepted once. `put` has other instructions do a function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from curta import Machine
from curta.errors import ExitError, LimitError, LinkError, ModuleError, ProofError
from curta.machine.core_program import PRIVATE, Claim, CoreProgram, Origin, Segment, WasmLocation
from curta.machine.instructions import FIRST_GLOBAL, GLOBALS, MEMORY_PAGES, ZERO, CoreInstruction
from curta.machine.layout import ARGUMENTS_LENGTH
from curta.machine.loaded import LoadedProgram
from curta.machine.lower import LowerOptions, lower
from curta.machine.parts.operations import Extension, Operations
from curta.machine.proof import LemmaStore, prove
from curta.machine.run import MachineLevel
from curta.machine.wasm import MAX_PAGES
from curta.machine.wasm.decode import decode
from curta.machine.wasm.module import Module
from curta.machine.wasm.text import assemble
from tests.machine.lower.core_run import CoreInstance

Changed = Callable[[CoreProgram], CoreProgram]
RETURN = CoreInstruction("return", a=1)
"""Where to return to is in register 1, if there is a parameter or a result of one word."""


def constant(word: int, register: int = 0) -> CoreInstruction:
    return CoreInstruction("copy", b=None, d=register, immediate=word)


def with_constant(name: str, b: int, **fields: int) -> CoreInstruction:
    """An instruction whose second source is a constant."""
    return CoreInstruction(name, b=None, immediate=b, **fields)


def put(
    program: CoreProgram,
    index: int,
    code: Sequence[CoreInstruction],
    claims: Mapping[int, Claim] | None = None,
) -> CoreProgram:
    """These instructions, at the end of the program, instead of a function; targets of their jumps
    and places of claims count from their beginning.
    """
    start, old = len(program.instructions), program.claims.functions["user", index]
    moved = tuple(
        replace(one, target=start)
        if one.operation in ("call", "jump") and one.target == old
        else one
        for one in program.instructions
    )
    own = [
        replace(one, target=start + one.target) if one.operation.startswith("jump") else one
        for one in code
    ]
    functions = {**program.claims.functions, ("user", index): start}
    blocks = {start + at: claim for at, claim in (claims or {}).items()}
    claimed = replace(
        program.claims, functions=functions, blocks={**program.claims.blocks, **blocks}
    )
    origin = Origin("f", asked=WasmLocation(("user", index), 0))
    origins = program.origins + (origin,) * len(own)
    return replace(program, instructions=(*moved, *own), claims=claimed, origins=origins)


def is_refused(
    module: Module,
    program: CoreProgram,
    extensions: Sequence[Extension] = (),
    lemma_store: LemmaStore | None = None,
) -> bool:
    prompt = LoadedProgram.from_core(program, Operations(extensions).names).prompt()
    try:
        found = prove(module, program, prompt, MAX_PAGES, extensions, lemma_store)
    except ProofError:
        return True
    return any(verdict.refused for verdict in found)


def second_by_register(name: str) -> Changed:
    """A register says what a constant did; it holds 0."""

    def changed(program: CoreProgram) -> CoreProgram:
        found = [n for n, one in enumerate(program.instructions) if one.operation == name]
        at = found[-1]
        instructions = [*program.instructions]
        instructions[at] = replace(instructions[at], b=77)
        return replace(program, instructions=tuple(instructions))

    return changed


def kept_in(register: int) -> Changed:
    """f keeps its parameter over a call in a register of all frames, to which the callee writes."""

    def changed(program: CoreProgram) -> CoreProgram:
        add = with_constant("add", 1, a=0, d=0)
        program = put(program, 0, [add, constant(1000, register), RETURN])
        called = program.claims.functions["user", 0]
        copies = CoreInstruction("copy", b=0, d=register), CoreInstruction("copy", b=0, d=5)
        call = CoreInstruction("call", d=6, b=0, immediate=5, target=called)
        return put(
            program, 1, [*copies, call, CoreInstruction("sub", a=5, b=register, d=0), RETURN]
        )

    return changed


def sized(program: CoreProgram) -> CoreProgram:
    """A memory where there is none."""
    at = program.instructions[2].target
    instructions = [*program.instructions]
    assert instructions[at].operation == "copy"
    instructions[at] = constant(1, MEMORY_PAGES)
    return replace(program, instructions=tuple(instructions))


def claimed_constant(program: CoreProgram) -> CoreProgram:
    changed = put(program, 0, [constant(5), RETURN])
    return replace(changed, claims=replace(changed.claims, globals={0: (~5,)}))


def claimed_choice(program: CoreProgram) -> CoreProgram:
    """Register 3 is claimed to be a choice by register 2, which is no truth value."""
    code = [
        with_constant("jump_eq", 0, a=0, target=4),
        *(constant(5, 2), constant(0, 3), CoreInstruction("jump", target=6)),
        *(constant(1, 2), constant(1, 3)),
        *(CoreInstruction("copy", b=3, d=0), RETURN),
    ]
    made = {3: ("ite", (2, ~1, ~0))}
    claim = Claim(WasmLocation(("user", 0), 9), (1, 2), {0: 1, 1: None, 2: 2, 3: 3}, made)
    return put(program, 0, code, {6: claim})


def renumbered(program: CoreProgram, old: int, new: int) -> CoreProgram:
    """The program with another shared register instead of one."""
    instructions = tuple(
        replace(one, **{name: new for name in "abcd" if getattr(one, name) == old})
        for one in program.instructions
    )
    return replace(program, instructions=instructions)


def global_in_size(program: CoreProgram) -> CoreProgram:
    """Where the size of memory would be; it begins as 0."""
    (register,) = program.claims.globals[0]
    changed = renumbered(program, register, MEMORY_PAGES)
    instructions = tuple(
        replace(one, immediate=0) if one.operation == "copy" and one.d == MEMORY_PAGES else one
        for one in changed.instructions
    )
    claims = replace(program.claims, globals={0: (MEMORY_PAGES,)})
    return replace(changed, instructions=instructions, claims=claims)


def length_in_size(program: CoreProgram) -> CoreProgram:
    ((address, register),) = program.claims.elements
    claims = replace(program.claims, elements=((address, MEMORY_PAGES),))
    return replace(renumbered(program, register, MEMORY_PAGES), claims=claims)


def over_arguments(program: CoreProgram) -> CoreProgram:
    """What the host said is stored over while the instance is set up."""
    first, count = program.instructions[2], len(program.instructions)
    more = (
        CoreInstruction("poke32", a=ZERO, c=ZERO, b=None, immediate=ARGUMENTS_LENGTH),
        CoreInstruction("jump", target=first.target),
    )
    instructions = [*program.instructions, *more]
    instructions[2] = replace(first, target=count)
    origins = program.origins + (Origin("more"),) * len(more)
    return replace(program, instructions=tuple(instructions), origins=origins)


def saying_more(program: CoreProgram) -> CoreProgram:
    """Behind the results an entry jumps to and fro before it waits again."""
    at = program.instructions[2 + program.entries["f"].number].target
    while program.instructions[at].operation != "copy":
        at += 1
    count = len(program.instructions)
    jumps = [CoreInstruction("jump", target=count + 2 + number) for number in range(61)]
    more = [program.instructions[at], *jumps, CoreInstruction("jump", target=0)]
    instructions = [*program.instructions, *more]
    instructions[at] = CoreInstruction("jump", target=count)
    origins = program.origins + (Origin("more"),) * len(more)
    return replace(program, instructions=tuple(instructions), origins=origins)


def segment_at(address: int) -> Changed:
    return lambda program: replace(program, segments=(Segment(address, bytes(8)),))


def exit_with(*first: CoreInstruction) -> Changed:
    return lambda program: put(program, 1, [*first, CoreInstruction("exit")])


def globals_before_exit(program: CoreProgram) -> CoreProgram:
    (register,) = program.claims.globals[0]
    code = constant(99, register), constant(9, MEMORY_PAGES), constant(1), CoreInstruction("exit")
    return put(program, 1, code)


DECEPTIONS: dict[str, tuple[str, Changed]] = {
    "how many ways there are": (
        """(func (export "f") (param i32) (result i32) (block (block (block
             (br_table 0 1 2 (local.get 0))) (return (i32.const 10))) (return (i32.const 11)))
           (i32.const 12))""",
        second_by_register("jump_table"),
    ),
    "which trap it is": (
        '(func (export "f") (param i32) unreachable)',
        second_by_register("trap"),
    ),
    "which trap it is, before all": (
        '(memory 1) (data (i32.const 65536) "x") (func (export "f"))',
        second_by_register("trap"),
    ),
    **{
        f"kept in {register}": (
            """(func $g (export "g") (param i32) (result i32)
                 (i32.add (local.get 0) (i32.const 1)))
               (func (export "f") (param i32) (result i32)
                 (i32.sub (call $g (local.get 0)) (local.get 0)))""",
            kept_in(register),
        )
        for register in (FIRST_GLOBAL, 40_000)
    },
    "a memory where there is none": (
        """(import "wasi_snapshot_preview1" "args_sizes_get" (func $w (param i32 i32) (result i32)))
           (global (mut i32) (i32.const 1))
           (func (export "f") (result i32) (call $w (i32.const 0) (i32.const 8)))""",
        sized,
    ),
    "nothing as exit code": (
        """(import "curta" "exit" (func $exit (param i32)))
           (func (export "f") (param i32) (call $exit (local.get 0)))""",
        exit_with(),
    ),
    "an exit code said long ago": (
        """(import "curta" "exit" (func $exit (param i32)))
           (func (export "f") (param i32) (call $exit (local.get 0)))""",
        exit_with(
            CoreInstruction("copy", b=0, d=3),
            *(CoreInstruction("jump", target=number + 2) for number in range(70)),
        ),
    ),
    "results said long ago": (
        '(func (export "f") (param i32) (result i32) (local.get 0))',
        saying_more,
    ),
    "a global in the register of the size": (
        """(global $g (mut i32) (i32.const 3))
           (func (export "f") (result i32) (global.get $g))""",
        global_in_size,
    ),
    "a length in the register of the size": (
        """(import "wasi_snapshot_preview1" "args_sizes_get" (func $w (param i32 i32) (result i32)))
           (table 4 funcref) (elem $e func $w $w)
           (func (export "i")
             (table.init $e (i32.const 0) (i32.const 0) (i32.const 1)))
           (func (export "f") (result i32) (call $w (i32.const 0) (i32.const 8)))""",
        length_in_size,
    ),
    "no arguments": (
        """(import "wasi_snapshot_preview1" "args_sizes_get" (func $w (param i32 i32) (result i32)))
           (memory 1) (func (export "f") (result i32) (call $w (i32.const 0) (i32.const 8)))""",
        over_arguments,
    ),
    "bytes in both memories": ('(func (export "f"))', segment_at(PRIVATE - 4)),
    "bytes behind the memories": ('(func (export "f"))', segment_at(2 * PRIVATE - 4)),
    "a global that is claimed to be constant": (
        """(global $g (mut i32) (i32.const 0))
           (func (export "f") (result i32) (global.get $g))""",
        claimed_constant,
    ),
    "a choice by what is no truth value": (
        """(func (export "f") (param i32) (result i32) (local i32)
             (if (local.get 0) (then (local.set 1 (i32.const 5)))
               (else (local.set 1 (i32.const 1))))
             (nop) (local.get 1))""",
        claimed_choice,
    ),
    "globals before an exit": (
        """(import "curta" "exit" (func $exit (param i32))) (memory 1)
           (global $g (mut i32) (i32.const 3))
           (func (export "f") (call $exit (i32.const 1)))
           (func (export "get") (result i32) (global.get $g))""",
        globals_before_exit,
    ),
}


@pytest.mark.parametrize("name", DECEPTIONS)
def test_deceptions_are_refused(name: str) -> None:
    text, changed = DECEPTIONS[name]
    module = decode(assemble(f"(module {text})"))
    program = lower(module)
    assert not is_refused(module, program)
    assert is_refused(module, changed(program))


@pytest.mark.parametrize("level", ["reference", "native"])
def test_a_quotient_may_be_the_exit_code(level: MachineLevel) -> None:
    """It is a word like all others: no copy has to say it again."""
    module = decode(
        assemble("""(module (import "curta" "exit" (func $exit (param i32)))
          (func (export "f") (param i32)
            (call $exit (i32.div_u (local.get 0) (i32.const 10)))))""")
    )
    program = exit_with(with_constant("div_u", 10, a=0, d=0))(lower(module))
    assert not is_refused(module, program)
    instance = Machine(level).start(LoadedProgram.from_core(program))
    with pytest.raises(ExitError) as ended:
        instance.invoke("f", 123_456_789)
    assert ended.value.code == 12_345_678


@pytest.mark.parametrize("name", ["not", "ite"])
def test_an_extension_is_nothing_but_itself(name: str) -> None:
    """`not` of a truth value, and a choice of 1 and 0, would be what they are made of."""
    extension = Extension(name, 3, lambda sources: sources.a.number, lambda a, b, c: 7)
    text = f"""(module (import "curta" "{name}" (func $x (param i32 i32 i32) (result i32)))
      (func (export "f") (param i32) (result i32)
        (call $x (i32.eqz (local.get 0)) (i32.const 1) (i32.const 0))))"""
    module = decode(assemble(text))
    program = lower(module, LowerOptions(extensions=(extension,)))
    assert not is_refused(module, program, [extension])
    given = with_constant("eq", 0, a=0, d=0)
    assert is_refused(module, put(program, 1, [given, RETURN]), [extension])


def test_where_conditional_jumps_lead_is_part_of_what_is_known() -> None:
    """They lead to where other functions begin: what is there is done in place."""
    text = """(module (func (export "a") (param i32) (result i32) (i32.const 10))
      (func (export "b") (param i32) (result i32) (i32.const 11))
      (func (export "f") (param i32) (result i32)
        (if (i32.eqz (local.get 0)) (then (return (i32.const 10))))
        (if (i32.eq (local.get 0) (i32.const 1)) (then (return (i32.const 11))))
        (i32.const 7)))"""
    module = decode(assemble(text))
    program = lower(module)
    for index, word in ((0, 10), (1, 11)):
        program = put(program, index, [constant(word), RETURN])
    starts = [program.claims.functions["user", index] for index in range(2)]
    here = len(program.instructions)

    def leading(one: int, other: int) -> CoreProgram:
        jumps = (
            with_constant("jump_eq", number, a=0, target=target - here)
            for number, target in enumerate((one, other))
        )
        return put(program, 2, [*jumps, constant(7), RETURN])

    right, wrong = leading(*starts), leading(*starts[::-1])
    assert CoreInstance(right).invoke("f", 0) == (10,)
    assert CoreInstance(wrong).invoke("f", 0) == (11,)
    lemma_store = LemmaStore(b"who is called")
    assert not is_refused(module, right, lemma_store=lemma_store)
    assert is_refused(module, wrong, lemma_store=lemma_store)


def test_what_an_extension_takes_is_part_of_what_is_known() -> None:
    """Its third word counts or not, and only the core instructions of f use it."""
    lemma_store = LemmaStore(b"what it takes")
    for count, refused in ((1, False), (3, True)):
        extension = Extension(
            "x", count, lambda sources: sources.a.number, lambda *words: words[-1]
        )
        text = f"""(module (import "curta" "x" (func $x (param {"i32 " * count}) (result i32)))
          (func (export "f") (param i32) (result i32) (local.get 0))
          (func (export "u") (result i32) (call $x {"(i32.const 1) " * count})))"""
        module = decode(assemble(text))
        code = [
            *(constant(1, 3), constant(2, 4)),
            *(CoreInstruction("x", a=0, b=0, c=3, d=5), CoreInstruction("x", a=0, b=0, c=4, d=6)),
            *(CoreInstruction("jump_eq", a=5, b=6, target=6), constant(99), RETURN),
        ]
        program = put(lower(module, LowerOptions(extensions=(extension,))), 1, code)
        assert is_refused(module, program, [extension], lemma_store) is refused


def test_functions_of_the_module_are_not_in_line(tmp_path: Path) -> None:
    """What they do is not part of what is known of those that call them."""
    text = """(module (func $g (export "g") (param i32) (result i32)
        (i32.add (local.get 0) (i32.const 1)))
      (func (export "f") (param i32) (result i32) (call $g (local.get 0))))"""
    module = decode(assemble(text))
    program = put(lower(module), 1, [with_constant("add", 1, a=0, d=0), RETURN])
    inlined = {WasmLocation(("user", 1), 1): ("user", 0)}
    assert is_refused(module, replace(program, claims=replace(program.claims, inlined=inlined)))


@pytest.mark.parametrize("field", ["a", "b", "c", "d", "target"])
def test_no_instruction_is_more_than_its_tokens_say(field: str) -> None:
    """Weights that are baked would be of another program than the prompt."""
    program = lower(decode(assemble('(module (func (export "f")))')))
    large = replace(program.instructions[2], **{field: 1 << 24})
    with pytest.raises(LimitError, match=f"{field} has more than"):
        LoadedProgram.from_core(replace(program, instructions=(large,)))


IMPORTING = {
    "a function of another module": '(import "env" "sched_yield" (func (result i32)))',
    "a function of another type": """(import "wasi_snapshot_preview1" "sched_yield"
        (func (param i32 i32 i32) (result i32)))""",
    "a global": '(import "env" "g" (global i32))',
    "what reads the private memory": '(import "curta" "peek8" (func (param i32) (result i32)))',
    "what writes the table": '(import "curta" "poke32" (func (param i32 i32)))',
}


@pytest.mark.parametrize("name", IMPORTING)
def test_what_is_imported_is_what_there_is(name: str) -> None:
    """Of the module that is proved, not only of the one that was lowered."""
    function = '(func (export "f") (result i32) (i32.const 1))'
    program = lower(decode(assemble(f"(module {function})")))
    with pytest.raises(LinkError):
        is_refused(decode(assemble(f"(module {IMPORTING[name]} {function})")), program)


def test_a_module_that_is_proved_is_valid() -> None:
    function = '(func (export "f") (result i32) (i32.const 1))'
    program = lower(decode(assemble(f"(module {function})")))
    with pytest.raises(ModuleError):
        is_refused(
            decode(assemble(f"(module {function} (func (result i32) (i64.const 1)))")), program
        )


def test_an_extension_takes_as_many_words_as_it_is_said_to(tmp_path: Path) -> None:
    one = Extension("x", 1, lambda sources: sources.a.number, lambda a: a)
    three = Extension("x", 3, lambda sources: sources.a.number, lambda a, b, c: a + b + c)
    module = decode(
        assemble(
            """(module (import "curta" "x" (func $x (param i32) (result i32)))
            (func (export "f") (param i32) (result i32) (call $x (local.get 0))))"""
        )
    )
    program = lower(module, LowerOptions(extensions=(one,)))
    assert not is_refused(module, program, [one])
    with pytest.raises(LinkError, match="incompatible import type"):
        is_refused(module, program, [three])


def test_no_function_has_more_words_than_a_frame(tmp_path: Path) -> None:
    """Its arguments would be in registers of all frames, which are not part of what is known."""
    words = GLOBALS + 5
    module = decode(assemble(f'(module (func {"(param i32) " * words}) (func (export "f")))'))
    program = lower(decode(assemble('(module (func) (func (export "f")))')))
    assert is_refused(module, program)
