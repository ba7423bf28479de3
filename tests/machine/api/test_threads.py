"""How far a run has come may be asked by another thread than runs it."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from threading import Barrier, Event

import numpy as np
import pytest

from curta import Machine
from curta.errors import UserError
from curta.machine import fast_ledger
from curta.machine.instance import Instance
from curta.machine.ledger import PlainLedger
from curta.machine.run import MachineLevel
from tests.machine.api.test_chapters import MODULE, begun
from tests.support.slow import draws


@pytest.fixture(autouse=True)
def impatient() -> Iterator[None]:
    """Threads take turns as often as may be."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_all_who_ask_first_are_told_the_same() -> None:
    instance = begun()
    instance.invoke("fibonacci", 15)
    own, said = instance.conversation.program, instance.conversation.said()
    plain = PlainLedger(own)
    plain.take(said)
    expected = plain.instructions, plain.counter, plain.registers().tolist()
    together = Barrier(3)

    with ThreadPoolExecutor(3) as threads:
        for _ in range(draws(200)):
            ledger = fast_ledger.FastLedger(own)
            ledger.take(said)

            def ask(ledger: fast_ledger.FastLedger = ledger) -> object:
                together.wait()
                return ledger.instructions, ledger.counter, ledger.registers().tolist()

            assert [each.result() for each in [threads.submit(ask) for _ in range(3)]] == [
                expected
            ] * 3


def watched(work: Callable[[], object], look: Callable[[], object]) -> int:
    """How often another thread looked while this one worked."""
    over, looks = Event(), 0

    def go() -> None:
        nonlocal looks
        while not looks or not over.is_set():
            look()
            looks += 1

    with ThreadPoolExecutor(1) as threads:
        going = threads.submit(go)
        try:
            work()
        finally:
            over.set()
        going.result()
    return looks


@pytest.mark.parametrize("chapter_tokens", [None, 3_000])
@pytest.mark.parametrize("level", ["reference", "native"])
def test_who_looks_at_figures_disturbs_nothing(
    level: MachineLevel, chapter_tokens: int | None
) -> None:
    machine, number = Machine(level), 17 if level == "native" else 12

    def begin() -> Instance:
        return machine.begin(MODULE, chapter_tokens=chapter_tokens)

    def work(instance: Instance) -> None:
        for _ in range(4):
            assert instance.invoke("fibonacci", number) == {17: 1597, 12: 144}[number]

    alone, seen = begin(), begin()
    work(alone)
    told = [seen.figures]
    assert watched(lambda: work(seen), lambda: told.append(seen.figures))
    np.testing.assert_array_equal(seen.trace.ids, alone.trace.ids)
    counts = [one.instructions for one in told]
    assert counts == sorted(counts)
    assert seen.figures.instructions == alone.figures.instructions
    assert seen.figures.chapters == alone.figures.chapters


def test_one_thread_at_a_time_invokes() -> None:
    instance, refused = begun(), list[str]()

    def ask(number: int, expected: int) -> bool:
        try:
            assert instance.invoke("fibonacci", number) == expected
        except UserError as error:
            refused.append(str(error))
            return False
        return True

    def work() -> None:
        tries = (ask(14, 377) for _ in range(10_000))
        assert sum(islice(filter(None, tries), 5)) == 5

    def look() -> None:
        time.sleep(0.001)  # the other has its turns, too
        ask(5, 5)

    assert watched(work, look)
    assert all("is being executed" in words for words in refused)
