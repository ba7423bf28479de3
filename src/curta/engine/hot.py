"""Code for the places where a run spends its time, made while it runs.

A run begins in the general code. Once it has gone on for a while, samples of it say which places
are hot, what they say and where they lead; another process puts their code together and compiles
it (`kit.py`), and at the next chunk of tokens the run goes on in that. What is missing there is
sampled and added. Code is kept by the prompt that the run began with, so the next run of a program
has it from the start; before it is used, the fields of all its places are compared with those of
the sequence, so which code is tried is only a matter of speed.

`CURTA_PLACES` says when: `later` (after a second or so), `now` (at once, and the run waits), `off`.
"""

from __future__ import annotations

import atexit
import ctypes
import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from curta.engine.base import Ids
from curta.engine.native.kit import Kit, Place, program_to_c
from curta.engine.native.source_cache import SOURCES
from curta.engine.toolchain import LIBRARIES, build_library
from curta.errors import CurtaError
from curta.settings import read_settings
from curta.store import Shelf, key_of, sources_digest

if TYPE_CHECKING:
    import subprocess

    from curta.engine.native import NativeSession

KITS = Shelf("kits", compressed=True)
HOT = Shelf("hot", compressed=True)
FLAGS = ("-fwrapv", "-lm", "-O1")
COLD = 40_000_000
"""Tokens that a run says before it is worth a compiler's time."""
SAMPLED = 1 << 17
SHORT = 1 << 20
"""Tokens that a run says before it is worth looking whether there is code."""
WINDOW = 1 << 12
"""Tokens that are looked at one by one before code is made; at most so many of a chunk."""
SAMPLED_NOW = WINDOW_NOW = 1 << 15
ENOUGH = 0.99
"""The part of a chunk that code for places should say."""
HOTTEST = 0.999
MOST_PLACES = 600
"""Code is made for the hottest places, up to this part of what was sampled, and to so many:
gcc -O1 took 23 s for 923, and memory grows with them.
"""
MOST_BUILDS = 8
SCATTER = 7919
"""So that samples are taken in all parts of chunks."""
LONGEST = 10
"""Tokens of an instruction that are told apart in a sample."""
PASSED_ON = (
    "has_looked",
    "sample",
    "missing",
    "length",
    "builds",
    "process",
    "code",
    "is_complete",
)
Numbers = npt.NDArray[np.int64]


def kit_key(source: str) -> str | None:
    """By the general code: what the kit belongs to."""
    return key_of(sources_digest(*SOURCES), source.encode())


@dataclass(frozen=True)
class Code:
    """Compiled code for some places."""

    places: tuple[Place, ...]
    library: ctypes.CDLL
    pointer: int
    is_complete: bool
    """Whether nothing was found that it lacks, where it was looked for."""

    @cached_property
    def numbers(self) -> Numbers:
        return np.array([place.number for place in self.places], dtype=np.int64)

    @cached_property
    def fields(self) -> Numbers:
        return np.array([place.fields for place in self.places], dtype=np.int64)


