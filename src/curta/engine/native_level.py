"""Level 4: C generated from the weights, compiled once and kept."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterator
from ctypes import c_int32, c_int64, c_void_p
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from curta.dyadic import power_of_two
from curta.engine.base import Answers, Engine, Ids, Mask, Session, broken_promise
from curta.engine.beginnings import Beginnings
from curta.engine.model_cache import cached_source
from curta.engine.toolchain import Signatures, load_functions
from curta.engine.units import Units
from curta.errors import RegionError, ToolchainError, UserError
from curta.settings import read_settings
from curta.terminal import telling

if TYPE_CHECKING:
    from curta.compiler.model import Model
    from curta.engine.hot import Program, Warming, Workshop


def written_c(model: Model) -> str:
    """What writes the C is not imported where it is kept: a second run starts sooner."""
    from curta.engine.native.emit import model_to_c

    return model_to_c(model)


class Native(Engine):
    """Generated C behind the common interface."""

    level: ClassVar[str] = "native"
    chunk = 1 << 16
    longest_chunk = 1 << 18

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.library = Library(cached_source(model, written_c))

    @cached_property
    def workshop(self) -> Workshop | None:
        """What makes code that knows a program, if this model executes one."""
        if read_settings().places == "off" or not self.library.has_places:
            return None
        from curta.engine.hot import Workshop

        return Workshop(self)

    @cached_property
    def beginnings(self) -> Beginnings:
        return Beginnings(self.library)

    def session(self) -> NativeSession:
        _ = self.workshop  # before any clock runs
        return NativeSession(self, self.library)


SIGNATURES: Signatures = {
    "create": (c_void_p,),
    "destroy": (None, c_void_p),
    "take": (c_int64, c_void_p, c_void_p, c_int64, c_void_p, c_int32),
    "generate": (c_int64, c_void_p, c_int32, c_void_p, c_int64, c_int64, c_void_p),
    "bytes": (c_int64, c_void_p),
    "exhausted": (c_int32, c_void_p),
    "broken": (c_int32, *3 * [c_void_p]),
    "follow": (c_int64, c_void_p, c_int32, c_void_p, c_void_p, c_int64),
    "fields": (c_int32, c_void_p, c_void_p, c_int64, c_void_p),
    "set_places": (None, c_void_p, c_void_p),
    "set_unit": (None, c_int32, c_void_p),
    "placed": (c_int64, c_void_p),
    "beginning": (c_void_p, c_void_p, c_int64),
    "begin": (c_void_p, c_void_p),
    "forget": (None, c_void_p),
}
"""What entry.c and beginning.c export, as curta_create and so on; some of it in some libraries
only.
"""


ROOM = 16
"""Tokens for which a chunk has room left, at most, when it ends before it is full: an instruction
may say so many, and the general step says them more slowly than the next chunk begins.
"""
LAST, EACH = 0, 1
"""Of tokens that are taken, after which of them it is reported what the model says."""


class Library(SimpleNamespace):
    """The compiled functions of one model."""

    def __init__(self, source: str) -> None:
        self.units = Units(source)
        path: Path = self.units.build()
        super().__init__(**load_functions(path, "curta_", SIGNATURES))
        self.source, self.path = source, path
        if read_settings().places == "later":
            self.grow()
        else:  # nothing is done beside
            with telling("compiling the rest of the engine's code"):
                self.complete()
        self.has_places = hasattr(self, "fields")
        if self.has_places:
            self.field_count = int(self.fields(None, None, 0, None))

    def grow(self) -> None:
        """Take units in that were compiled meanwhile."""
        self.units.look(self.take_in)

    def take_in(self, number: int, path: Path) -> None:
        name = f"unit{number}"
        unit = load_functions(path, "curta_", {name: (c_int32, c_void_p, c_void_p)}).get(name)
        if unit is None:
            raise ToolchainError(f"the library {path} has no {name}")
        self.set_unit(number, ctypes.cast(unit, c_void_p))

    def complete(self) -> None:
        """Wait until all units are there; nobody else is waited for if they are."""
        self.grow()
        if self.units.absent:
            self.units.build_others()
            self.grow()

    def say(self, state: int, first: int, said: Ids, answers: Answers | None) -> int:
        """Fill `said`, as far as there is something to say; returns how many there are. A whole
        chunk is nearly filled.
        """
        self.grow()
        enough = len(said) if len(said) < Native.chunk else len(said) - ROOM
        room = state, first, said.ctypes.data, len(said), enough
        if answers is None or not len(answers.left):
            return int(self.generate(*room, None))
        left = np.ascontiguousarray(answers.left, dtype=np.int32)
        start = left.ctypes.data
        held = _Answers(start, start + left.nbytes, answers.asks)
        length = int(self.generate(*room, ctypes.byref(held)))
        answers.used += (held.next - start) // left.itemsize
        return length


class _Answers(ctypes.Structure):
    """Answers, in entry.c."""

    _fields_ = (("next", c_void_p), ("end", c_void_p), ("asks", c_int64))


class NativeSession(Session):
    """One sequence: the state that the generated code keeps."""

    engine: Native

    def __init__(self, engine: Native, library: Library) -> None:
        super().__init__(engine)
        self.library = library
        self.warming: Warming | None = None
        self.goes_on: Program | None = None
        """What this sequence goes on with, if another one began it."""
        self._state: int | None = 0
        """Made when it is asked for: a sequence may begin with a copy of another one's."""
        self._kept = threading.RLock()
        """Held while the state must not go, or come: other threads may ask how large it is."""

    def fresh(self) -> NativeSession:
        session = self.engine.session()
        if self.warming is not None:
            session.goes_on = self.warming.program
        return session

    def close(self) -> None:
        """Give the memory back: nothing more is said.

        An interruption while that is done in `__del__` would go unnoticed.
        """
        with self._kept:
            warming, self.warming = self.warming, None
            if warming is not None:
                warming.close()
            state, self._state = self._state, None
            if state:
                self.library.destroy(state)

    def __del__(self) -> None:
        if getattr(self, "_state", None):
            self.close()

    @property
    def state(self) -> int:
        """What the generated code is told to work on."""
        if self._state is None:
            raise UserError("this sequence was closed; begin another one (engine.session())")
        if not self._state:
            self._state = self.library.create() or 0
            if not self._state:
                raise RegionError("no memory left for the native engine's state")
            self.check()
        return self._state

    @property
    def bytes(self) -> int:
        with self._kept:
            return int(self.library.bytes(self._state)) if self._state else 0

    @property
    def placed(self) -> int:
        with self._kept:
            return 0 if self.warming is None else self.warming.placed

    def _read(self, tokens: Ids, asked: Mask) -> Iterator[Ids]:
        """Chunk by chunk, and whether it is asked or not."""
        for start in range(0, len(tokens), self.engine.chunk):
            given = self._given(tokens[start : start + self.engine.chunk])
            said = np.empty_like(given)
            room = given.ctypes.data, len(given), said.ctypes.data
            taken = self.library.take(self.state, *room, EACH)
            yield said[:taken]
            self.check()

    def take(self, tokens: Ids) -> int:
        """Take ids that are in the vocabulary; what the model says after the last of them."""
        self.check_room(len(tokens))
        given, said = self._given(tokens), c_int32()
        begins = not self.length
        begun = self._begin(given) if begins else given[:0]
        rest = given[len(begun) :]
        room = rest.ctypes.data, len(rest), ctypes.byref(said)
        self.length += self.library.take(self.state, *room, LAST)
        self.check()
        if begins and (workshop := self.engine.workshop) is not None:
            program = self.goes_on or workshop.program(begun, rest)
            is_known = self.goes_on is None
            self.warming = workshop.begin(self.state, program, is_known=is_known)
        return said.value

    def _begin(self, given: Ids) -> Ids:
        """Begin as other sequences did, if they did: with these of the tokens. A state that was
        asked for before stays: nothing of it is given back while an interruption may come.
        """
        found = None if self._state else self.engine.beginnings.of(given)
        if found is not None:
            self._state = found.library.begin(found.pointer) or 0
            if self._state:
                self.length = len(found.tokens)
                return found.tokens
        return given[:0]

    def _given(self, tokens: Ids) -> Ids:
        """Tokens as they are passed on."""
        given = np.ascontiguousarray(tokens, dtype=np.int32)
        if self.warming is not None:
            self.warming.given(given)
        return given

    def generate(self, first: int, count: int, answers: Answers | None = None) -> Ids:
        first = self.engine.check_token(first)
        self.check_room(count - 1)
        if count < 1:
            return np.zeros(0, dtype=np.int32)
        said = np.empty(count, dtype=np.int32)
        if self.warming is not None:
            length = self.warming.generate(first, said, answers)
        else:
            length = self.library.say(self.state, first, said, answers)
        self.length += length - 1
        return said[:length]

    def check(self) -> None:
        """Raise what stopped the last call, if there was one."""
        if self._state == 0:
            return
        if self.library.exhausted(self.state):
            raise RegionError(
                f"position {self.length}: no memory left ({self.bytes:,} bytes in use); run fewer "
                "tokens at once"
            )
        value, step = c_int64(), c_int32()
        broken = self.library.broken(self.state, ctypes.byref(value), ctypes.byref(step))
        if broken >= 0:
            guard = self.engine.model.plan["guards"][broken]
            promised = [guard["low"], guard["high"]]
            actual = float(value.value * power_of_two(step.value))
            raise broken_promise(guard["name"], self.length, f"{actual:.17g}", *promised)
