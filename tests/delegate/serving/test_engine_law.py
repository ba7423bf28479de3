"""What an answer says does not depend on what is written beside it, nor on when it came."""

from __future__ import annotations

import random
import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pytest.importorskip("transformers")

import torch

from curta.delegate.interception import caches
from curta.delegate.interception.batch import Batch, joined
from curta.delegate.serving import engine as serving
from curta.delegate.serving.refusals import RefusedError
from curta.delegate.serving.writing import Piece, Wanted
from tests.support.served import (
    PROMPTS,
    Collected,
    Slow,
    alone,
    engine,
    generator,
    submit,
    tokens_of,
)
from tests.support.slow import draws
from tests.support.tiny_language_models import FAMILIES, model
from tests.support.waiting import until

TOKENS = (5, 24)


def said(collected: Collected) -> tuple[object, ...]:
    """Text, calls and count."""
    end = collected.wait().end
    assert isinstance(end, Piece), end
    return collected.text, [each.text for each in collected.calls], end.tokens


def expected(family: str, prompt: str, tokens: int) -> tuple[object, ...]:
    output = alone(family, prompt, tokens)
    return output.text, [each.text for each in output.calls], output.tokens


@pytest.mark.parametrize("family", FAMILIES)
def test_every_answer_is_that_of_the_generator_alone(family: str) -> None:
    """The first few come together, the others while those are written."""
    with engine(family, batch=4, prompt_step=60) as made:
        assert made.is_batching
        asked = [(prompt, tokens) for tokens in TOKENS for prompt in PROMPTS]
        random.Random(1).shuffle(asked)
        wanted = [Wanted(tokens_of(family, prompt), tokens) for prompt, tokens in asked]
        running = [Collected() for _ in wanted]
        made.submit([(each, to.hear) for each, to in zip(wanted[:6], running[:6], strict=True)])
        for each, to in zip(wanted[6:], running[6:], strict=True):
            made.submit([(each, to.hear)])
            time.sleep(0.003)
        for (prompt, tokens), collected in zip(asked, running, strict=True):
            assert said(collected) == expected(family, prompt, tokens), (prompt, tokens)
    assert any(each.calls for each in running)


@settings(max_examples=draws(4, 2), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    order=st.lists(
        st.tuples(st.sampled_from(PROMPTS), st.sampled_from(TOKENS), st.integers(0, 8)),
        min_size=2,
        max_size=6,
    ),
    batch=st.integers(1, 5),
    prompt_step=st.integers(1, 60),
)
def test_in_any_order_and_batch(
    order: list[tuple[str, int, int]], batch: int, prompt_step: int
) -> None:
    with engine(batch=batch, prompt_step=prompt_step) as made:
        running = []
        for prompt, tokens, pause in order:
            wanted = Wanted(tokens_of("grouped queries", prompt), tokens)
            running.append(submit(made, wanted)[0])
            time.sleep(pause / 1000)
        for (prompt, tokens, _), collected in zip(order, running, strict=True):
            assert said(collected) == expected("grouped queries", prompt, tokens)


def test_caches_that_cannot_be_joined_are_served_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(caches, "can_be_joined", lambda cache, config: False)
    with engine("sliding window", batch=4) as made:
        assert 'curta_rows{mode="one_by_one"} 1' in made.metrics.text()
        running = [
            submit(made, Wanted(tokens_of("sliding window", prompt), 20))[0] for prompt in PROMPTS
        ]
        for prompt, collected in zip(PROMPTS, running, strict=True):
            assert said(collected) == expected("sliding window", prompt, 20)


def test_rows_without_a_mask_can_leave_each_other() -> None:
    """`generate` gives none where nothing is padded."""
    tokens, after = torch.arange(2, 8).view(2, 3), torch.tensor([[9]])
    both, one = (serving.begun(model("grouped queries")) for _ in range(2))
    both.scores(tokens, 3)
    one.scores(tokens[1:], 3)
    row = generator("grouped queries").row(print)
    both.rows, both.given["attention_mask"] = [row, row], None
    part = both.part([1])
    assert part is not None
    assert torch.allclose(part.scores(after, 1), one.scores(after, 1), atol=1e-5)


