"""A run begins with the first unit of its C, and takes others in when they are there."""

from __future__ import annotations

import ctypes
import time
from concurrent.futures import ThreadPoolExecutor
from ctypes import c_int, c_void_p
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from curta.compiler import Model, compile
from curta.engine import beside, load, units
from curta.engine.native import run_to_c
from curta.engine.native_level import Native
from curta.engine.toolchain import find_library
from curta.store import Shelf
from tests.engine.test_odd_programs import OPERATIONS, machine, nothing


@pytest.fixture
def in_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Model:
    """A model whose C is compiled in units, none of which is there; nothing is done beside."""
    monkeypatch.setattr(run_to_c, "LONG", 0)
    monkeypatch.setattr(units, "BETWEEN_LOOKS", 0)
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    return compile(machine(nothing, nothing), 1000)


class Begun:
    """Another process, that did nothing."""

    def __init__(self, ended: int | None) -> None:
        self.ended = ended

    def poll(self) -> int | None:
        return self.ended


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_units_come_while_a_run_goes_on(
    order: tuple[int, int], in_units: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any of them a run says the same tokens, and it goes on in those that come."""
    monkeypatch.setattr(beside, "begin", lambda *_: Begun(None))
    native, definition = Native(in_units), load(in_units, "evaluate")
    prompt = definition.encode([*Random(3).choices(OPERATIONS, k=180), "start"])
    session, missing = native.session(), native.library.units.absent
    said, calls = list[int](), list[int]()
    last = session.take(np.array(prompt))
    for unit in (None, *order):
        if unit is not None:
            native.library.units.build(unit)
        *more, last = session.generate(last, 40).tolist()
        said += more
        assert unit not in missing
    assert not missing
    counted = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)(lambda *_: calls.append(last) or 0)
    native.library.set_unit(1, ctypes.cast(counted, c_void_p))
    said += session.generate(last, 40).tolist()
    assert calls
    assert said == list(definition.generate_ids(prompt, len(said)))


def test_units_are_compiled_by_another_process(in_units: Model) -> None:
    library = Native(in_units).library
    assert library.units.process is not None
    assert library.units.process.wait() == 0
    library.grow()
    assert not library.units.absent
    assert not Native(in_units).library.units.absent


@pytest.mark.parametrize("begun", [None, Begun(1)])
def test_it_is_said_if_units_do_not_come(
    begun: Begun | None,
    in_units: Model,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(beside, "begin", lambda *_: begun)
    native = Native(in_units)
    prompt = [*Random(4).choices(OPERATIONS, k=40), "start"]
    expected = list(load(in_units, "evaluate").generate(prompt, 40))
    assert [list(native.generate(prompt, 40)) for _ in range(2)] == [expected] * 2
    assert capsys.readouterr().err.count("CURTA_PLACES=now") == 1


def test_work_that_was_left_to_others_is_begun_again(
    in_units: Model, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """They may have had something else to do, or ended before it was done."""
    begun = list[float]()
    monkeypatch.setattr(units, "BETWEEN_BEGINNINGS", 1.0)
    monkeypatch.setattr(beside, "begin", lambda *_: begun.append(clock[0]) or Begun(0))
    clock = [1.0]
    monkeypatch.setattr(units.time, "monotonic", lambda: clock[0])
    library = Native(in_units).library
    for _ in range(100):
        clock[0] += 0.125
        library.grow()
    assert begun == [1.0, 2.0, 4.0, 8.0]
    assert not capsys.readouterr().err


@pytest.mark.parametrize("places", ["now", "off"])
def test_nothing_is_done_beside_unless_it_may_come_later(
    places: str, in_units: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CURTA_PLACES", places)
    library = Native(in_units).library
    assert not library.units.absent
    assert library.units.process is None

    def refuse(**_: Any) -> None:
        raise AssertionError("there is nothing to wait for")

    monkeypatch.setattr(Shelf, "alone", refuse)
    assert not Native(in_units).library.units.absent


def test_a_run_goes_on_without_compiler_or_units(
    in_units: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "begin", lambda *_: Begun(None))
    library = Native(in_units).library
    monkeypatch.setattr(units, "find_library", lambda *_, **__: library.path)
    library.grow()
    assert library.units.absent == {1, 2}, "the first unit is no other"
    monkeypatch.undo()
    monkeypatch.setenv("CURTA_CC", "gone")
    library.grow()
    assert library.units.absent == {1, 2}


def test_one_thread_at_a_time_takes_units_in(
    in_units: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "begin", lambda *_: Begun(None))
    library = Native(in_units).library
    library.units.build_others()

    def slowly(*given: Any, **options: Any) -> Path | None:
        time.sleep(0.01)
        return find_library(*given, **options)

    monkeypatch.setattr(units, "find_library", slowly)
    with ThreadPoolExecutor(8) as workers:
        for each in [workers.submit(library.grow) for _ in range(64)]:
            each.result()
    assert not library.units.absent
