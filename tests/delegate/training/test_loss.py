"""The loss of a batch is what transformers computes, with the same gradients."""

from __future__ import annotations

import copy
from typing import Any

import pytest

pytest.importorskip("accelerate")

import torch
from accelerate import Accelerator

from curta.delegate.training.encoding import IGNORED, Encoded, batch
from curta.delegate.training.sft import can_share, shared_tokens, total_loss
from tests.support.tiny_language_models import FAMILIES, model

SYSTEM = tuple(range(20, 26))


def mean_loss(model: Any, part: list[Encoded]) -> torch.Tensor:
    """Of all tokens that are learned."""
    rows = batch(part)
    return total_loss(model, Accelerator(), rows) / (rows["labels"] != IGNORED).sum()


def conversation(asked: int, answered: int) -> Encoded:
    """One that begins as all do; half of its answer is learned."""
    question = tuple(30 + asked + at for at in range(asked))
    answer = tuple(50 + answered + at for at in range(answered))
    labels = [IGNORED] * (len(SYSTEM) + asked) + [
        token if at % 2 else IGNORED for at, token in enumerate(answer)
    ]
    return Encoded(SYSTEM + question + answer, tuple(labels))


PART = [conversation(3, 4), conversation(7, 12), conversation(5, 2)]


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_the_plain_one_with_the_same_gradients(family: str) -> None:
    tiny = copy.deepcopy(model(family))
    trained = list(tiny.parameters())
    plain = tiny(**batch(PART), use_cache=False).loss
    wanted = torch.autograd.grad(plain, trained, allow_unused=True)
    loss = mean_loss(tiny, PART)
    found = torch.autograd.grad(loss, trained, allow_unused=True)
    assert float(loss.detach()) == pytest.approx(float(plain.detach()), rel=1e-6)
    assert any(one is not None and one.abs().max() > 1e-3 for one in wanted)
    for a, b in zip(found, wanted, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_only_what_all_have_and_nobody_learns_is_shared() -> None:

    def shared(part: list[Encoded]) -> int:
        return shared_tokens(batch(part))

    assert shared(PART) == len(SYSTEM)
    # The token before a learned one scores it, and so has to be read with the rest.
    assert PART[1].labels[len(SYSTEM) + 7 + 1] != IGNORED
    assert shared([PART[1], PART[1]]) == len(SYSTEM) + 7
    assert shared([Encoded((20, 21), (IGNORED, 21))] * 2) == 0
    assert shared([PART[0], Encoded((1, 2, 3), (IGNORED, IGNORED, 3))]) == 0


@pytest.mark.parametrize("part", [PART[:1], [PART[1], PART[1]]], ids=["one", "two alike"])
def test_questions_that_are_shared_to_their_end_lose_nothing(part: list[Encoded]) -> None:
    tiny = model("grouped queries")
    wanted = float(tiny(**batch(part), use_cache=False).loss.detach())
    assert float(mean_loss(tiny, part).detach()) == pytest.approx(wanted)


def test_windows_and_states_share_nothing() -> None:
    shares = {family for family in FAMILIES if can_share(model(family), Accelerator())}
    assert shares == {"grouped queries", "learned positions"}