def test_a_model_whose_rows_disturb_each_other_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Positions of a row that depend on the longest one beside it."""

    class Disturbed(Batch):
        def scores(self, tokens: torch.Tensor, count: int) -> torch.Tensor:
            scores, mask = super().scores(tokens, count), self.given["attention_mask"]
            return scores + (mask.shape[1] - mask.sum(dim=1, keepdim=True))

    tried = model("grouped queries")
    assert serving.joins(tried)
    monkeypatch.setattr(serving, "begun", lambda model: Disturbed(model, [], appends=True))
    assert not serving.joins(tried)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_that_forgets_when_tokens_are_appended_is_found_out(family: str) -> None:
    """By its type or by trying: two tokens at once, against one after the other."""
    row = torch.randint(2, 90, (1, 12), generator=torch.Generator().manual_seed(0))
    scores = []
    for ends in ((10, 11, 12), (10, 12)):
        begin, batch = 0, serving.begun(model(family))
        for end in ends:
            found = batch.scores(row[:, begin:end], end - begin)
            begin = end
        scores.append(found)
    assert torch.allclose(*scores, atol=1e-3) or not serving.appends(model(family))


def test_what_no_list_knows_is_found_out_by_trying(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(Batch):
        def scores(self, tokens: torch.Tensor, count: int) -> torch.Tensor:
            begun = self.outputs is not None
            return super().scores(tokens, count) + float(begun and count > 1)

    tried = model("grouped queries")
    assert serving.appends(tried)
    monkeypatch.setattr(serving, "begun", lambda model: Forgetful(model, [], appends=True))
    assert not serving.appends(tried)


def test_kinds_of_rotation_that_depend_on_the_batch() -> None:
    assert caches.rope_kinds({"rope_type": "dynamic"}) == {"dynamic"}
    nested = {"full_attention": {"rope_type": "longrope"}, "sliding_attention": {}}
    assert "longrope" in caches.rope_kinds(nested)
    assert caches.rope_kinds(None) == set()


@pytest.mark.parametrize("family", FAMILIES)
def test_rows_that_leave_and_join_have_the_cache_they_had(family: str) -> None:
    """Against one pass over the whole row, after every change of the batch."""
    rows = [torch.randint(2, 90, (length,)).tolist() for length in (5, 21, 12, 30)]
    for leaving in ([0, 2, 3], [2], [0]):
        batches = []
        for row in rows:
            batches.append(Batch(model(family), [row], appends=True))
            batches[-1].scores(torch.tensor([row[:-2]]), len(row) - 2)
        batch = joined(batches).part(leaving)
        assert batch is not None
        assert batch.rows == [rows[row] for row in leaving]
        for step in (2, 1):
            scores = batch.scores(torch.tensor([[rows[row][-step]] for row in leaving]), 1)
            for place, row in enumerate(leaving):
                whole = torch.tensor([rows[row][: len(rows[row]) - step + 1]])
                right = serving.begun(model(family)).scores(whole, whole.shape[1])
                # some of the families compute their states in float32
                assert torch.allclose(scores[place], right[0], atol=1e-3), (leaving, step, row)


def test_a_seed_gives_the_same_text_under_any_load() -> None:
    seeded = Wanted(tokens_of("grouped queries", "ab, 12 c"), 40, 1.0, 0.9, "7")
    with engine(batch=1) as made:
        first = said(submit(made, seeded)[0])
        other = said(submit(made, Wanted(seeded.prompt, 40, 1.0, 0.9, "8"))[0])
    assert first != other
    with engine(batch=5) as made:
        drawn = [
            submit(made, Wanted(tokens_of("grouped queries", each), 30, 1.3)) for each in PROMPTS
        ]
        again = [submit(made, seeded)[0] for _ in range(3)]
        assert [said(each) for each in again] == [first] * 3
        for collected, _ in drawn:
            collected.wait()


@pytest.mark.parametrize(("temperature", "share"), [(1.5, 1e-9), (1e-320, 1.0)])
def test_a_small_share_or_no_warmth_is_the_most_likely_token(
    temperature: float, share: float
) -> None:
    prompt = tokens_of("grouped queries", "a")
    with engine() as made:
        collected, _ = submit(made, Wanted(prompt, 20, temperature, share, "1"))
        assert said(collected) == expected("grouped queries", "a", 20)


@pytest.mark.parametrize("stop", ["c", ">", " = ", "="])
def test_a_stop_string_cuts_the_text_before_it(stop: str) -> None:
    cut = 0
    with engine() as made:
        for prompt in PROMPTS:
            wanted = Wanted(tokens_of("grouped queries", prompt), 32, stops=(stop, "never said"))
            collected = submit(made, wanted)[0].wait()
            text = alone("grouped queries", prompt, 32).text
            assert collected.text == text.partition(stop)[0]
            assert all(call.text in collected.text for call in collected.calls)
            if stop in text:
                cut += 1
                assert isinstance(collected.end, Piece)
                assert collected.end.reason == "stop"
    assert cut


def test_a_full_queue_takes_nobody() -> None:
    prompt = tokens_of("grouped queries", "a")
    with engine(processor=Slow(0.01), batch=1, queue=2) as made:
        running = [submit(made, Wanted(prompt, 100)) for _ in range(3)]
        with pytest.raises(RefusedError, match="the queue is full") as raised:
            submit(made, Wanted(prompt, 100))
        assert raised.value.status == 429
        with pytest.raises(RefusedError, match="4 choices: this server takes 3") as raised:
            made.submit([(Wanted(prompt, 1), Collected().hear) for _ in range(4)])
        assert raised.value.status == 400
        made.cancel([writing for _, writing in running[1:]])
        until(lambda: not made.queued)
        assert submit(made, Wanted(prompt, 2))[1]


def test_time_that_is_over() -> None:
    prompt = tokens_of("grouped queries", "a")
    with engine(processor=Slow(0.02), batch=1, time_limit=0.3) as made:
        first, _ = submit(made, Wanted(prompt, 400))
        second, waiting = submit(made, Wanted(prompt, 400))
        waiting.deadline = 0.0
        end = first.wait().end
        assert isinstance(end, Piece)
        assert end.reason == "length"
        assert 0 < end.tokens < 400
        failed = second.wait().end
        assert isinstance(failed, RefusedError)
        assert failed.code == "time_limit"
        assert made.running == 0


def test_a_prompt_that_is_still_read_when_time_is_over_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prompt = tokens_of("grouped queries", "b <<calc: 2*3>> = 6 and c" * 8)
    quick = Batch.scores

    def scores(batch: Batch, *given: Any) -> torch.Tensor:
        time.sleep(0.02)
        return quick(batch, *given)

    with engine(time_limit=0.3, prompt_step=1) as made:
        monkeypatch.setattr(Batch, "scores", scores)
        end = submit(made, Wanted(prompt, 4))[0].wait().end
        assert isinstance(end, RefusedError)
        assert (end.status, end.code) == (503, "time_limit")
        assert "the prompt was still being read" in str(end)
        assert made.running == 0


def test_what_breaks_between_two_steps_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two prompts of which one is read first: there is no memory to part them."""
    part = Batch.part
    short, long = (tokens_of("grouped queries", prompt) for prompt in ("a", "ab, 12 c"))

    def broken(batch: Batch, rows: list[int]) -> Batch | None:
        if 0 < len(rows) < len(batch.rows):
            raise MemoryError("no room")
        return part(batch, rows)

    with engine(processor=Slow(0.0)) as made:
        monkeypatch.setattr(Batch, "part", broken)
        running = [Collected(), Collected()]
        made.submit([(Wanted(p, 5), to.hear) for p, to in zip((short, long), running, strict=True)])
        for collected in running:
            end = collected.wait().end
            assert isinstance(end, RefusedError)
            assert "MemoryError: no room" in str(end)
        monkeypatch.undo()
        assert isinstance(submit(made, Wanted(short, 5))[0].wait().end, Piece)
        assert made.running == 0


