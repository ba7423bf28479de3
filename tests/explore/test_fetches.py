"""What the page says of heads and slots beside what softmax does (docs/model-file.md)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from curta.explore.engine import engine_module
from curta.explore.graphs import Seen
from curta.explore.pages import machine_page
from curta.explore.program import Asked, ExploredProgram
from curta.machine.weights import machine_model

MODULE = r"""
(module
  (memory 1)
  (data (i32.const 32) "\07\00\00\00\05")
  (func $add (param i32 i32) (result i32)
    (i32.store (i32.const 16) (i32.add (local.get 0) (local.get 1)))
    (i32.add (i32.load (i32.const 16)) (i32.load (i32.const 32))))
  (func (export "twice") (param i32) (result i32)
    (loop $again
      (local.set 0 (call $add (local.get 0) (i32.load8_u (i32.const 36))))
      (i32.store8 (i32.const 36) (i32.const 9))
      (br_if $again (i32.lt_u (local.get 0) (i32.const 20000000))))
    (i32.div_u (local.get 0) (i32.const 3))))
"""


@pytest.fixture(scope="module")
def twice(opened: Callable[..., Any], folder: Path) -> tuple[Any, list[int], Seen]:
    """A page, the tokens of its run, and a forward pass over them."""
    (folder / "twice.wat").write_text(MODULE)
    asked = Asked((str(folder / "twice.wat"),), ("19999900",), invoke="twice")
    (folder / "twice.html").write_text(machine_page(ExploredProgram(asked).data(), engine_module()))
    page = opened(folder / "twice.html")
    tokens = page.evaluate("ask('tokens', { first: 0, count: page.figures.length })")
    return page, tokens, Seen(machine_model(), np.array(tokens))


@pytest.mark.slow
def test_slots_hold_what_softmax_makes_of_them(twice: tuple[Any, list[int], Seen]) -> None:
    """Every slot in every period, forward and back, to the bit; but for means, which are rounded,
    and for heads that find no key.
    """
    page, tokens, seen = twice
    first = page.evaluate("page.figures.promptLength")
    slots = {slot["slot"] for slot in page.evaluate("ask('slots')")["slots"]}
    expected = np.array(seen.streams)
    assert slots == set(range(1, expected.shape[2]))  # that of the constant has no name
    exact = np.ones((len(expected), expected.shape[2]), dtype=bool)
    for slot in seen.plan["slots"]:
        if slot["members"][0]["kind"] == "Mean":
            exact[slot["first"] : slot["last"] + 1, slot["slot"]] = False
    assert exact.mean() > 0.999
    found = 0
    end = len(tokens) - 1
    among_words_of_the_host = [at for start in range(first, first + 12) for at in (start, end)]
    for position in [0, first // 2, *range(first - 2, end), *among_words_of_the_host]:
        values = page.evaluate(f"ask('streams', {{ position: {position} }}).then(Array.from)")
        shown = np.array(values, dtype=float).reshape(exact.shape)
        there = exact & ~np.isnan(shown)
        np.testing.assert_array_equal(shown[there], expected[:, position][there])
        np.testing.assert_allclose(shown[~exact], expected[:, position][~exact], atol=1e-12)
        found += int(there.sum())
    assert found > 0.9 * (len(tokens) - first) * exact.size
    assert not page.wrong


@pytest.mark.slow
def test_heads_are_where_softmax_has_them(twice: tuple[Any, list[int], Seen]) -> None:
    """Positions and margins of what sources, memory and the program are fetched from; and by how
    much the arg-max is ahead of the runner-up.
    """
    page, tokens, seen = twice
    first = page.evaluate("page.figures.promptLength")
    heads: dict[str, dict[str, Any]] = {}
    for head in seen.heads():
        heads.setdefault(head["name"], head)  # of two with one name, that of this instruction
    compared = dict[str, int]()
    for position in range(first, len(tokens)):
        found = page.evaluate(f"ask('token', {{ position: {position} }})")
        for one in found["fetched"]:
            head, asker = heads.get(one["head"]), found["asker"]
            if head is None or one["at"] is None:
                continue
            where = (position, one["head"], one["what"])
            assert head["at"][asker] == one["at"], where
            if one["second"] is not None:
                assert head["margin"][asker] == one["second"]["margin"], where
            compared[one["head"]] = compared.get(one["head"], 0) + 1
        said = found["said"]
        if said is not None and said["rule"] is not None:
            scores = seen.logits[found["asker"]]
            second = tokens[position] - said["digit"] + said["second"]
            ahead = scores[tokens[position]] - scores[second]
            assert ahead == int(said["margin"]), position
    assert {"operation", "source a", "source b", "source c", "lane 0", "lane 3"} <= compared.keys()
    assert not page.wrong
