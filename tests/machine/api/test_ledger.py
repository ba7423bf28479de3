"""Ledgers: in C and in Python they hold the same, whatever they are given."""

from __future__ import annotations

import gc
import weakref
from collections import deque
from concurrent.futures import Future
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.errors import TokenError
from curta.machine import fast_ledger
from curta.machine.extents import extents_of
from curta.machine.ids import (
    EXIT_ID,
    FIRST_BYTE,
    FIRST_OUTPUT,
    FRAME_ID,
    READ_ID,
    STORED_ID,
    Ids,
)
from curta.machine.instructions import CORE, GLOBALS
from curta.machine.ledger import (
    FIRST_FRAME,
    LAST_FRAME,
    MEMORY_PAGE,
    OUTPUT,
    Ledger,
    PlainLedger,
    new_ledger,
)
from curta.machine.loaded import LoadedProgram
from curta.machine.vocabulary import ADDRESS_BYTES, FAR_JUMPS, TOKENS
from curta.machine.wasm.text import assemble
from tests.machine.api.test_chapters import MODULE, REFERENCE, begun, program
from tests.support.slow import draws

FIELDS = ("counter", "frame", "instructions", "own_at", "ended_at", "ended_frame")


def ledgers_of(program: LoadedProgram) -> tuple[PlainLedger, Ledger]:
    return PlainLedger(program), new_ledger(program)


def state(ledger: Ledger) -> tuple[object, ...]:
    """All that it knows."""
    memory = [(first, held.tobytes()) for first, held in ledger.memory(0)]
    return memory, ledger.registers().tobytes(), *(getattr(ledger, name) for name in FIELDS)


def read(ledger: Ledger, said: Ids) -> int:
    """What is taken may be read when something is asked."""
    ledger.take(said)
    return ledger.counter


def of_fibonacci(number: int) -> tuple[LoadedProgram, Ids]:
    """A program, and what is said where this is asked of it."""
    instance = begun()
    instance.invoke("fibonacci", number)
    return instance.conversation.program, instance.conversation.said()


@cache
def said_in_runs() -> tuple[LoadedProgram, list[Ids]]:
    """What one program says, one function after the other."""
    own, said = program(), list[Ids]()
    for name, arguments in (("fibonacci", (7,)), ("divided", (-(2**40), 5)), ("deep", (40,))):
        instance = begun()
        instance.invoke(name, *arguments)
        said.append(instance.conversation.said())
    instance = REFERENCE.begin(MODULE, stdin=bytes(range(6)))
    instance.run()
    return own, [*said, instance.conversation.said()]


@settings(deadline=None, max_examples=draws(1000))
@given(st.data())
def test_whatever_is_said(data: st.DataObject) -> None:
    """A run, of which some tokens are others, in stretches: states are equal, or both refuse it."""
    own, runs = said_in_runs()
    said = data.draw(st.sampled_from(runs)).copy()
    said = said[: data.draw(st.integers(1, len(said)))]
    odd = [EXIT_ID, STORED_ID, *(TOKENS.index(FAR_JUMPS[n]) for n in (0, 256, 257))]
    tokens = st.sampled_from(odd) | st.sampled_from(said.tolist()) | st.integers(-1, len(TOKENS))
    seldom = np.flatnonzero(said == STORED_ID).tolist() or [0]
    places = st.integers(0, len(said) - 1) | st.sampled_from(seldom)
    for _ in range(data.draw(st.integers(0, 3))):
        said[data.draw(places)] = data.draw(tokens)
    if data.draw(st.booleans()):
        by = data.draw(st.sampled_from([0, 3, LAST_FRAME, 2**32 + 1, 2**40 - 1]))
        frame_tokens = [
            FRAME_ID,
            *(FIRST_BYTE + byte for byte in by.to_bytes(ADDRESS_BYTES, "big")),
        ]
        said = np.insert(said, data.draw(st.integers(0, len(said))), frame_tokens)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=6)))
    frame = data.draw(st.sampled_from([0, 0, 0, 7, LAST_FRAME, LAST_FRAME + 1, -1]))
    counter = data.draw(st.sampled_from([0, 0, 0, len(own), -1]) | st.integers(0, len(own)))
    asked = data.draw(st.sets(st.integers(0, 6), max_size=2))  # before these stretches
    found = list[tuple[object, ...] | None]()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_ledger, "MOST_UNREAD", data.draw(st.sampled_from([10, 10**6])))
        patch.setattr(fast_ledger, "LONG", data.draw(st.sampled_from([10, 10**6])))
        for ledger in ledgers_of(own):
            ledger.put(counter, frame, 5, -1)
            try:
                written = list[int]()
                for number, part in enumerate(np.split(said, cuts)):
                    if number in asked:
                        _ = ledger.counter
                    written += ledger.take(part).tolist()
                found.append((ledger.instructions, written, state(ledger)))
            except TokenError:
                found.append(None)
    assert found[0] == found[1]


def test_tokens_that_no_run_says_are_refused() -> None:
    own = program()
    for wrong in (-1, 10**6, len(own.tokens)):
        for ledger in ledgers_of(own):
            with pytest.raises(TokenError, match="no place in a run"):
                read(ledger, np.array([wrong], dtype=np.int32))


def test_nothing_is_read_before_it_is_asked_for_or_much(monkeypatch: pytest.MonkeyPatch) -> None:
    own, said = of_fibonacci(17)
    ledger = fast_ledger.FastLedger(own)
    ledger.take(said)
    plain = PlainLedger(own)
    plain.take(said)
    assert (ledger.instructions, ledger.unread) == (plain.instructions, len(said))
    assert (ledger.counter, ledger.unread) == (plain.counter, 0)
    monkeypatch.setattr(fast_ledger, "MOST_UNREAD", len(said))
    ledger = fast_ledger.FastLedger(own)
    ledger.take(said)
    assert ledger.unread == len(said)
    ledger.take(said)
    assert ledger.unread == 0


