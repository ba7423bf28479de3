"""Is it all in the weights? A run's tokens beside another level's, its output beside wasmtime's.

The other level is given the same conversation and says, after every token, what would come next.
Wherever the machine spoke in the run, and not the host, both have to agree. By induction that is
what a conversation with the other level would have been; the first difference is reported.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from curta.engine import Engine
from curta.errors import ProgramError, TokenError, UserError
from curta.machine.conversation import Chapter
from curta.machine.ids import AWAIT_ID, FIRST_LAST, READ_ID, START_ID, Ids
from curta.machine.instructions import WORD
from curta.machine.ledger import new_ledger
from curta.machine.library import NATIVES, WASI_MODULES
from curta.machine.listing import instruction_text
from curta.machine.loaded import LoadedProgram
from curta.machine.opening import opening_ids, opening_of
from curta.machine.parts.operations import Extension
from curta.machine.prompt import decode_prompt
from curta.machine.run import CONSTRUCTORS
from curta.machine.trace import counters
from curta.machine.values import Number, show
from curta.machine.vocabulary import DIGIT
from curta.machine.wasm.decode import decode

ReplayLevel = Literal["plain", "hull"]
PLAIN_TOKENS = 20_000
"""Softmax looks at all pairs of tokens: up to here that is a matter of a minute."""
NAMES: dict[ReplayLevel, str] = {"plain": "the plain softmax model", "hull": "the hull level"}
SHOWN = 8
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


class VerifyError(ProgramError):
    """Two ways of running a program that do not agree."""


# -- tokens ---------------------------------------------


@dataclass(frozen=True, slots=True)
class Replay:
    """Which part of a conversation is replayed, and how."""

    level: ReplayLevel
    tokens: int
    """From the beginning of the conversation, the prompt included."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What was found to be the same."""

    level: ReplayLevel
    tokens: int
    """As far as the conversation was replayed, the prompt included."""
    spoken: int
    """How many of them the machine said: those were compared."""
    seconds: float


def plan(
    total: int, prompt: int, level: ReplayLevel | None = None, tokens: int | None = None
) -> Replay:
    """Softmax for a conversation that is short enough, hull caches for others: all of it."""
    if tokens is not None and tokens < 1:
        raise UserError(f"tokens={tokens} (--tokens): expected at least 1")
    if level is None:
        level = "plain" if min(total, tokens or total) <= PLAIN_TOKENS else "hull"
    if tokens is None:
        tokens = PLAIN_TOKENS if level == "plain" else total
    if tokens <= prompt < total:
        default = f" (--tokens; {PLAIN_TOKENS:,} by default)" if level == "plain" else ""
        raise UserError(
            f"the prompt alone, which holds the program, has {prompt:,} tokens, so that among the "
            f"first {tokens:,}{default} there is nothing to compare: --tokens {prompt + 1_000} or "
            "more" + (", or --level hull" if level == "plain" else "")
        )
    return Replay(level, min(tokens, total))


def spoken_by_machine(ids: Ids, prompt: int) -> npt.NDArray[np.bool_]:
    """For every token of a conversation: did the machine say it, and not the host?

    The host says the prompt, and behind every `await.` and `read.` one word.
    """
    spoken = np.ones(len(ids), dtype=np.bool_)
    spoken[:prompt] = False
    asked = np.flatnonzero(((ids == AWAIT_ID) | (ids == READ_ID)) & spoken)
    for place in (asked + 1).tolist():
        end = place
        while end < len(ids) and not FIRST_LAST <= ids[end] < FIRST_LAST + DIGIT:
            end += 1
        spoken[place : end + 1] = False
    return spoken


