"""Sequences that begin as copies of another, beside such that read every token."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from curta import Machine
from curta.compiler import compile
from curta.engine import beginnings
from curta.engine.base import Ids
from curta.engine.beginnings import Beginnings
from curta.engine.native_level import Native, NativeSession
from curta.errors import RegionError
from tests.engine.test_answers import MOST, asking
from tests.engine.test_generated_code import of_tables
from tests.support.slow import draws

TOGETHER = ("direct", "paged", "nearest", "fractional keys")
COPIED = TOGETHER, ("paged",), ("nearest, ties", "direct"), ("hashed", "direct")
READ = ("by position",), ("near position", "paged")
"""A track that grows is not copied."""
COUNTER = """(module (memory (export "memory") 1) (global $n (mut i32) (i32.const 5))
  (data (i32.const 4096) "abcdefgh")
  (func (export "add") (param i32) (result i32)
    (global.set $n (i32.add (global.get $n) (local.get 0)))
    (i32.store8 (i32.const 4097) (global.get $n))
    (i32.store (i32.add (i32.const 50000) (i32.mul (local.get 0) (i32.const 4))) (global.get $n))
    (global.get $n))
  (func (export "byte") (result i32) (i32.load8_u (i32.const 4097)))
  (func (export "at") (param i32) (result i32)
    (i32.load (i32.add (i32.const 50000) (i32.mul (local.get 0) (i32.const 4))))))"""

tokens = st.lists(st.integers(0, 7), max_size=12)


@cache
def engine_of(kinds: tuple[str, ...]) -> Native:
    return Native(compile(of_tables(*kinds), 256))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beginnings of any length are worth it."""
    monkeypatch.setattr(beginnings, "SHORT", 0)


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("kinds", [*COPIED, *READ])
def test_a_copy_goes_on_as_what_was_read(kinds: tuple[str, ...]) -> None:
    engine = engine_of(kinds)

    @given(tokens, st.lists(st.tuples(tokens, tokens), min_size=2, max_size=6))
    @settings(max_examples=draws(60), deadline=None)
    def check(common: list[int], others: list[tuple[list[int], list[int]]]) -> None:
        engine.beginnings = Beginnings(engine.library)
        taken, read = list[NativeSession](), list[NativeSession]()
        for rest, _ in others:
            prompt = np.array([1, *common, *rest, 2], dtype=np.int32)
            taken.append(engine.session())
            read.append(engine.session())
            assert taken[-1].take(prompt) == [read[-1].feed(token) for token in prompt.tolist()][-1]
        for place in range(max(len(rest) for _, rest in others)):
            for one, other, (_, rest) in zip(taken, read, others, strict=True):
                if place < len(rest):
                    assert one.feed(rest[place]) == other.feed(rest[place])
        for one, other in zip(taken, read, strict=True):
            assert one.generate(3, 20).tolist() == other.generate(3, 20).tolist()
            assert (one.length, one.bytes) == (other.length, other.bytes)
        found = engine.beginnings.kept
        assert found
        assert all(bool(one.pointer) == (kinds in COPIED and HAS_COPIES) for one in found)

    check()


HAS_COPIES = hasattr(engine_of(TOGETHER).library, "beginning")
"""Linux."""


def ids(*numbers: int) -> Ids:
    return np.array(numbers, dtype=np.int32)


@pytest.mark.skipif(not HAS_COPIES, reason="no copies on this system")
@pytest.mark.usefixtures("at_once")
def test_the_longest_beginning_is_found_and_something_is_left_to_be_taken() -> None:
    found = Beginnings(engine_of(TOGETHER).library)

    def length(*numbers: int) -> int:
        one = found.of(ids(*numbers))
        return len(one.tokens) if one else 0

    assert length(1, 2, 3, 4) == 0
    assert length(1, 2, 5) == 2
    assert length(1, 2, 3, 4) == 3
    assert length(1, 2, 3, 4, 5) == 4
    assert length(1, 2, 5, 6) == 3
    assert length(1, 2, 7) == 2
    assert length(1) == 0
    assert length() == 0
    assert length(2, 2, 3) == 0


@pytest.mark.usefixtures("at_once")
def test_whoever_gave_the_tokens_may_change_them() -> None:
    engine = engine_of(TOGETHER)
    engine.beginnings = Beginnings(engine.library)
    prompt = ids(1, 2, 3, 4, 5)
    said = set[tuple[int, ...]]()
    for _ in range(4):
        session, other = engine.session(), engine.session()
        following = session.take(prompt)
        assert following == [other.feed(token) for token in prompt.tolist()][-1]
        said.add((following, *session.generate(following, 9).tolist()))
        prompt[1:4] = prompt[1:4] % 7 + 1
    assert len(said) > 1


