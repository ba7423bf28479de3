"""Running a program so that the run is kept, and going on with one that is."""

from __future__ import annotations

import hashlib
import io
import os
import stat
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from curta import __version__
from curta.errors import ExitError, ProgramError, Trap, UserError
from curta.machine.conversation import Conversation, ConversationLimits, Figures, Page
from curta.machine.core_program import INITIALISE, Entry, Segment
from curta.machine.host import Host
from curta.machine.ids import Ids
from curta.machine.instance import START, check_runs
from curta.machine.kept.file import (
    Beginning,
    Ending,
    Invocation,
    KeptRun,
    Kind,
    tokens_from_bytes,
    tokens_to_bytes,
)
from curta.machine.loaded import LoadedProgram
from curta.machine.run import (
    CONSTRUCTORS,
    DEFAULT_LIMITS,
    Run,
    RunOptions,
    TalkOptions,
    host_of,
    host_segments,
)
from curta.machine.standard_input import Ahead, Input, Readable
from curta.machine.talkers import Talker
from curta.machine.trace import Trace
from curta.machine.values import from_words, show, to_number, to_words, word_count

READ_AHEAD = 1 << 16
WRITTEN_TOGETHER, SECONDS_TOGETHER = 1 << 16, 0.02
"""Output that is kept and handed on at once, at most: bytes, and for how long it waits."""
TOKENS_TOGETHER = 1 << 20
"""Written at once, if tokens are kept."""
Handed = Mapping[Kind, int]
"""How many bytes of output, or errors, were handed on before."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A machine, and a program that it is to run."""

    talker: Talker
    program: LoadedProgram
    machine: str
    """What the weights compute (`Engine.identity`)."""
    level: str
    extensions: tuple[str, ...] = ()
    weights: str | None = None
    """The file with the weights, if they are the program."""
    module: bytes = b""
    """The WebAssembly, if they are not."""

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.program.to_bytes()).hexdigest()


def run_invocations(program: LoadedProgram) -> tuple[Invocation, ...]:
    """A program that is run has one function."""
    check_runs(program.entries)
    return (Invocation(START),)


def library_invocations(
    program: LoadedProgram, name: str, patterns: Sequence[int]
) -> tuple[Invocation, ...]:
    """A function of a library, after what C++ does before."""
    before = (Invocation(CONSTRUCTORS),) if CONSTRUCTORS in program.entries else ()
    return (*before, Invocation(name, tuple(patterns)))


# -- what is kept while a run goes on ---------------------------------------------


class KeptInput(Ahead):
    """Input that is in the file before the program gets it."""

    def __init__(
        self,
        kept: KeptRun,
        source: Readable | None,
        place: int,
        before_waiting: Callable[[], object],
    ) -> None:
        self._kept = kept
        self._before_waiting = before_waiting
        self._stream = kept.streams[Kind.INPUT]
        self._source = source
        self.place = place
        self._block, self._block_first = b"", 0

    def peek(self) -> bytes:
        """What there is in the file; what comes, once that is there; none at the end."""
        at = self.place - self._block_first
        if at >= len(self._block):
            if self.place >= self._stream.length and not self._more():
                return b""
            self._block, self._block_first = self._stream.read(self.place, READ_AHEAD), self.place
            at = 0
        return self._block[at:]

    def read(self, size: int, /) -> bytes:
        at = self.place - self._block_first
        read = self._block[at : at + size]
        self.place += len(read)
        return read

    def _more(self) -> bool:
        if self._kept.input_ended:
            return False
        self._before_waiting()
        content = b"" if self._source is None else _read_some(self._source)
        if content:
            self._keep(content)
        else:
            self._kept.end_input()
        return bool(content)

    def _keep(self, content: bytes) -> None:
        """A pipe gives nothing twice: what it gave is kept, or said to be lost."""
        end = self._kept.journal.end
        try:
            self._stream.append(content)
        except KeyboardInterrupt:
            if self._kept.journal.end == end:
                self._stream.append(content)
            raise
        except ProgramError as error:
            raise ProgramError(
                f"{error}, but for {len(content):,} bytes of input that had been read already: "
                "input that goes on has to begin with them"
            ) from error


def _read_some(source: Readable) -> bytes:
    """What there is, at most so much: a line of a terminal, a part of a pipe."""
    read: Callable[[int], bytes | None] = getattr(source, "read1", source.read)
    return read(READ_AHEAD if hasattr(source, "read1") else 1) or b""


def has_end(source: Input) -> bool:
    """Whether all of an input is there already."""
    return not isinstance(source, Readable) or is_regular(source)


def keep_input(kept: KeptRun, content: Input, block: int = 1 << 20) -> None:
    """All of an input that has an end, so many bytes at a time; -1 means as a whole."""
    source = content if isinstance(content, Readable) else io.BytesIO(content or b"")
    piece = source.read(block) or b""
    while following := b"" if block < 0 else source.read(block):
        kept.streams[Kind.INPUT].append(piece)
        piece = following
    kept.end_input(piece)


