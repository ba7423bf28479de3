"""Level 4: C generated from the weights, compiled once and kept."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from curta.compiler.model import Model
from curta.compiler.numbers import power_of_two
from curta.engine.base import Engine, Ids, Residuals, Session, broken_promise
from curta.engine.native.emit import model_to_c, model_to_kit
from curta.engine.native.source_cache import cached_source
from curta.engine.toolchain import build_library, load_library
from curta.errors import RegionError, UserError
from curta.settings import read_settings

if TYPE_CHECKING:
    from curta.engine.builds import ModelFile
    from curta.engine.hot import Warming, Workshop

__all__ = ["CHUNK", "Library", "Native", "NativeSession", "model_to_c", "model_to_kit"]

CHUNK = 1 << 16
"""Tokens generated between two looks at Python."""

FLAGS = ("-fwrapv", "-lm")
LARGE = 1_000_000
"""Characters of a source that would take a compiler too long with all of its optimisations."""


class Native(Engine):
    """Generated C behind the common interface."""

    level: ClassVar[str] = "native"
    model_file: ModelFile | None = None
    """Where the weights lie, if others can read them there."""

    def __init__(self, model: Model, *, specialise: bool = True) -> None:
        super().__init__(model)
        source = cached_source(model, specialise, lambda: model_to_c(model, specialise=specialise))
        self.library = Library(source)

    @cached_property
    def workshop(self) -> Workshop | None:
        """What makes code that knows a program, if this model executes one."""
        if read_settings().places == "off" or not self.library.has_places:
            return None
        from curta.engine.hot import Workshop

        return Workshop(self)

    def make_kit(self) -> None:
        """Have a kit made for this model, and kept."""
        from curta.engine.builds import KITS
        from curta.engine.hot import kit_key

        kit = model_to_kit(self.model)
        if kit is not None:
            KITS.keep(kit_key(self.library.source), kit.to_json().encode())

    def session(self) -> NativeSession:
        return NativeSession(self, self.library)

    def run(self, prompt: Sequence[int], max_new_tokens: int | None = None) -> Ids:
        return np.concatenate([np.zeros(0, np.int32), *self.chunks(prompt, max_new_tokens)])

    def chunks(self, prompt: Sequence[int], max_new_tokens: int | None = None) -> Iterator[Ids]:
        """The tokens that follow the prompt, tens of thousands at a time."""
        ids = self.check_prompt(prompt)
        end = self._end(len(ids), max_new_tokens)
        return self._chunks(
            ids, min(end, self.max_tokens), max_new_tokens is None or end > self.max_tokens
        )

    def _generate(self, prompt: Ids, end: int, unlimited: bool) -> Iterator[int]:
        covered = min(end, self.max_tokens)
        for chunk in self._chunks(prompt, covered, unlimited or end > self.max_tokens):
            yield from chunk.tolist()

    def _chunks(self, prompt: Ids, end: int, overrun: bool) -> Iterator[Ids]:
        session = self.session()
        following = session.take(prompt)
        length = len(prompt)
        while length < end:
            said = session.generate(following, min(CHUNK, end - length))
            length += len(said)
            yield said
            if int(said[-1]) in self.stops:
                return
            session.check()
            if length < end:
                following = session.feed(int(said[-1]))
        if overrun:
            raise self.too_long()

    def residuals(self, ids: Sequence[int]) -> Residuals:
        """From a second library that also reports the residual stream."""
        prompt = self.check_prompt(ids)
        library = Library(model_to_c(self.model, residuals=True))
        session = NativeSession(self, library)
        periods, width = 2 * len(self.model.plan["layers"]) + 1, self.model.plan["width"]
        streams = np.zeros((len(prompt), periods, width))
        for position, token in enumerate(prompt.tolist()):
            session.feed(token)
            library.stream(session.state, streams[position].ctypes.data)
        return streams


class Library:
    """The compiled functions of one model."""

    def __init__(self, source: str) -> None:
        self.source = source
        flags = (*FLAGS, "-O1") if len(source) > LARGE else FLAGS
        self.path: Path = build_library(source, name="native", flags=flags)
        library = load_library(self.path)
        self.create = function(library, "curta_create", ctypes.c_void_p)
        self.destroy = function(library, "curta_destroy", None, ctypes.c_void_p)
        pointer, count = ctypes.c_void_p, ctypes.c_int64
        self.feed = function(library, "curta_feed", count, pointer, pointer, count, pointer)
        self.take = function(library, "curta_take", count, pointer, pointer, count, pointer)
        self.generate = function(
            library, "curta_generate", count, pointer, ctypes.c_int32, pointer, count
        )
        self.bytes = function(library, "curta_bytes", count, pointer)
        self.exhausted = function(library, "curta_exhausted", ctypes.c_int32, pointer)
        self.broken = function(library, "curta_broken", ctypes.c_int32, *3 * [pointer])
        self.has_places = hasattr(library, "curta_fields")
        if self.has_places:
            self.follow = function(
                library, "curta_follow", count, pointer, ctypes.c_int32, pointer, pointer, count
            )
            self.fields = function(
                library, "curta_fields", ctypes.c_int32, pointer, pointer, count, pointer
            )
            self.set_places = function(library, "curta_set_places", None, pointer, pointer)
            self.placed = function(library, "curta_placed", count, pointer)
            self.field_count = int(self.fields(None, None, 0, None))
        if hasattr(library, "curta_stream"):
            self.stream = function(library, "curta_stream", None, pointer, pointer)


def function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    found = getattr(library, name)
    found.restype = result
    found.argtypes = list(arguments)
    return found


class NativeSession(Session):
    """One sequence: the state that the generated code keeps."""

    engine: Native

    def __init__(self, engine: Native, library: Library) -> None:
        super().__init__(engine)
        self.library = library
        self.warming: Warming | None = None
        self.goes_on = ""
        """The run that this sequence goes on with, if another one began it: see Warming.program."""
        self._state: int | None = library.create()
        if not self._state:
            raise RegionError("no memory left for the native engine's state")
        self.check()

    def close(self) -> None:
        """Give the memory back: nothing more is said.

        An interruption while that is done in `__del__` would go unnoticed.
        """
        if self.warming is not None:
            self.warming.close()
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
        return self._state

    @property
    def bytes(self) -> int:
        """Memory that the sequence occupies."""
        return int(self.library.bytes(self.state))

    def _feed(self, token: int) -> int:
        said = ctypes.c_int32()
        given = ctypes.c_int32(token)
        if self.warming is not None:
            self.warming.given(np.array([token]))
        self.library.feed(self.state, ctypes.byref(given), 1, ctypes.byref(said))
        self.check()
        return said.value

    @property
    def placed(self) -> int:
        """How many tokens were said by code that knows the program."""
        return 0 if self.warming is None else self.warming.placed

    def feed_many(self, tokens: Sequence[int] | Ids) -> Ids:
        """What the model says after each of the tokens that come next."""
        return self.feed_checked(self.engine.check_ids(tokens))

    def feed_checked(self, tokens: Ids) -> Ids:
        """The same for ids that are in the vocabulary: the generated code looks no more."""
        said = np.empty(len(tokens), dtype=np.int32)
        given = np.ascontiguousarray(tokens, dtype=np.int32)
        if self.length + len(given) > self.engine.max_tokens:
            raise self.engine.too_long()
        if self.warming is not None:
            self.warming.given(given)
        taken = self.library.feed(self.state, given.ctypes.data, len(given), said.ctypes.data)
        self.length += taken
        self.check()
        return said

    def take(self, tokens: Ids) -> int:
        """Take ids that are in the vocabulary; what the model says after the last of them."""
        said = ctypes.c_int32()
        given = np.ascontiguousarray(tokens, dtype=np.int32)
        if self.length + len(given) > self.engine.max_tokens:
            raise self.engine.too_long()
        pointer = ctypes.byref(said)
        if self.warming is not None:
            self.warming.given(given)
        begins = not self.length
        self.length += self.library.take(self.state, given.ctypes.data, len(given), pointer)
        self.check()
        if begins and (workshop := self.engine.workshop) is not None:
            from curta.engine.hot import Warming

            self.warming = Warming(workshop, self, given)
        return said.value

    def generate(self, first: int, count: int) -> Ids:
        """`first`, and what the model says after it: `count` tokens, fewer after a stop token."""
        first = self.engine.check_token(first)
        if count < 1:
            return np.zeros(0, dtype=np.int32)
        if self.length + count - 1 > self.engine.max_tokens:
            raise self.engine.too_long()
        said = np.empty(count, dtype=np.int32)
        if self.warming is not None:
            length = self.warming.generate(first, said)
        else:
            length = self.library.generate(self.state, first, said.ctypes.data, count)
        self.length += length - 1
        return said[:length]

    def check(self) -> None:
        """Raise what stopped the last call."""
        if self.library.exhausted(self.state):
            raise RegionError(
                f"position {self.length}: no memory left ({self.bytes:,} bytes in use); run fewer "
                "tokens at once"
            )
        value, step = ctypes.c_int64(), ctypes.c_int32()
        broken = self.library.broken(self.state, ctypes.byref(value), ctypes.byref(step))
        if broken >= 0:
            guard = self.engine.model.plan["guards"][broken]
            promised = [guard["low"], guard["high"]]
            actual = float(value.value * power_of_two(step.value))
            raise broken_promise(guard["name"], self.length, f"{actual:.17g}", *promised)
