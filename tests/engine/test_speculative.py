"""Softmax accepts what generated C drafts, and stops where it would have said something else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import numpy as np
import pytest

from curta import Machine
from curta.compiler import Graph, Model, at_least, compile
from curta.engine import load
from curta.engine.base import Ids, Mask
from curta.engine.native_level import NativeSession
from curta.engine.speculative import Speculative
from curta.errors import RegionError, VerifyError
from curta.gallery import PROGRAMS

LONGEST = 4_000
COUNT_TO_50 = """
(module (func (export "count") (result i32) (local $count i32)
  (loop $again
    (local.set $count (i32.add (local.get $count) (i32.const 1)))
    (br_if $again (i32.lt_u (local.get $count) (i32.const 50))))
  (local.get $count)))
"""


@pytest.fixture(scope="module")
def subleq() -> Model:
    return compile(PROGRAMS["subleq"].build(), LONGEST)


@pytest.fixture(scope="module")
def prompt(subleq: Model) -> list[int]:
    program = PROGRAMS["subleq"]
    return load(subleq, "native").encode(program.encode(program.cases[-1].input))


def test_many_blocks_are_what_each_level_says(subleq: Model, prompt: list[int]) -> None:
    said = {
        level: load(subleq, level).run(prompt, 1_500).tolist()
        for level in ("native", "plain", "speculative")
    }
    assert said["speculative"] == said["plain"] == said["native"]


class Tampering:
    """Drafts with one wrong token, `place` tokens behind the prompt."""

    def __init__(self, draft: NativeSession, place: int, wrong: int) -> None:
        self.generate_right, self.place, self.wrong = draft.generate, place, wrong

    def generate(self, first: int, count: int) -> Ids:
        said = self.generate_right(first, count)
        if 0 < self.place < len(said):
            said[self.place] = self.wrong
        self.place -= len(said)
        return said


@pytest.mark.parametrize("seed", range(4))
def test_a_wrong_draft_is_named_where_a_sequence_is_read(
    subleq: Model, prompt: list[int], seed: int
) -> None:
    engine = Speculative(subleq)
    right = load(subleq, "native").run(prompt, 1_300)
    place = Random(seed).randrange(len(right) - 1)
    session = engine.session()
    following, read = session.take(np.array(prompt, dtype=np.int32)), session.draft.read

    def tampered(tokens: Ids, asked: Mask) -> Iterator[Ids]:
        at = place - (session.length - len(prompt))
        for said in read(tokens, asked):
            if 0 <= at < len(said):
                said[at] = (said[at] + 1) % len(engine.vocabulary)
            yield said

    session.draft.read = tampered  # type: ignore[method-assign, assignment]
    asked, said = np.ones(len(right) - 1, dtype=np.bool_), [following]
    with pytest.raises(VerifyError, match=f"position {len(prompt) + place:,}: softmax says"):
        said.extend(token for block in session.read(right[:-1], asked) for token in block.tolist())
    assert said == right[: place + 1].tolist()


@pytest.mark.parametrize("seed", range(8))
def test_a_wrong_draft_is_named(subleq: Model, prompt: list[int], seed: int) -> None:
    engine, random = Speculative(subleq), Random(seed)
    right = load(subleq, "native").run(prompt, 1_300).tolist()
    chunk, by = random.randint(2, 600), random.randint(1, 5)
    place = random.choice([n for n in range(len(right)) if n % chunk])  # the others are given
    names, expected = engine.vocabulary, right[place]
    wrong = (expected + by) % len(names)
    session = engine.session()
    assert isinstance(session.draft, NativeSession)
    session.draft.generate = Tampering(session.draft, place, wrong).generate  # type: ignore[method-assign]
    said, following = list[int](), session.take(np.array(prompt, dtype=np.int32))

    def go_on() -> None:
        nonlocal following
        while True:
            said.extend(session.generate(following, chunk).tolist())
            session.check()
            following = session.feed(said[-1])

    with pytest.raises(VerifyError) as error:
        go_on()
    assert said == right[:place]
    position = f"position {len(prompt) + place - 1:,}: softmax says {names[expected]} next, "
    assert str(error.value).startswith(position)
    assert f"drafted {names[wrong]};" in str(error.value)
    with pytest.raises(VerifyError):
        session.feed(0)


def counting_to_700(says: str) -> Model:
    """A promise about how many times "a" was there."""
    graph = Graph(["a", "b"])
    count = graph.running_sum(graph.is_token("a")).named("count")
    promised = graph.assume(count, 0, 700)
    graph.emit_token(says, when=at_least(promised, 0))
    return compile(graph, 2_000)


def test_a_broken_promise_ends_it_as_it_ends_the_others() -> None:
    model = counting_to_700(says="a")
    errors, lengths = set(), set()
    for level in ("native", "plain", "speculative"):
        said = list[int]()
        with pytest.raises(RegionError) as error:
            said.extend(load(model, level).generate_ids([0]))
        errors.add(str(error.value))
        lengths.add(len(said))
    assert len(errors) == len(lengths) == 1


def test_a_prompt_is_taken_in_blocks_and_may_break_a_promise() -> None:
    model = counting_to_700(says="b")
    for level in ("plain", "hull", "speculative"):
        session = load(model, level).session()
        assert session.take(np.zeros(700, dtype=np.int32)) == 1
        assert session.length == 700
        for _ in range(2):
            with pytest.raises(RegionError, match="position 700: count is 701, promised"):
                session.take(np.zeros(3, dtype=np.int32))


def test_a_program_in_the_machine(tmp_path: Path) -> None:
    program = tmp_path / "count.wat"
    program.write_text(COUNT_TO_50)
    instance = Machine("speculative").instantiate(program)
    assert instance.invoke("count") == 50