class Recorder:
    """Hands a run's output on, once it is kept; so many bytes, `handed`, were handed on before."""

    def __init__(
        self,
        kept: KeptRun,
        program: LoadedProgram,
        host: Host,
        handed: Handed | None = None,
        lengths: Sequence[int] | None = None,
    ) -> None:
        self.kept = kept
        self.program = program
        if lengths is None:
            lengths = kept.lengths(len(kept.marks) + 1)
        source = host.stdin if isinstance(host.stdin, Readable) else None
        self.input = KeptInput(kept, source, lengths[0], self.hand_on)
        self._places = dict(zip((Kind.OUTPUT, Kind.ERRORS, Kind.TOKENS), lengths[1:], strict=True))
        self._handed = {kind: kept.streams[kind].length for kind in (Kind.OUTPUT, Kind.ERRORS)}
        self._handed |= handed or {}
        self._tokens: list[Ids] = []
        self._written, self._written_kind, self._since = bytearray(), Kind.OUTPUT, 0.0
        self._on_progress = host.on_progress
        self._tell = {Kind.OUTPUT: host.on_stdout, Kind.ERRORS: host.on_stderr}
        self.host = replace(
            host,
            stdin=self.input,
            on_stdout=lambda content: self._wrote(Kind.OUTPUT, content),
            on_stderr=lambda content: self._wrote(Kind.ERRORS, content),
            on_progress=self._came,
            on_page=self._turned,
            on_tokens=self._said if kept.beginning.keeps_tokens else None,
        )

    def catch_up(self) -> None:
        """Hand on what was kept, up to where the run goes on, and was not handed on."""
        for kind, handed in self._handed.items():
            stream, end = self.kept.streams[kind], self._places[kind]
            if self.kept.ending is not None:
                end = stream.length
            for block in stream.blocks(handed, end):
                self._tell_rest(kind, block)
            self._handed[kind] = max(handed, end)

    def _wrote(self, kind: Kind, content: bytes) -> None:
        if kind != self._written_kind:
            self.hand_on()
        if not self._written:
            self._written_kind, self._since = kind, time.monotonic()
        self._written += content
        if len(self._written) >= WRITTEN_TOGETHER:
            self.hand_on()

    def _came(self, figures: Figures) -> None:
        if self._written and time.monotonic() - self._since > SECONDS_TOGETHER:
            self.hand_on()
        if self._on_progress is not None:
            self._on_progress(figures)

    def hand_on(self) -> None:
        """Keep what was written, and then hand it on."""
        kind, content = self._written_kind, bytes(self._written)
        self._written.clear()
        first = self._places[kind]
        self._keep(kind, content)
        self._tell_rest(kind, content[max(self._handed[kind] - first, 0) :])

    def _tell_rest(self, kind: Kind, content: bytes) -> None:
        tell = self._tell[kind]
        if content and tell is not None:
            tell(content)

    def _said(self, ids: Ids) -> None:
        self._tokens.append(ids)
        if sum(map(len, self._tokens)) >= TOKENS_TOGETHER:
            self._keep_tokens()

    def finish(self) -> None:
        """The run is at its end, and said all that it said before."""
        self._keep_tokens()
        for kind, place in self._places.items():
            if place < self.kept.streams[kind].length:
                raise self.kept.streams[kind].broken(place)

    def _keep_tokens(self) -> None:
        if self._tokens:
            self._keep(Kind.TOKENS, tokens_to_bytes(np.concatenate(self._tokens)))
            self._tokens.clear()

    def _keep(self, kind: Kind, content: bytes) -> None:
        stream, place = self.kept.streams[kind], self._places[kind]
        stream.append(stream.expect(content, place))
        self._places[kind] = place + len(content)
        self.kept.journal.sync()

    def _turned(self, page: Page) -> None:
        self.hand_on()
        self._keep_tokens()
        self.kept.turn(page, self.program, (self.input.place, *self._places.values()))


# -- a whole run ---------------------------------------------


def run_kept(
    path: str | Path,
    ready: Ready,
    name: str,
    options: TalkOptions,
    *,
    keep_tokens: bool = False,
) -> Run:
    """Run a program, and keep the run."""
    invocations = run_invocations(ready.program)
    with create(path, ready, name, options, invocations, keeps_tokens=keep_tokens) as kept:
        return kept_run(kept, ready, play(kept, ready, host_of(options)))


def create(
    path: str | Path,
    ready: Ready,
    name: str,
    options: RunOptions | TalkOptions,
    invocations: tuple[Invocation, ...],
    *,
    keeps_tokens: bool = False,
    output: tuple[int, int, int] | None = None,
) -> KeptRun:
    """A file for a run that is about to begin. Input that has an end is kept at once."""
    source = options.get("stdin")
    whole = has_end(source)
    beginning = Beginning(
        __version__,
        ready.machine,
        ready.digest,
        ready.level,
        options.get("name") or name,
        tuple(map(os.fsdecode, options.get("args", ()))),
        dict(options.get("env") or {}),
        options.get("seed"),
        invocations,
        cast(int, options.get("max_memory", DEFAULT_LIMITS.max_memory)),
        options.get("max_tokens"),
        options.get("chapter_tokens"),
        keeps_tokens=keeps_tokens,
        proved=cast(bool, options.get("prove", True)),
        extensions=ready.extensions,
        weights=ready.weights,
        input_is_whole=whole,
        output=output,
        module=ready.module,
    )
    limits_of(beginning)  # an error has to come before the file
    kept = KeptRun.create(path, beginning)
    try:
        if whole:
            keep_input(kept, source)
    except BaseException:
        kept.close()
        raise
    return kept