@pytest.mark.usefixtures("at_once")
def test_tokens_that_break_a_promise_begin_nothing() -> None:
    engine, errors = asking(), set[str]()
    engine.beginnings = Beginnings(engine.library)
    for _ in range(3):
        with pytest.raises(RegionError) as error:
            engine.session().take(ids(1, MOST + 1, 2, 3))
        errors.add(str(error.value))
    assert len(errors) == 1
    assert not any(one.pointer for one in engine.beginnings.kept)


@pytest.mark.skipif(not HAS_COPIES, reason="no copies on this system")
def test_only_so_many_are_kept_and_the_others_are_given_back() -> None:
    engine, given_back = Native(compile(of_tables(*TOGETHER), 2000)), list[int]()
    forget = engine.library.forget
    engine.library.forget = lambda pointer: (given_back.append(pointer), forget(pointer))
    for number in range(3 * beginnings.MOST):
        prompt = np.full(beginnings.SHORT + 10, number % 8, dtype=np.int32)
        prompt[number // 8] += 1
        for _ in range(2):
            engine.session().take(prompt)
    assert len(engine.beginnings.kept) == beginnings.MOST
    assert len(given_back) == 2 * beginnings.MOST
    engine.beginnings.kept = ()
    gc.collect()
    assert len(given_back) == 3 * beginnings.MOST


def test_instances_of_a_program_know_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "counter.wat"
    path.write_text(COUNTER)
    machine, reference = Machine(), Machine(level="reference")
    assert isinstance(machine.engine, Native)
    made, expected = ([one.instantiate(path) for _ in range(4)] for one in (machine, reference))
    for step in range(3):
        for number, (one, other) in enumerate(zip(made, expected, strict=True)):
            for name, *words in (("byte",), ("add", number + step), ("at", number), ("byte",)):
                assert one.invoke(name, *words) == other.invoke(name, *words)
    for one, other in zip(made, expected, strict=True):
        assert one.trace.ids.tolist() == other.trace.ids.tolist()
    assert [one.pointer for one in machine.engine.beginnings.kept] if HAS_COPIES else True


@pytest.mark.usefixtures("at_once")
def test_a_state_that_was_asked_for_before_stays() -> None:
    """It would be given back where an interruption may come."""
    engine = engine_of(TOGETHER)
    engine.beginnings = Beginnings(engine.library)
    prompt = ids(1, 2, 3, 4, 5)
    expected = [engine.session().take(prompt) for _ in range(2)][-1]
    session = engine.session()
    state = session.state
    assert session.bytes > 0
    assert session.take(prompt) == expected
    assert (session.state, session.length) == (state, 5)


@pytest.mark.skipif(not HAS_COPIES, reason="no copies on this system")
@pytest.mark.usefixtures("at_once")
def test_a_beginning_that_cannot_be_kept_hides_no_shorter_one() -> None:
    found = Beginnings(engine_of(TOGETHER).library)
    for prompt in (ids(1, 2, 3), ids(1, 2, 4)):
        found.of(prompt)
    make = found.library.beginning
    found.library.beginning = lambda *_: None
    try:
        for _ in range(3):
            one = found.of(ids(1, 2, 4, 5, 6))
            assert one is not None
            assert len(one.tokens) == 2
    finally:
        found.library.beginning = make
    assert [len(one.tokens) for one in found.kept if not one.pointer] == [3, 4]


SMALL = """
import resource, sys
from curta import Machine

machine, many = Machine(), 12
machine.instantiate(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
for _ in range(many):
    machine.instantiate(sys.argv[1])
"""


@pytest.mark.skipif(not HAS_COPIES, reason="no copies on this system")
def test_what_is_kept_takes_no_room_for_a_state(tmp_path: Path) -> None:
    """Of addresses, of which a state takes nearly a gigabyte."""
    path = tmp_path / "counter.wat"
    path.write_text(COUNTER)
    run = [sys.executable, "-c", SMALL, str(path)]
    finished = subprocess.run(
        run,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert finished.returncode == 0, finished.stderr


FORKS = """
import os, sys
from curta import Machine

machine = Machine()
instance = machine.instantiate(sys.argv[1])
before = instance.invoke("count", 40000)
child = os.fork()
if not child:
    told = [instance.invoke("count", 40000), machine.instantiate(sys.argv[1]).invoke("count", 9)]
    os._exit(told != [before, 9])
sys.exit(os.waitpid(child, 0)[1] or instance.invoke("count", 40000) != before)
"""
COUNTING = """(module (func (export "count") (param i32) (result i32) (local i32)
  (loop (local.set 1 (i32.add (local.get 1) (i32.const 1)))
    (br_if 0 (i32.lt_u (local.get 1) (local.get 0))))
  (local.get 1)))"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_of_a_process_that_ran_long_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "counting.wat"
    path.write_text(COUNTING)
    run = [sys.executable, "-c", FORKS, str(path)]
    finished = subprocess.run(run, capture_output=True, text=True, check=False, timeout=60)
    assert finished.returncode == 0, finished.stderr