@settings(deadline=None, max_examples=draws(200))
@given(st.data())
def test_output_is_found_however_it_is_taken(data: st.DataObject) -> None:
    """In short stretches and long ones, while tokens are kept and afterwards."""
    own = program()
    length = data.draw(st.integers(1, 20_000))
    said = np.full(length, STORED_ID, dtype=np.int32)
    tokens = st.integers(FIRST_OUTPUT - 1, FIRST_OUTPUT + 512) | st.just(READ_ID)
    for _ in range(data.draw(st.integers(0, 9))):
        said[data.draw(st.integers(0, length - 1))] = data.draw(tokens)
    cuts = data.draw(st.lists(st.integers(0, length), max_size=4))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_ledger, "MOST_UNREAD", data.draw(st.sampled_from([100, 10_000, 10**6])))
        patch.setattr(fast_ledger, "LONG", data.draw(st.sampled_from([10, 5_000])))
        ledger = fast_ledger.FastLedger(own)
        parts = [ledger.take(part) for part in np.split(said, sorted(cuts))]
    written = (said[np.isin(said, [*OUTPUT])] - FIRST_OUTPUT).tolist()
    assert np.concatenate(parts).tolist() == written
    assert ledger.instructions == np.count_nonzero(said == STORED_ID) + len(written)


def test_a_ledger_that_nobody_asked_goes_with_its_last_reference() -> None:
    own = program()
    ledger = fast_ledger.FastLedger(own)
    ledger.give(*own.segments)
    ledger.put(0, 0, 0, -1)
    gone = weakref.ref(ledger)
    gc.disable()
    try:
        del ledger
        assert gone() is None
    finally:
        gc.enable()


def test_ledgers_are_dropped_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the other thread works on stays until it has done so."""
    monkeypatch.setattr(fast_ledger, "MOST_UNREAD", 1000)
    monkeypatch.setattr(fast_ledger, "LONG", 1000)
    own, said = of_fibonacci(17)
    for number in range(1000):
        ledger = fast_ledger.FastLedger(own)
        for _ in range(number % 7):
            ledger.take(said)
    plain = PlainLedger(own)
    plain.take(said)
    assert ledger.instructions == number % 7 * plain.instructions > 0


def test_pieces_of_what_is_written_over_are_kept() -> None:
    own, said = of_fibonacci(7)
    ledgers = ledgers_of(own)
    for each in ledgers:
        piece = said.copy()
        each.take(piece[:-1])
        piece[:] = EXIT_ID
        each.take(said[-1:])
    assert state(ledgers[0]) == state(ledgers[1])


@pytest.mark.parametrize("size", [1, 2, 4])
def test_stores_at_the_edges_of_pages(size: int) -> None:
    """What is stored within a page is written at once, and byte by byte where two pages meet."""
    stores = "".join(
        f'(func (export "{name}") (param i32 i32) ({name} (local.get 0) (local.get 1)))'
        for name in ("i32.store8", "i32.store16", "i32.store")
    )
    own = REFERENCE.load(assemble(f"(module (memory 2) {stores})"), library=True)
    at, store = next(
        (at, now)
        for at, now in enumerate(map(own.instruction, range(len(own))))
        if (core := CORE.get(now.operation)) and (core.kind, core.size) == ("store", size)
    )
    ledgers = ledgers_of(own)
    for address in (0, MEMORY_PAGE - 5, *range(MEMORY_PAGE - 4, MEMORY_PAGE + 1)):
        for ledger in ledgers:
            words = {store.a: address, store.b: 0, store.c: 0x87654321 + address}
            for number, word in words.items():
                if number is not None:
                    register = number + FIRST_FRAME * (number < GLOBALS)
                    held = extents_of([(register, np.array([word], np.uint32))], np.uint32)
                    ledger.fill(extents_of((), np.uint8), held)
            ledger.put(at, 0, 0, -1)
            ledger.take(np.array([STORED_ID], dtype=np.int32))
        plain, fast = (list(ledger.memory(0)) for ledger in ledgers)
        assert [first for first, _ in plain] == [first for first, _ in fast]
        assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(plain, fast, strict=True))
        assert plain


def test_a_ledger_may_lag_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long stretches wait for another thread, in their order; what is asked waits for them."""
    monkeypatch.setattr(fast_ledger, "LONG", 1000)
    monkeypatch.setattr(fast_ledger, "MOST_UNREAD", 5000)
    own, said = of_fibonacci(17)
    ledgers = ledgers_of(own)
    for each in ledgers:
        for _ in range(10):
            each.put(0, 0, 0, -1)
            for part in np.array_split(said, 9):
                each.take(part)
    assert isinstance(ledgers[1], fast_ledger.FastLedger)
    assert ledgers[1].unread <= 1000
    plain, fast = map(state, ledgers)
    assert plain == fast


def test_a_ledger_waits_for_its_own_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread may give the reader something of another ledger's meanwhile."""

    class Meanwhile(deque[Any]):
        def append(self, stretch: object) -> None:
            super().append(stretch)
            super().append(Future())  # never done

    monkeypatch.setattr(fast_ledger, "MOST_UNREAD", 1000)
    monkeypatch.setattr(fast_ledger, "_LATEST", Meanwhile())
    own, said = of_fibonacci(17)
    assert len(said) > fast_ledger.MOST_UNREAD
    ledger = fast_ledger.FastLedger(own)
    ledger.take(said)
    (stretch,) = ledger._reading
    assert stretch.exception(timeout=20) is None
