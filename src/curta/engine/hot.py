"""Code for the places where a run spends its time, made while it runs.

A run begins in the general code. Once it has gone on for a while, it is sampled; another process
puts together and compiles code for the hot places (`builds.py`), and at the next chunk of tokens
the run goes on in that. What is missing there is sampled and added. The next run of a program has
its code from the start; before it is used, the fields of all its places are compared with those of
the sequence, so which code is tried is only a matter of speed.

`CURTA_PLACES` says when: `later` (after a second or so), `now` (at once, and the run waits), `off`.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from curta.engine import beside, builds
from curta.engine.base import Answers, Ids
from curta.engine.builds import ENOUGH, Made, Numbers, Request, Sample
from curta.engine.model_cache import SOURCES
from curta.engine.native.kit import Kit
from curta.engine.toolchain import kept_library
from curta.errors import CurtaError
from curta.settings import read_settings
from curta.store import key_of, sources_digest
from curta.terminal import telling

if TYPE_CHECKING:
    import subprocess

    from curta.engine.native_level import Native

COLD = 40_000_000
"""Tokens that a run says before it is worth a compiler's time."""
SAMPLED = 1 << 17
SHORT = 1 << 20
"""Tokens that a run says before it is worth looking whether there is code."""
WINDOW = 1 << 12
"""Tokens that are looked at one by one before code is made; at most so many of a chunk."""
SAMPLED_NOW = WINDOW_NOW = 1 << 15
LESS = 0.05
"""Of a chunk: where code says so much less than when nothing could be added, there is something."""
MOST_BUILDS = 8
MORE = 2
"""Times the tokens of one build, until there is another."""
FEW = 8
"""Tokens that are quicker to look at one by one."""
SCATTER = 7919
"""So that samples are taken in all parts of chunks."""


@dataclass(frozen=True, eq=False)
class Code:
    """Compiled code for some places."""

    made: Made
    library: ctypes.CDLL
    pointer: int


class Program:
    """What a run executes: the prompt that it began with, by the name of which its code is kept."""

    def __init__(self, beginning: Ids, rest: Ids) -> None:
        """The beginning may be held by others as well."""
        parts = beginning, rest
        self.prompt = tuple(part.copy() if part.flags.writeable else part for part in parts)

    @cached_property
    def name(self) -> str:
        return hashlib.sha256(np.concatenate(self.prompt).data).hexdigest()

    def is_same(self, other: Program) -> bool:
        if len(self.prompt[0]) == len(other.prompt[0]):
            parts = zip(self.prompt, other.prompt, strict=True)
            return all(part is same or np.array_equal(part, same) for part, same in parts)
        return np.array_equal(np.concatenate(self.prompt), np.concatenate(other.prompt))


class Workshop:
    """What an engine needs to have code made for the programs that it executes."""

    def __init__(self, engine: Native) -> None:
        self.engine = engine
        self.now = read_settings().places == "now"
        self.codes: dict[str, Code] = {}
        self.begun: Program | None = None
        """What was begun last: often the same again."""
        self.fitting: tuple[Program, Code] | tuple[None, None] = (None, None)
        """A program behind whose prompt places were found to be what they are in some code."""
        self.parted: Warming | None = None
        """What the sequence that was closed last leaves to the next."""
        self.latest: Code | None = None
        """What was used last: a chapter of a run begins with another prompt than the one before."""

    @cached_property
    def key(self) -> str:
        """By which what is made is kept; none if curta was changed meanwhile."""
        return key_of(sources_digest(*SOURCES), self.engine.library.source.encode()) or ""

    def program(self, beginning: Ids, rest: Ids) -> Program:
        """What a prompt in two parts is."""
        program = Program(beginning, rest)
        if self.begun is None or not self.begun.is_same(program):
            self.begun = program
        return self.begun

    def begin(self, state: int, program: Program, *, is_known: bool) -> Warming:
        """A sequence on its way, or the one before, if it goes on with the same program; and
        whether the program's prompt is all that it has taken.
        """
        new = Warming(self, state, program)
        new.is_known = is_known
        parted, self.parted = self.parted, None
        if parted is None:
            return new
        if parted.program.is_same(new.program) and new.has(parted.fields):
            parted.state, parted.is_attached, parted.is_known = state, False, is_known
            return parted
        parted.stop()
        return new

    @cached_property
    def class_of(self) -> Numbers:
        """The class of every token, or -1; read when it is needed: most runs are too short."""
        return builds.class_of(Kit.of(self.engine.library.source))

    def find(self, program: str) -> Code | None:
        """Code that was made for a program, in this process or before."""
        if program not in self.codes:
            made = builds.read_made(self.key, program)
            if made is not None:
                self.load(program, made)
        return self.codes.get(program)

    def load(self, program: str, made: Made) -> Code | None:
        """The code, if its file is there and whole."""
        path = kept_library(made.library)
        if path is None:
            return None
        with suppress(ValueError):  # there is nothing of this name
            library = ctypes.CDLL(str(path))
            pointer = ctypes.addressof(ctypes.c_char.in_dll(library, "curta_places"))
            self.codes[program] = Code(made, library, pointer)
            return self.codes[program]
        return None

    def complete(self, program: str, code: Code, share: float) -> Code:
        """The same code, of which it is known that looking for more is no use while it says so much
        of a chunk.
        """
        made = replace(code.made, enough=min(code.made.enough, share - LESS))
        builds.keep_made(self.key, program, made)
        self.codes[program] = code = replace(code, made=made)
        return code