def test_a_row_that_nobody_wants_leaves() -> None:
    prompt = tokens_of("grouped queries", "a")
    with engine(processor=Slow(0.01), batch=2) as made:
        _, unwanted = submit(made, Wanted(prompt, 400))
        until(lambda: unwanted.written > 2)
        made.cancel([unwanted])
        until(lambda: made.running == 0)
        assert 'curta_choices_total{finish="cancelled"} 1' in made.metrics.text()
        assert made.batch is None


def test_what_breaks_is_told_and_the_next_one_is_served(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Slow):
        breaks = False

        def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
            if self.breaks:
                raise MemoryError("no room")
            return super().__call__(input_ids, scores)

    broken = Broken(0.0)
    prompt = tokens_of("grouped queries", "a")
    with engine(processor=broken) as made:
        broken.breaks = True
        failed = submit(made, Wanted(prompt, 10))[0].wait().end
        assert isinstance(failed, RefusedError)
        assert "MemoryError: no room" in str(failed)
        assert failed.status == 500
        broken.breaks = False
        assert isinstance(submit(made, Wanted(prompt, 10))[0].wait().end, Piece)
        assert made.running == 0


def test_at_the_end_everybody_is_told() -> None:
    prompt = tokens_of("grouped queries", "a")
    with engine(processor=Slow(0.01), batch=2) as made:
        running = [submit(made, Wanted(prompt, 400))[0] for _ in range(5)]
        until(lambda: made.running == 2)
        made.stop()
        for collected in running:
            end = collected.wait().end
            assert isinstance(end, RefusedError)
            assert end.code == "shutting_down"
        with pytest.raises(RefusedError, match="shutting down"):
            submit(made, Wanted(prompt, 1))


def test_the_models_own_rules_are_followed() -> None:
    """What its generation config does to scores, as in the generator."""
    from curta.delegate.serving.engine import Engine

    family = "learned positions"
    config = model(family).generation_config
    config.repetition_penalty, config.min_new_tokens = 1.7, 12
    try:
        (output,) = generator(family).generate(["ab, 12 c"], max_new_tokens=30)
        made = Engine(generator(family))
        collected, _ = submit(made, Wanted(tokens_of(family, "ab, 12 c"), 30))
        assert collected.wait().text == output.text
        made.stop()
    finally:
        config.repetition_penalty = config.min_new_tokens = None
