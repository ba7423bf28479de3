"""Sequences that begin as copies of another, beside such that read every token."""

from __future__ import annotations

import gc
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
COPIED = TOGETHER, ("paged",), ("nearest, ties", "direct")
READ = ("hashed", "direct"), ("by position",), ("near position", "paged")
"""What is kept elsewhere is not copied."""
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