class Warming:
    """One sequence on its way to code that knows its program."""

    def __init__(self, workshop: Workshop, state: int, program: Program) -> None:
        self.workshop, self.library, self.state = workshop, workshop.engine.library, state
        self.now = workshop.now
        self.program = program
        self.sample = Sample()
        self.places: Numbers = np.zeros(0, dtype=np.int64)
        """All that there are in it."""
        self.builds = self.length = 0
        self.next = 0 if self.now else COLD
        """How many tokens it has to have said before it is worth a compiler's time."""
        self.share = 0.0
        """The part of the latest chunk that code for places said."""
        self.is_attached = False
        self.is_known = False
        """Whether nothing but the program's prompt was taken, or said."""
        self.process: subprocess.Popen[bytes] | None = None
        self.code = workshop.latest
        self.has_looked = False
        """Whether there is anything for this program: short runs do not look."""
        self.missing = self.wanted if self.code is None else 0
        """Tokens to be looked at before code is made."""
        self.fields: tuple[Numbers, Numbers]
        """Places that were sampled, and their fields, once the sequence is closed."""

    # -- a chunk of tokens ----------------------------------------------------------------------

    def generate(self, first: int, said: Ids, answers: Answers | None = None) -> int:
        """Fill `said`, as far as there is something to say; returns how many there are."""
        if not self.has_looked and (self.now or self.length >= SHORT):
            self.look()
        self.attach()
        self.is_known = False
        if answers is not None and not self.knows(answers.left):
            answers = None
        if self.wants_sample:
            length = self.follow(first, said, answers)
            self.length += length
            if not self.missing:
                self.build()
            return length
        before = self.placed
        length = self.library.say(self.state, first, said, answers)
        self.length += length
        if length >= WINDOW:
            self.share = (self.placed - before) / length
            if self.share < (ENOUGH if self.code is None else self.code.made.enough):
                self.missing = self.missing or self.wanted
        if self.process is not None:
            self.collect(self.process)
        return length

    def look(self) -> None:
        """For code that was made for the program before."""
        self.has_looked = True
        if not self.workshop.key:
            self.builds = MOST_BUILDS
        elif (found := self.workshop.find(self.program.name)) is not None:
            self.code, self.is_attached, self.missing = found, False, 0

    @property
    def wants_sample(self) -> bool:
        may_build = self.process is None and self.builds < MOST_BUILDS
        return may_build and self.missing > 0 and self.length >= self.next

    @property
    def wanted(self) -> int:
        return SAMPLED_NOW if self.now else SAMPLED

    def follow(self, first: int, said: Ids, answers: Answers | None) -> int:
        """The same; somewhere in it, tokens are looked at one by one."""
        window = min(len(said), WINDOW_NOW if self.now else WINDOW)
        start = 1 if self.now else 1 + self.length * SCATTER % (len(said) - window + 1)
        end = start - 1 + window
        length = self.library.say(self.state, first, said[:start], answers)
        if length == start:
            length += self.looked_at(said[start - 1 : end]) - 1
        if length == end < len(said):
            rest = said[end - 1 :]
            length += self.library.say(self.state, int(rest[0]), rest, answers) - 1
        return length

    def looked_at(self, said: Ids) -> int:
        """What follows the first of these tokens, and where the run is at each of them."""
        places = np.full(len(said), -1, dtype=np.int64)
        given = self.state, int(said[0]), said.ctypes.data, places.ctypes.data, len(said)
        length = int(self.library.follow(*given))
        self.sample.append((said[1:length].copy(), places[1:length]))
        found = np.union1d(self.places, places[1:length])
        self.places = found[found >= 0]
        self.missing = max(0, self.missing - length)
        return length

    # -- code -----------------------------------------------------------------------------------

    def build(self) -> None:
        """Have code made of the samples."""
        self.builds += 1
        self.next = MORE * self.length
        if self.now:
            with suppress(CurtaError), telling("compiling code for this program"):
                self.arrived(builds.make(self.request))
        else:
            self.process = beside.begin(builds.make_beside, self.request)
            if self.process is not None:
                atexit.register(beside.stop, self.process)

    def collect(self, process: subprocess.Popen[bytes]) -> None:
        """Use code that another process makes, when it is there."""
        ended = process.poll()
        if ended is None:
            return
        self.process = None
        made = None if ended else builds.read_made(self.workshop.key, self.program.name)
        if made is not None or ended == builds.NOTHING_TO_ADD:
            self.arrived(made)

    @property
    def request(self) -> Request:
        known = () if self.code is None else self.code.made.places
        fields = self.places, self.fields_of(self.places)
        source, key, most = self.library.source, self.workshop.key, builds.MOST_PLACES
        return Request(source, key, self.program.name, self.sample, fields, known, most)

    def arrived(self, made: Made | None) -> None:
        if made is not None:
            code = self.workshop.load(self.program.name, made)
            if code is not None:
                self.code, self.is_attached = code, False
        elif self.code is not None:
            self.code = self.workshop.complete(self.program.name, self.code, self.share)

    def attach(self) -> None:
        """Go on in code for places, if they are what they are in this sequence."""
        if self.is_attached or self.code is None:
            return
        self.is_attached = True
        if self.fits(self.code):
            self.workshop.latest = self.code
            self.library.set_places(self.state, self.code.pointer)
        else:
            self.code, self.missing = None, self.wanted

    def fits(self, code: Code) -> bool:
        """Whether places are what they are in it; states behind the same prompt are the same."""
        program, known = self.workshop.fitting
        if self.is_known and (program, known) == (self.program, code):
            return True
        fits = self.has(code.made.fields)
        if fits and self.is_known:
            self.workshop.fitting = self.program, code
        return fits

    def given(self, tokens: Ids) -> None:
        """Tokens that were not said may have changed what is known of places."""
        self.is_known = False
        if not self.knows(tokens):
            self.library.set_places(self.state, None)
            self.is_attached = False

    def knows(self, tokens: Ids) -> bool:
        """Whether nothing that is known of places changes if these are given."""
        if self.code is None or not len(tokens):
            return True
        classes = self.workshop.class_of
        if len(tokens) < FEW:
            return all(t < len(classes) and classes[t] >= 0 for t in tokens)
        return bool(builds.classes_of_tokens(classes, tokens).min() >= 0)

    def fields_of(self, numbers: Numbers) -> Numbers:
        found = np.zeros((len(numbers), self.library.field_count), dtype=np.int64)
        self.library.fields(self.state, numbers.ctypes.data, len(numbers), found.ctypes.data)
        return found

    def has(self, fields: tuple[Numbers, Numbers]) -> bool:
        """Whether places have these fields here."""
        return np.array_equal(self.fields_of(fields[0]), fields[1])

    @property
    def placed(self) -> int:
        return int(self.library.placed(self.state))

    def close(self, python_ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Leave what is on its way to the next sequence: another chapter of the run, perhaps. There
        is none where Python ends, which takes a module's names away before the last objects go.
        """
        if python_ends():
            return
        self.fields = self.places, self.fields_of(self.places)
        if self.workshop.parted is not None:
            self.workshop.parted.stop()
        self.workshop.parted = self

    def stop(self) -> None:
        if self.process is not None:
            beside.stop(self.process)
