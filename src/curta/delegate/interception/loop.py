"""Decoding with calls, inside of transformers' own `generate`.

    model.generate(**inputs, custom_generate=loop)

`generate` prepares everything: the cache, masks, positions, what processes scores, what stops.
The loop only ever appends. A chosen token is not in the cache yet, so a call's answer is fed
right behind it: in one pass where there is one row, and token by token where there are several,
while the other rows go on. A row that still has tokens to be fed ignores its choice.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from curta.delegate.interception.batch import Batch
from curta.delegate.interception.row import Row
from curta.errors import UserError

if TYPE_CHECKING:
    from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList


ONE_BY_ONE = frozenset({"falcon_mamba", "jamba", "mamba", "mamba2", "zamba"})
"""Models whose state is not the same if several tokens are appended to it at once: they begin a new
one. (`serving.batch` tries it, too; here there is no pass to spare.)"""


class Loop:
    """A decoding loop for `custom_generate`; `new_row` makes a row of each row of the batch."""

    def __init__(self, new_row: Callable[[int], Row]) -> None:
        self.new_row = new_row

    @torch.no_grad()
    def __call__(
        self,
        model: Any,
        input_ids: torch.Tensor,
        logits_processor: LogitsProcessorList,
        stopping_criteria: StoppingCriteriaList,
        generation_config: GenerationConfig,
        synced_gpus: bool = False,
        streamer: Any = None,
        **model_kwargs: Any,
    ) -> torch.Tensor:
        """The rows with what was written behind them."""
        check(generation_config, synced_gpus)
        rows = [self.new_row(number) for number in range(len(input_ids))]
        at_once = len(rows) == 1 and model.config.model_type not in ONE_BY_ONE
        feed = Feed(rows, padding(generation_config), ends(generation_config), at_once)
        batch = Batch(len(rows), input_ids.device)
        outputs = model._prefill(input_ids, generation_config, model_kwargs)
        while True:
            logits = batch.spread(outputs.logits[:, -1].float())
            # Narrowed before, so that what keeps the likeliest few keeps some; and after, again.
            scores = processed(logits_processor, input_ids, feed.narrowed(logits))
            scores = feed.narrowed(scores)
            choices = choose(scores, do_sample=generation_config.do_sample)
            chosen = feed.next(choices, most=max(room(stopping_criteria, input_ids), 1))
            input_ids = torch.cat([input_ids, chosen.to(input_ids.device)], dim=1)
            if streamer is not None:
                streamer.put(chosen.cpu())
            complete, stopped = ending(stopping_criteria, input_ids, scores)
            feed.stop(complete, stopped)
            if feed.is_done:
                break
            model_kwargs = model._update_model_kwargs_for_generation(
                outputs, model_kwargs, num_new_tokens=chosen.shape[1]
            )
            model_kwargs = batch.leave(feed.done, model_kwargs)
            model_inputs = model.prepare_inputs_for_generation(
                batch.of(input_ids),
                next_sequence_length=chosen.shape[1] if model_kwargs["use_cache"] else None,
                **model_kwargs,
            )
            outputs = model(**model_inputs, return_dict=True)
        if streamer is not None:
            streamer.end()
        return input_ids


class Feed:
    """Which tokens the rows are fed next: their choices, or what is still to be put there."""

    def __init__(
        self, rows: Sequence[Row], padding: int, ends: frozenset[int], at_once: bool
    ) -> None:
        self.rows = rows
        self.at_once = at_once
        self.padding = padding
        self.ends = ends
        self.waiting: list[deque[int]] = [deque() for _ in rows]
        self.done = [False] * len(rows)

    @property
    def is_done(self) -> bool:
        """Whether no row goes on."""
        return all(self.done)

    def narrowed(self, scores: torch.Tensor) -> torch.Tensor:
        """Scores as the constraints of the rows that choose now have them."""
        if not any(row.constraint for row in self.rows):
            return scores
        narrow = [
            scores[number]
            if self.done[number] or self.waiting[number]
            else row.narrowed(scores[number])
            for number, row in enumerate(self.rows)
        ]
        return torch.stack(narrow)

    def next(self, choices: Sequence[int], most: int) -> torch.Tensor:
        """Tokens for all rows, which have room for so many: one for each, or all that wait."""
        for number, choice in enumerate(choices):
            if not self.done[number] and not self.waiting[number]:
                taken = [choice] if choice in self.ends else self.rows[number].take(choice, most)
                self.waiting[number].extend(taken)
        count = len(self.waiting[0]) if self.at_once else 1
        return torch.tensor([self.take(number, count) for number in range(len(self.rows))])

    def take(self, number: int, count: int) -> list[int]:
        """So many tokens of one row."""
        if self.done[number]:
            return [self.padding] * count
        self.rows[number].tokens += count
        return [self.waiting[number].popleft() for _ in range(count)]

    def stop(self, complete: Sequence[bool], stopped: Sequence[bool]) -> None:
        """Rows that have come to their end, but not within an answer.

        So a criterion decides where it would with one row, which is fed an answer in one pass.
        """
        for number, is_stopped in enumerate(stopped):
            within = bool(self.waiting[number])
            is_stopped = is_stopped or self.rows[number].is_full
            if is_stopped and not within and not self.done[number]:
                self.done[number] = True
                self.rows[number].ended = complete[number]
                self.rows[number].finish()


def processed(processor: Any, input_ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
    """Scores after whatever `generate` was told to do with them."""
    scores: torch.Tensor = processor(input_ids, logits)
    return scores


def choose(scores: torch.Tensor, *, do_sample: bool) -> list[int]:
    """The token of each row, drawn or the most likely one."""
    if do_sample:
        drawn = torch.multinomial(torch.softmax(scores, dim=-1), num_samples=1)
        choices: list[int] = drawn.squeeze(1).tolist()
        return choices
    likely: list[int] = scores.argmax(dim=-1).tolist()
    return likely


def ending(
    stopping_criteria: StoppingCriteriaList, input_ids: torch.Tensor, scores: torch.Tensor
) -> tuple[list[bool], list[bool]]:
    """Which rows are complete, and which are to stop: those, and all at a limit (length, time)."""
    from transformers import MaxLengthCriteria, MaxTimeCriteria

    complete = torch.zeros(len(input_ids), dtype=torch.bool)
    stopped = complete.clone()
    for criterion in stopping_criteria:
        found = torch.as_tensor(criterion(input_ids, scores)).cpu()
        stopped |= found
        if not isinstance(criterion, MaxLengthCriteria | MaxTimeCriteria):
            complete |= found
    return complete.tolist(), stopped.tolist()


def room(stopping_criteria: StoppingCriteriaList, input_ids: torch.Tensor) -> int:
    """How many tokens may still follow."""
    longest = getattr(stopping_criteria, "max_length", None)
    return longest - input_ids.shape[1] if longest else 1 << 30


def padding(generation_config: GenerationConfig) -> int:
    """What finished rows are filled up with."""
    given = getattr(generation_config, "_pad_token_tensor", None)
    return 0 if given is None else int(given)


def ends(generation_config: GenerationConfig) -> frozenset[int]:
    """The tokens that end an answer; they are no text."""
    given = generation_config.eos_token_id
    if given is None:
        return frozenset()
    return frozenset([given] if isinstance(given, int) else given)


def check(generation_config: GenerationConfig, synced_gpus: bool) -> None:
    """Raise an error for what the loop does not do."""
    if synced_gpus:
        raise UserError("synced_gpus: calls are not intercepted on sharded models")
    if generation_config.return_dict_in_generate:
        raise UserError("return_dict_in_generate: a loop with calls returns the tokens alone")
    if generation_config.num_beams not in (None, 1):
        raise UserError(
            f"num_beams = {generation_config.num_beams}: calls are intercepted in greedy decoding "
            "and sampling; set num_beams=1"
        )