def compare_tokens(
    engine: Engine,
    ids: Ids,
    program: LoadedProgram | None,
    prompt: int,
    replayed: Replay,
    on_progress: Callable[[float], object] | None = None,
    first: int = 0,
) -> Compared:
    """Teacher forcing: a VerifyError names the first token that the level would not have said.

    If the program is given, the error has the instruction that the token belongs to. `first` is the
    place of the first token, for the error.
    """
    from curta.engine.replay import replay

    started = time.perf_counter()
    if replayed.tokens > engine.max_tokens:
        left = engine.max_tokens - prompt
        chapters = f", shorter chapters with --chapter-tokens {left // 2}" if left > 1 else ""
        raise UserError(
            f"{replayed.tokens:,} tokens in one chapter: level {replayed.level!r} is certified for "
            f"{engine.max_tokens:,}; choose fewer with --tokens{chapters}, or --level hull"
        )
    ids = ids[: replayed.tokens]
    spoken = spoken_by_machine(ids, prompt)
    at = 1  # the place of the token that comes next
    with closing(replay(engine, ids[:-1], spoken[1:], on_progress)) as blocks:
        for said in blocks:
            given = ids[at : at + len(said)]
            wrong = np.flatnonzero((said != given) & spoken[at : at + len(said)])
            if len(wrong):
                place = at + int(wrong[0])
                names = engine.vocabulary
                expected = names[int(said[wrong[0]])]
                said_since = ids[_started(ids, prompt) : place + 1]
                where = "" if program is None else _instruction(program, said_since)
                before = " ".join(names[one] for one in ids[max(0, place - SHOWN) : place].tolist())
                raise VerifyError(
                    f"the tokens differ at position {first + place:,}{where}: "
                    f"{NAMES[replayed.level]} says {expected}, the run has "
                    f"{names[int(ids[place])]}, after ... {before}"
                )
            at += len(said)
    seconds = time.perf_counter() - started
    return Compared(replayed.level, len(ids), int(spoken.sum()), seconds)


def _started(ids: Ids, prompt: int) -> int:
    """Behind the token of a prompt that begins the run."""
    return int(np.flatnonzero(ids[:prompt] == START_ID)[-1]) + 1


def compare_chapters(
    engine: Engine,
    ids: Ids,
    program: LoadedProgram,
    chapters: Sequence[Chapter],
    replayed: Replay,
    on_progress: Callable[[float], object] | None = None,
) -> Compared:
    """The same for a run of several, each of which goes on where the one before it ended."""
    started, spoken = time.perf_counter(), 0
    for chapter, part in continued(ids[: replayed.tokens], program, chapters):

        def progress(share: float, first: int = chapter.start, size: int = len(part)) -> None:
            if on_progress is not None:
                on_progress((first + share * size) / replayed.tokens)

        if len(part) > chapter.opening:
            own = Replay(replayed.level, len(part))
            found = compare_tokens(
                engine, part, program, chapter.opening, own, progress, chapter.start
            )
            spoken += found.spoken
    return Compared(replayed.level, replayed.tokens, spoken, time.perf_counter() - started)


def continued(
    ids: Ids, program: LoadedProgram, chapters: Sequence[Chapter]
) -> Iterator[tuple[Chapter, Ids]]:
    """Chapters with their tokens. A VerifyError if one does not open with the state that the tokens
    of those before it say.
    """
    ledger, first = new_ledger(program), ids[: chapters[0].opening]
    try:
        if not program.baked and not np.array_equal(first[: len(program.records)], program.records):
            raise TokenError("it is of another program")
        for segment in decode_prompt(first, program.operations).segments:
            ledger.give(segment)
    except TokenError as error:
        raise VerifyError(f"the run does not begin as runs do: {error}") from error
    ends = [chapter.start for chapter in chapters[1:]] + [len(ids)]
    for number, (chapter, end) in enumerate(zip(chapters, ends, strict=True), 1):
        part = ids[chapter.start : end]
        opening, said = part[: chapter.opening], part[chapter.opening :]
        expected = first if number == 1 else opening_ids(program, opening_of(ledger))
        is_last = chapter.start + len(part) == len(ids)
        if not np.array_equal(opening, expected[: len(opening)] if is_last else expected):
            raise VerifyError(
                f"chapter {number}, at position {chapter.start:,}, does not begin with the "
                "state in which the one before it ended"
            )
        yield chapter, part
        if is_last:
            return
        ledger.forget()
        try:
            ledger.take(said)
        except TokenError as error:
            raise VerifyError(f"chapter {number} says what no run does: {error}") from error


def _instruction(program: LoadedProgram, said: Ids) -> str:
    """What said the last of these tokens, the first that were said behind the prompt."""
    number = int(counters(said)[-1])
    if not 0 <= number < len(program):
        return ""
    function = program.origin(number).function
    text = instruction_text(program.instruction(number))
    return f", in instruction {number:,} ({text}) of {function}"


# -- output ---------------------------------------------


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


def wasmtime_is_there() -> bool:
    try:
        import wasmtime  # noqa: F401
    except ImportError:
        return False
    return True


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