@dataclass
class Sample:
    """What a run did at which places."""

    workshop: Workshop
    said: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How often a place said tokens of these classes, written as a number."""
    followed: Counter[tuple[int, int]] = field(default_factory=Counter)
    """How often a place came behind another."""

    def add(self, tokens: Ids, places: Numbers) -> None:
        """Tokens that were said one after the other, and the places at which they were."""
        classes = self.workshop.class_of[tokens]
        ends = np.flatnonzero(self.workshop.ends[classes])
        if len(ends) < 3:
            return
        starts, ends = ends[:-1] + 1, ends[1:]
        lengths = ends - starts + 1
        words = np.zeros(len(starts), dtype=np.int64)
        for place in range(LONGEST):
            more = lengths > place
            words[more] = words[more] * 64 + classes[starts[more] + place] + 1
        at = places[starts]
        short = (lengths <= LONGEST) & (at >= 0)
        self.said.update(counted(at[short], words[short]))
        self.followed.update(counted(at[:-1], at[1:]))

    def places(self, fields: Any) -> tuple[Place, ...]:
        """The hottest places, with the fields that they have."""
        counts: Counter[int] = Counter()
        said: dict[int, set[tuple[int, ...]]] = {}
        for (place, word), count in self.said.items():
            counts[place] += count
            said.setdefault(place, set()).add(classes_of(word))
        following: dict[int, list[int]] = {}
        for (place, after), _ in self.followed.most_common():
            following.setdefault(place, []).append(after)
        wanted, most, hottest = HOTTEST * sum(counts.values()), 0, list[int]()
        for place, count in counts.most_common(MOST_PLACES):
            if most > wanted:
                break
            most += count
            hottest.append(place)
        numbers = np.array(sorted(hottest), dtype=np.int64)
        return tuple(
            Place(number, tuple(row), tuple(following.get(number, ())), frozenset(said[number]))
            for number, row in zip(numbers.tolist(), fields(numbers).tolist(), strict=True)
        )


def united(known: Iterable[Place], found: Iterable[Place]) -> tuple[Place, ...]:
    """All of these places, with all that is known of each."""
    places = {place.number: place for place in known}
    for place in found:
        before = places.get(place.number)
        if before is not None:
            following = dict.fromkeys((*before.following, *place.following))
            said = before.said | place.said
            place = replace(place, following=tuple(following), said=said)
        places[place.number] = place
    return tuple(place for _, place in sorted(places.items()))


def counted(a: Numbers, b: Numbers) -> dict[tuple[int, int], int]:
    pairs, counts = np.unique(np.stack([a, b], axis=1), axis=0, return_counts=True)
    return {(x, y): n for (x, y), n in zip(pairs.tolist(), counts.tolist(), strict=True)}


def classes_of(word: int) -> tuple[int, ...]:
    found = []
    while word:
        found.append(word % 64 - 1)
        word //= 64
    return tuple(reversed(found))


@dataclass(frozen=True)
class Parted:
    """What a sequence that was closed leaves to the next, if it has the same fields."""

    state: dict[str, Any]
    numbers: Numbers
    fields: Numbers

    def stop(self) -> None:
        process = self.state["process"]
        if process is not None:
            stop(process)


class Workshop:
    """What an engine needs to make code for the programs that it executes."""

    def __init__(self, key: Callable[[], str | None]) -> None:
        self.find_key = key
        self.codes: dict[str, Code] = {}
        self.parted: Parted | None = None
        self.latest: Code | None = None
        """What was used last: a chapter of a run begins with another prompt than the one before."""

    @cached_property
    def key(self) -> str:
        """By which the kit is kept; none if there is no kit."""
        key = self.find_key()
        return key if key is not None and KITS.has(key) else ""

    @cached_property
    def kit(self) -> Kit:
        """Read when it is needed: most runs are too short."""
        kept = KITS.read(self.key)
        if kept is None:  # it was damaged: there is no code for anything
            return Kit([[0]], [0], "", "", "", 0, {})
        return Kit.from_json(kept.decode())

    @cached_property
    def class_of(self) -> Numbers:
        """The class of every token, or -1."""
        size = 1 + max(token for tokens in self.kit.classes for token in tokens)
        found = np.full(size + (1 << 16), -1, dtype=np.int64)
        for number, tokens in enumerate(self.kit.classes):
            found[tokens] = number
        return found

    @cached_property
    def ends(self) -> npt.NDArray[np.bool_]:
        """Whether tokens of a class end a place."""
        found = np.zeros(len(self.kit.classes) + 1, dtype=bool)
        found[self.kit.ending] = True
        return found

    def find(self, program: str) -> Code | None:
        """Code that was made for a program, in this process or before."""
        if program not in self.codes:
            kept = HOT.read(key_of(self.key.encode(), program.encode()))
            if kept is not None:
                with suppress(OSError, ValueError, KeyError):
                    self.load(program, json.loads(kept))
        return self.codes.get(program)

    def load(self, program: str, made: dict[str, Any]) -> Code:
        library = ctypes.CDLL(str(LIBRARIES.folder / made["library"]))
        pointer = ctypes.cast(library.curta_places, ctypes.c_void_p).value
        assert pointer is not None
        places = tuple(place_of(one) for one in made["places"])
        code = Code(places, library, pointer, made["complete"])
        self.codes[program] = code
        return code

    def make(self, program: str, places: Iterable[Place]) -> dict[str, Any]:
        """Compile code for some places, and keep it for the next run."""
        places = tuple(places)
        path = build_library(program_to_c(self.kit, places), name="places", flags=FLAGS)
        return self.keep(program, {"library": path.name, "complete": False}, places)

    def keep(self, program: str, made: dict[str, Any], places: Iterable[Place]) -> dict[str, Any]:
        made["places"] = [as_json(one) for one in places]
        HOT.keep(key_of(self.key.encode(), program.encode()), json.dumps(made).encode())
        return made

    def complete(self, program: str, code: Code) -> Code:
        """The same code, of which it is known that looking for more is no use."""
        made = {"library": Path(code.library._name).name, "complete": True}
        return self.load(program, self.keep(program, made, code.places))


def as_json(one: Place) -> list[Any]:
    return [one.number, one.fields, one.following, sorted(one.said)]


def place_of(found: list[Any]) -> Place:
    number, fields, following, said = found
    return Place(number, tuple(fields), tuple(following), frozenset(map(tuple, said)))


def workshop_of(source: str) -> Workshop:
    """The workshop for an engine with this general code."""
    return Workshop(lambda: kit_key(source))


class Warming:
    """One sequence on its way to code that knows its program."""

    def __init__(self, workshop: Workshop, session: NativeSession, prompt: Ids) -> None:
        self.workshop, self.session = workshop, session
        self.now = read_settings().places == "now"
        self.program = hashlib.sha256(prompt.tobytes()).hexdigest()
        self.sample = Sample(workshop)
        self.builds = self.length = 0
        self.is_attached = self.is_complete = False
        self.process: subprocess.Popen[str] | None = None
        self.code = workshop.latest
        self.has_looked = False
        """Whether there is anything for this program: short runs do not look."""
        self.missing = self.wanted if self.code is None else 0
        """Tokens to be looked at before code is made."""
        parted, workshop.parted = workshop.parted, None
        if parted is not None:
            if np.array_equal(self.fields_of(parted.numbers), parted.fields):
                self.__dict__.update(parted.state)
            else:
                parted.stop()

    # -- a chunk of tokens ----------------------------------------------------------------------

    def generate(self, first: int, said: Ids) -> int:
        """Fill `said`, as far as there is something to say; returns how many there are."""
        if not self.has_looked and (self.now or self.length >= SHORT):
            self.look()
        self.attach()
        if self.wants_sample:
            length = self.follow(first, said)
        else:
            before = self.placed
            length = self.generated(first, said)
            if length >= WINDOW and self.placed - before < ENOUGH * length:
                self.missing = self.missing or self.wanted
        self.length += length
        self.advance()
        return length

    def look(self) -> None:
        """For code that was made for the program before."""
        self.has_looked = True
        if not self.workshop.key:
            self.builds = MOST_BUILDS
        elif (found := self.workshop.find(self.program)) is not None:
            self.code, self.is_attached, self.missing = found, False, 0

    def generated(self, first: int, said: Ids) -> int:
        library, state = self.session.library, self.session.state
        return int(library.generate(state, first, said.ctypes.data, len(said)))

    @property
    def wants_sample(self) -> bool:
        if self.process is not None or self.builds >= MOST_BUILDS or not self.missing:
            return False
        if self.code is not None and self.code.is_complete:
            return False
        return self.now or self.length >= COLD

    @property
    def wanted(self) -> int:
        return SAMPLED_NOW if self.now else SAMPLED

    def follow(self, first: int, said: Ids) -> int:
        """The same; somewhere in it, tokens are looked at one by one."""
        window = min(len(said), WINDOW_NOW if self.now else WINDOW)
        start = 1 + self.length * SCATTER % (len(said) - window + 1)
        end = start - 1 + window
        length = self.generated(first, said[:start])
        if length == start:
            length += self.looked_at(said[start - 1 : end]) - 1
        if length == end < len(said):
            length += self.generated(int(said[end - 1]), said[end - 1 :]) - 1
        return length

    def looked_at(self, said: Ids) -> int:
        """What follows the first of these tokens, and where the run is at each of them."""
        places = np.full(len(said), -1, dtype=np.int64)
        library, state = self.session.library, self.session.state
        given = state, int(said[0]), said.ctypes.data, places.ctypes.data, len(said)
        length = int(library.follow(*given))
        self.sample.add(said[1:length], places[1:length])
        self.missing = max(0, self.missing - length)
        self.is_complete = not self.missing
        return length

    # -- code -----------------------------------------------------------------------------------

    def advance(self) -> None:
        """Make code once there are samples enough, and use it when it is there."""
        if self.process is not None:
            if self.process.poll() is not None:
                self.arrived(self.process)
                self.process = None
        elif self.is_complete:
            self.is_complete = False
            known = () if self.code is None else self.code.places
            places = united(known, self.sample.places(self.fields_of))
            self.builds += 1
            if places == known:
                if self.code is not None:
                    self.code = self.workshop.complete(self.program, self.code)
                return
            if self.now:
                with suppress(CurtaError):
                    made = self.workshop.make(self.program, places)
                    self.take_over(self.workshop.load(self.program, made))
            else:
                self.process = begin(self.workshop, self.program, places)
                atexit.register(stop, self.process)

    def arrived(self, process: subprocess.Popen[str]) -> None:
        written = process.communicate()[0]
        if process.returncode == 0:
            with suppress(OSError, ValueError, KeyError):
                self.take_over(self.workshop.load(self.program, json.loads(written)))

    def take_over(self, code: Code) -> None:
        self.code, self.is_attached = code, False

    def attach(self) -> None:
        """Go on in code for places, if they are what they are in this sequence."""
        if self.is_attached or self.code is None:
            return
        self.is_attached = True
        if np.array_equal(self.fields_of(self.code.numbers), self.code.fields):
            self.workshop.latest = self.code
            self.session.library.set_places(self.session.state, self.code.pointer)
        else:
            self.code, self.missing = None, self.wanted

    def given(self, tokens: Ids) -> None:
        """Tokens that were not said may have changed what is known of places."""
        if self.code is not None and np.any(self.workshop.class_of[tokens] < 0):
            self.session.library.set_places(self.session.state, None)
            self.is_attached = False

    def fields_of(self, numbers: Numbers) -> Numbers:
        library = self.session.library
        found = np.zeros((len(numbers), library.field_count), dtype=np.int64)
        library.fields(self.session.state, numbers.ctypes.data, len(numbers), found.ctypes.data)
        return found

    @property
    def placed(self) -> int:
        return int(self.session.library.placed(self.session.state))

    def close(self) -> None:
        """Leave what is on its way to the next sequence: another chapter of the run, perhaps."""
        if sys.is_finalizing():  # there is none
            return
        numbers = np.array(sorted({place for place, _ in self.sample.said}), dtype=np.int64)
        state = {name: self.__dict__[name] for name in PASSED_ON}
        if self.workshop.parted is not None:
            self.workshop.parted.stop()
        self.workshop.parted = Parted(state, numbers, self.fields_of(numbers))


# -- another process ----------------------------------------------------------------------------


def begin(workshop: Workshop, program: str, places: Iterable[Place]) -> subprocess.Popen[str]:
    import subprocess

    request = json.dumps([workshop.key, program, [as_json(place) for place in places]])
    command = [sys.executable, "-c", "from curta.engine.hot import main; main()"]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, text=True)
    assert process.stdin is not None
    with suppress(OSError):
        process.stdin.write(request)
        process.stdin.close()
    process.stdin = None
    return process


def stop(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
        process.communicate()


def main() -> None:
    """What the other process does: a request on its input, what was made on its output."""
    key, program, places = json.load(sys.stdin)
    made = Workshop(lambda: key).make(program, map(place_of, places))
    print(json.dumps(made))
