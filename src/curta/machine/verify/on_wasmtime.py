"""A program's output and end beside what wasmtime makes of the same module."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from curta.errors import ProgramError, VerifyError
from curta.machine.instance import START
from curta.machine.instructions import WORD
from curta.machine.kept.file import KeptRun, Kind
from curta.machine.kept.keeping import Ready, results
from curta.machine.library import NATIVES, WASI_MODULES
from curta.machine.parts.operations import Extension
from curta.machine.run import CONSTRUCTORS
from curta.machine.values import Number, show, to_number
from curta.machine.wasm.decode import decode

SURROUNDINGS = ("clock_time_get", "clock_res_get", "random_get")
"""What wasmtime answers from the outside world, and the machine does not."""
FIRST_REFUSED_CODE = 126
"""wasmtime takes no exit code from here on: it traps, and does not say which one it was."""
AS_TERMINALS = """
(module
  (import "program" "memory" (memory 0))
  (import "wasi" "fd_fdstat_get" (func $asked (param i32 i32) (result i32)))
  (export "memory" (memory 0))
  (func (export "fd_fdstat_get") (param $file i32) (param $answer i32) (result i32)
    (local $error i32)
    (local.set $error (call $asked (local.get $file) (local.get $answer)))
    (if (i32.eqz (local.get $error)) (then
      (i32.store8 (local.get $answer) (i32.const 2)) ;; a character device
      (i64.store offset=8 (local.get $answer) ;; that cannot be sought (4), nor says where (32)
        (i64.and (i64.load offset=8 (local.get $answer)) (i64.const -37)))))
    (local.get $error)))
"""
"""wasmtime's answer to what a stream is, with the kind of file that the machine says it is."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a program did, as far as one sees it from outside."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None
    """None if it trapped."""
    trap: str = ""
    """Why it trapped, in the words of whoever ran it."""
    results: tuple[str, ...] = ()
    """What a function returned, as text."""

    @property
    def no_code_for_wasmtime(self) -> bool:
        """It ended itself with a code that wasmtime refuses to pass on: 126 and above."""
        return self.exit_code is None and self.trap.startswith("exit with invalid exit status")


@dataclass(frozen=True, slots=True)
class Call:
    """A function that is invoked instead of a program that is run. Integers are signed."""

    name: str
    numbers: tuple[Number, ...] = ()


def unknown_to_wasmtime(module: bytes, extensions: Sequence[Extension] = ()) -> list[str]:
    """What a module imports that only the machine has, native instructions above all."""
    known = [(NATIVES, extension.name) for extension in extensions]
    return [
        f"{entry.module}.{entry.name}"
        for entry in decode(module).imports
        if entry.module != WASI_MODULES[0] and (entry.module, entry.name) not in known
    ]


def run_on_wasmtime(
    module: bytes,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    stdin: bytes,
    extensions: Sequence[Extension] = (),
    call: Call | None = None,
) -> Outcome:
    """The program on wasmtime's own WASI. The first argument is the program's name.

    Its streams are files, and it is told that they are terminals, as the machine tells it: the C
    library then hands on every line of output, and what it has not when there is a trap is the same
    on both. Extensions are functions of the host, by their meaning in Python. Where there is a
    call, C++ constructs its globals before it.
    """
    import wasmtime

    engine = wasmtime.Engine()
    store, linker = wasmtime.Store(engine), wasmtime.Linker(engine)
    linker.define_wasi()
    _call_streams_terminals(wasmtime, store, linker)
    for extension in extensions:
        words = [wasmtime.ValType.i32()] * extension.parameters
        type_ = wasmtime.FuncType(words, [wasmtime.ValType.i32()])
        linker.define_func("curta", extension.name, type_, _on_words(extension))
    with tempfile.TemporaryDirectory() as folder:
        given, out, err = (Path(folder) / name for name in ("stdin", "stdout", "stderr"))
        given.write_bytes(stdin)
        config = wasmtime.WasiConfig()
        config.argv, config.env = list(arguments), list(environment.items())
        config.stdin_file, config.stdout_file, config.stderr_file = map(str, (given, out, err))
        store.set_wasi(config)
        code, trap, results = _start(wasmtime, store, linker, module, call)
        del store
        return Outcome(out.read_bytes(), err.read_bytes(), code, trap, results)


def _call_streams_terminals(wasmtime: Any, store: Any, linker: Any) -> None:
    """Put AS_TERMINALS before WASI's own function; it needs the memory of whoever calls it."""
    place = ("wasi_snapshot_preview1", "fd_fdstat_get")
    asked = linker.get(store, *place)
    module = wasmtime.Module(store.engine, AS_TERMINALS)

    def answer(caller: Any, file: int, address: int) -> int:
        memory = caller.get("memory")
        if memory is None:
            raise wasmtime.WasmtimeError("missing required memory export")
        instance = wasmtime.Instance(caller, module, [memory, asked])
        return int(instance.exports(caller)["fd_fdstat_get"](caller, file, address))

    word = wasmtime.ValType.i32()
    type_ = wasmtime.FuncType([word, word], [word])
    linker.allow_shadowing = True
    linker.define_func(*place, type_, answer, access_caller=True)
    linker.allow_shadowing = False


def _on_words(extension: Extension) -> Callable[..., int]:
    """The meaning of an extension; wasmtime's words are signed."""

    def call(*numbers: int) -> int:
        word = extension.meaning(*(number % WORD for number in numbers))
        return word - WORD if word >= WORD // 2 else word

    return call


