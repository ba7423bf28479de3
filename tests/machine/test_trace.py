"""A trace is what was put into it, however it was put there."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import curta
from curta.machine import trace
from curta.machine.core_program import Segment
from curta.machine.trace import Trace

EXAMPLES = Path(__file__).parents[2] / "examples"
TOKENS = [f"t{number}" for number in range(50)]
STRETCHES = st.lists(st.tuples(st.booleans(), st.lists(st.integers(0, 49), max_size=20)))


@given(STRETCHES, st.integers(1, 4), st.integers(1, 5))
def test_it_is_all_that_was_said(
    stretches: list[tuple[bool, list[int]]], least: int, times: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trace, "LEAST", least)
        patch.setattr(trace, "MOST", least * times)
        found, said = Trace(TOKENS), list[int]()
        for is_shared, ids in stretches:
            put = found.share if is_shared else found.append
            put(np.array(ids, dtype=np.int32))
            said += ids
        names = [TOKENS[number] for number in said]
        assert found.ids.tolist() == said
        assert [*found] == [found[at] for at in range(len(found))] == found[:] == names
        assert [found[at - len(names)] for at in range(len(names))] == names
        with pytest.raises(IndexError):
            found[len(names)]


@pytest.mark.parametrize("host", [(), (Segment(1 << 20, b"of the host"),)])
def test_conversations_share_their_program(host: tuple[Segment, ...]) -> None:
    machine = curta.Machine()
    program = machine.load(EXAMPLES / "gcd.wat")
    first, second = (machine.start(program, segments=host) for _ in range(2))
    assert first.invoke("gcd", 12, 18) == second.invoke("gcd", 12, 18) == 6
    assert first.trace[:] == second.trace[:]
    shared = program.records if host else program.alone
    before = len(shared)
    assert first.trace.ids[:before].tolist() == shared.tolist()
    assert first.trace.memory_bytes <= 4 * max(trace.LEAST, 2 * (len(first.trace) - before))
    assert any(part is shared for part in first.trace._parts)
