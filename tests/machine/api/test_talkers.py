"""Talkers say the same, and the machine's weights come from a cache without their graph."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from curta import store
from curta.compiler import Graph, Model, compile, equals
from curta.engine import load
from curta.engine.native_level import Native
from curta.errors import LimitError, UserError
from curta.machine import weights
from curta.machine.conversation import Conversation, ConversationLimits
from curta.machine.host import Host
from curta.machine.ids import AWAIT_ID, FIRST_LAST, Ids
from curta.machine.loaded import ORIGIN, ROW, LoadedProgram
from curta.machine.talkers import SessionTalker, Talker
from curta.machine.vocabulary import AWAIT, LAST, START, TOKENS

LONGEST = 500


@cache
def counting() -> Model:
    """Says one more than it heard, up to 300, and then waits; after `start`, it waits at once."""
    graph = Graph(TOKENS)
    number = graph.feature("number", {token: place for place, token in enumerate(LAST)})
    done = equals(number, 300) + graph.is_token(START)
    graph.emit(LAST, number + 1, when=graph.constant(1) - done)
    graph.emit_token(AWAIT, when=done)
    graph.stop_after(AWAIT)
    return compile(graph, LONGEST)


def talkers() -> list[Talker]:
    model = counting()
    native, hull = load(model, "native"), load(model, "hull")
    assert isinstance(native, Native)
    return [SessionTalker(native.session()), SessionTalker(hull.session())]


def said(talker: Talker, given: list[int], most: int = 400) -> list[int]:
    chunks = list(talker.talk(np.array(given, dtype=np.int32), most))
    return np.concatenate(chunks).tolist()


@pytest.mark.parametrize("kind", [0, 1], ids=["native", "session"])
def test_turns_follow_each_other(kind: int) -> None:
    talker = talkers()[kind]
    last = FIRST_LAST
    assert said(talker, [last + 290]) == [*range(last + 291, last + 301), AWAIT_ID]
    assert said(talker, [last + 298]) == [last + 299, last + 300, AWAIT_ID]
    assert said(talker, [last + 10], most=3) == [last + 11, last + 12, last + 13]
    assert said(talker, [], most=2) == [last + 14, last + 15]
    assert talker.max_tokens == LONGEST


@pytest.mark.parametrize("kind", [0, 1], ids=["native", "session"])
def test_conversations_stop_where_the_certificate_does(kind: int) -> None:
    copies = np.zeros(LONGEST, ROW)  # each of them ends with the digit that is said
    program = LoadedProgram(copies, (), {}, (), np.zeros(0, ORIGIN), baked=True)
    conversation = Conversation(talkers()[kind], program, Host(), ConversationLimits())
    conversation.begin()  # says 1, 2, ... 300
    with pytest.raises(LimitError, match=r"500 tokens, the longest that the machine is cert"):
        conversation.invoke(1)
    assert conversation.figures.tokens == LONGEST


def test_the_second_time_neither_graph_nor_model_is_needed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CURTA_CACHE", str(tmp_path))
    monkeypatch.setattr(store, "PACKAGED", tmp_path)
    monkeypatch.setattr(weights, "machine_model", lambda *_: counting())
    first = weights.load_machine()

    def missing(*_: object) -> Model:
        raise AssertionError("the model was asked for")

    monkeypatch.setattr(weights, "machine_model", missing)
    second = weights.load_machine()
    assert isinstance(second, weights.CachedNative)
    assert second.max_tokens == LONGEST
    assert second.stops == first.stops
    prompt = [FIRST_LAST + 200]
    assert second.run(prompt, 100).tolist() == first.run(prompt, 100).tolist()
    monkeypatch.setattr(weights, "machine_model", lambda *_: counting())
    assert second.model is counting()


def test_levels_of_the_weights() -> None:
    with pytest.raises(UserError, match="expected one of evaluate, plain"):
        weights.load_machine("magic")  # type: ignore[arg-type]


def test_arrays_are_what_talkers_say() -> None:
    (chunk, *_) = talkers()[0].talk(np.array([FIRST_LAST], dtype=np.int32), 10)
    array: Ids = chunk
    assert array.dtype == np.int32