def play(
    kept: KeptRun,
    ready: Ready,
    host: Host,
    *,
    handed: Handed | None = None,
    max_tokens: int | None = None,
) -> Ending:
    """Bring a run to its end, from its beginning or its last page."""
    limits = limits_of(kept.beginning)
    if max_tokens is not None:
        chapters = kept.chapters(ready.program, segments(kept.beginning))
        said = chapters[-1].start - sum(chapter.opening for chapter in chapters[1:-1])
        if max_tokens <= said:
            raise UserError(
                f"max_tokens={max_tokens}: {kept.path} has said {said:,} tokens already"
            )
        limits = replace(limits, max_tokens=max_tokens)
    if host.stdin is not None and has_end(host.stdin) and not (kept.input_ended or kept.ending):
        keep_input(kept, host.stdin, block=-1)  # all of it or nothing: it may be given again
    recorder = Recorder(kept, ready.program, host, handed)
    recorder.catch_up()
    if kept.ending is not None:
        return kept.ending
    conversation = Conversation(ready.talker, ready.program, recorder.host, limits)
    try:
        ending = ending_of(kept, conversation, len(kept.marks) + 1)
    finally:
        recorder.hand_on()
    recorder.finish()
    kept.end(ending)
    return ending


def limits_of(beginning: Beginning) -> ConversationLimits:
    return ConversationLimits(
        beginning.max_tokens,
        beginning.chapter_tokens,
        beginning.max_memory,
        keep_trace=False,
        keep_output=False,
    )


def segments(beginning: Beginning) -> Sequence[Segment]:
    """What the host puts into the private memory."""
    words = [beginning.name, *beginning.arguments]
    return host_segments(words, beginning.environment, beginning.seed)


def ending_of(kept: KeptRun, conversation: Conversation, number: int) -> Ending:
    """Have the run go on from the beginning of a chapter to its end."""
    code, trap, results = 0, ("", ""), list[int]()
    try:
        results = _ask(kept, conversation, number)
    except ExitError as end:
        code = end.code
    except Trap as error:
        trap = (error.reason, error.where)
    figures = conversation.figures
    return Ending(
        None if trap[0] else code,
        trap,
        tuple(results),
        figures.tokens,
        figures.prompt_tokens,
        figures.chapters,
        figures.instructions,
        figures.seconds,
        figures.memory_bytes,
    )


def _ask(kept: KeptRun, conversation: Conversation, number: int) -> list[int]:
    """Invoke what is left to be invoked; the last one's results."""
    program, beginning = conversation.program, kept.beginning
    host = segments(beginning)
    entries = [INITIALISING, *(program.entries[one.name] for one in beginning.invocations)]
    begun, words = 1, list[int]()
    if number == 1:
        conversation.begin(host)
    else:
        page = kept.page(number, program)
        begun = page.invocation
        count = word_count(entries[begun - 1].results)
        words = conversation.go_on(page, kept.chapters(program, host)[: number - 1], count)
    for entry, invocation in zip(entries[begun:], beginning.invocations[begun - 1 :], strict=True):
        given = to_words(invocation.patterns, entry.parameters)
        words = conversation.invoke(entry.number, given, word_count(entry.results))
    return from_words(words, entries[-1].results)


INITIALISING = Entry(INITIALISE, (), ())


def kept_run(kept: KeptRun, ready: Ready, ending: Ending) -> Run:
    """What a run that ended did; a Trap if it trapped."""
    if ending.code is None:
        raise Trap(*ending.trap)
    output, errors, said = (
        stream.read(0, stream.length)
        for stream in (kept.streams[kind] for kind in (Kind.OUTPUT, Kind.ERRORS, Kind.TOKENS))
    )
    trace = Trace(ready.program.tokens)
    trace.append(tokens_from_bytes(said))
    return Run(output, errors, ending.code, figures(ending), trace)


def results(kept: KeptRun, ready: Ready) -> list[str]:
    """What the last function returned, as text, once the run is at its end."""
    if kept.ending is None:
        return []
    types = ready.program.entries[kept.beginning.invocations[-1].name].results
    patterns = kept.ending.results
    if len(types) != len(patterns):
        return []
    return [show(to_number(*pair)) for pair in zip(patterns, types, strict=True)]


def figures(ending: Ending) -> Figures:
    return Figures(
        ending.opened,
        ending.tokens,
        ending.chapters,
        ending.instructions,
        ending.seconds,
        ending.memory_bytes,
    )


def is_regular(source: Readable) -> bool:
    """Is it a file that has an end?"""
    try:
        return stat.S_ISREG(os.fstat(source.fileno()).st_mode)  # type: ignore[attr-defined]
    except (AttributeError, OSError):  # nothing that the system knows of
        return False