def _start(
    wasmtime: Any, store: Any, linker: Any, module: bytes, call: Call | None
) -> tuple[int | None, str, tuple[str, ...]]:
    """The exit code, or None and why it trapped; what the function returned."""
    found = None
    try:
        instance = linker.instantiate(store, wasmtime.Module(store.engine, module))
        exports = instance.exports(store)
        if call is None:
            exports["_start"](store)
        else:
            if CONSTRUCTORS in exports:
                exports[CONSTRUCTORS](store)
            found = exports[call.name](store, *call.numbers)
    except wasmtime.ExitTrap as end:
        return int(end.code), "", ()
    except (wasmtime.Trap, wasmtime.WasmtimeError) as error:
        return None, str(error).strip().splitlines()[-1].strip(), ()
    return 0, "", shown(found)


def shown(results: Any) -> tuple[str, ...]:
    """Results as text: Python has one, several, or none."""
    if results is None:
        return ()
    return tuple(map(show, results if isinstance(results, list | tuple) else (results,)))


def compare_outcomes(ours: Outcome, theirs: Outcome) -> None:
    """A VerifyError says what is not as on wasmtime."""
    if theirs.no_code_for_wasmtime and (ours.exit_code or 0) >= FIRST_REFUSED_CODE:
        theirs = replace(theirs, exit_code=ours.exit_code)
    if (ours.exit_code is None) != (theirs.exit_code is None):
        raise VerifyError(f"here {_end(ours)}, on wasmtime {_end(theirs)}")
    for what, one, other in (
        ("output", ours.stdout, theirs.stdout),
        ("error output", ours.stderr, theirs.stderr),
    ):
        if one != other:
            raise VerifyError(_first_byte(what, one, other))
    if ours.results != theirs.results:
        here, there = (" ".join(outcome.results) or "nothing" for outcome in (ours, theirs))
        raise VerifyError(f"the result here is {here}, on wasmtime {there}")
    if ours.exit_code != theirs.exit_code:
        raise VerifyError(f"here {_end(ours)}, on wasmtime {_end(theirs)}")


def _end(outcome: Outcome) -> str:
    if outcome.exit_code is None:
        return f"it traps ({outcome.trap})"
    return f"the exit code is {outcome.exit_code}"


def _first_byte(what: str, one: bytes, other: bytes) -> str:
    shorter = min(len(one), len(other))
    place = next((n for n in range(shorter) if one[n] != other[n]), shorter)
    shown, expected = (text[place : place + 32] or "its end" for text in (one, other))
    return f"the {what} differs at byte {place:,}: here {shown!r}, on wasmtime {expected!r}"


# -- a kept run ---------------------------------------------


def compare_kept(kept: KeptRun, ready: Ready, extensions: Sequence[Extension]) -> tuple[bool, str]:
    """Whether a run at its end could be compared, and what was found to be the same, or why not."""
    beginning = kept.beginning
    if not beginning.module:
        return False, "not compared, it runs no weights"
    if unknown := unknown_to_wasmtime(beginning.module, extensions):
        return False, f"not compared, it has no {', '.join(unknown)}"
    ours = outcome_of(kept, ready)
    theirs = run_on_wasmtime(
        beginning.module,
        [beginning.name, *beginning.arguments],
        beginning.environment,
        kept.streams[Kind.INPUT].read(0, kept.streams[Kind.INPUT].length),
        extensions,
        call_of(kept, ready),
    )
    try:
        compare_outcomes(ours, theirs)
    except ProgramError as error:
        asked = [name for name in SURROUNDINGS if name.encode() in beginning.module]
        if not asked:
            raise
        hint = f"{error}; the program may ask for {', '.join(asked)}, which wasmtime answers freely"
        raise type(error)(hint) from error
    return True, in_words(ours, theirs)


def outcome_of(kept: KeptRun, ready: Ready) -> Outcome:
    """What a run did, as far as one sees it from outside."""
    ending = kept.ending
    assert ending is not None, "the run is at its end"
    reason, where = ending.trap
    trap = f"{reason} ({where})" if where else reason
    streams = (kept.streams[kind] for kind in (Kind.OUTPUT, Kind.ERRORS))
    output, errors = (stream.read(0, stream.length) for stream in streams)
    return Outcome(output, errors, ending.code, trap, tuple(results(kept, ready)))


def call_of(kept: KeptRun, ready: Ready) -> Call | None:
    """The function that was invoked, with numbers as wasmtime takes them: integers are signed."""
    last = kept.beginning.invocations[-1]
    if last.name == START:
        return None
    types = ready.program.entries[last.name].parameters
    pairs = zip(last.patterns, types, strict=True)
    return Call(last.name, tuple(to_number(pattern, type_) for pattern, type_ in pairs))


def in_words(ours: Outcome, theirs: Outcome) -> str:
    """What was found to be the same."""
    same = f"the same output ({len(ours.stdout):,} bytes), errors ({len(ours.stderr):,} bytes)"
    if ours.exit_code is None:
        return f"{same}, and a trap too ({theirs.trap}; here: {ours.trap})"
    if ours.results:
        return f"{same} and result{'s'[len(ours.results) < 2 :]} {' '.join(ours.results)}"
    return f"{same} and exit code {ours.exit_code}"
