"""Decoding with calls, inside of transformers' own `generate`.

    model.generate(**inputs, custom_generate=loop)

`generate` prepares everything: the cache, masks, positions, what processes scores, what stops.
The loop only ever appends. A chosen token is not in the cache yet, so a call's answer is fed
right behind it: in one pass where there is one row, and token by token where there are several,
while the other rows go on. A row that still has tokens to be fed ignores its choice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from curta.delegate.interception.batch import ONE_BY_ONE, Batch
from curta.delegate.interception.row import Row
from curta.errors import UserError

if TYPE_CHECKING:
    from transformers import GenerationConfig, LogitsProcessorList, StoppingCriteriaList


@dataclass(frozen=True)
class Loop:
    """A decoding loop for `custom_generate`; `new_row` makes a row of each row of the batch."""

    new_row: Callable[[int], Row]

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
        for number, row in enumerate(rows):
            row.number, row.ends = number, ends(generation_config)
            row.likeliest = not (generation_config.do_sample or logits_processor)
        filler = getattr(generation_config, "_pad_token_tensor", None)
        outputs = model._prefill(input_ids, generation_config, model_kwargs)
        begun = Batch(
            model,
            rows,
            model_kwargs,
            outputs,
            appends=len(rows) == 1 and model.config.model_type not in ONE_BY_ONE,
            padding=0 if filler is None else int(filler),
        )
        is_drawn = bool(generation_config.do_sample)
        table = Table(rows, input_ids, logits_processor, stopping_criteria, streamer, is_drawn)
        table.choose(begun, outputs.logits[:, -1])
        batch = begun.going_on()
        while batch is not None:
            batch = batch.step(table)
        if streamer is not None:
            streamer.end()
        return table.tokens


@dataclass(eq=False)
class Table:
    """All rows of a `generate`, those that are done too, equally long: what processes scores and
    what stops sees these, as it would without calls.
    """

    rows: list[Row]
    tokens: torch.Tensor
    processor: Any
    criteria: Any
    streamer: Any
    is_drawn: bool

    def all_tokens(self, batch: Batch, fed: torch.Tensor) -> torch.Tensor:
        """The rows of a batch."""
        if len(batch.rows) == len(self.rows):
            return self.tokens
        return self.tokens[[row.number for row in batch.rows]]

    def choose(self, batch: Batch, scores: torch.Tensor) -> None:
        """A token for each row that has none waiting; then the next column of the table."""
        scores = self.narrowed(self.spread(batch, scores.float()))
        # Narrowed before, so that what keeps the likeliest few keeps some; and after, again.
        scores = self.narrowed(self.processor(self.tokens, scores))
        if self.is_drawn:
            drawn = torch.multinomial(torch.softmax(scores, dim=-1), num_samples=1)
            choices = drawn.squeeze(1).tolist()
        else:
            choices = scores.argmax(dim=-1).tolist()
        room = max(self.room(), 1)
        for row, choice in zip(self.rows, choices, strict=True):
            if not row.done and not row.waiting:
                row.waiting.extend(row.take(choice, room))
        self.append(batch)
        self.stop(scores, at_once=batch.appends)

    def spread(self, batch: Batch, scores: torch.Tensor) -> torch.Tensor:
        """Scores of all rows; zeros where there is none any more."""
        if len(batch.rows) == len(self.rows):
            return scores
        everything = scores.new_zeros((len(self.rows), *scores.shape[1:]))
        everything[[row.number for row in batch.rows]] = scores
        return everything

    def narrowed(self, scores: torch.Tensor) -> torch.Tensor:
        """Scores as the constraints of the rows that choose now have them."""
        if not any(row.calling.constraint for row in self.rows):
            return scores
        return torch.stack(
            [
                each if row.done or row.waiting else row.narrowed(each)
                for row, each in zip(self.rows, scores, strict=True)
            ]
        )

    def append(self, batch: Batch) -> None:
        """The tokens that are fed next: one of each row, or all that wait where there is one."""
        count = len(self.rows[0].waiting) if batch.appends else 1
        column = [
            [batch.padding] * count if row.done else [row.waiting[n] for n in range(count)]
            for row in self.rows
        ]
        made = torch.tensor(column, device=self.tokens.device)
        self.tokens = torch.cat([self.tokens, made], dim=1)
        if self.streamer is not None:
            self.streamer.put(made.cpu())

    def stop(self, scores: torch.Tensor, *, at_once: bool) -> None:
        """Rows that have come to their end, but not within an answer.

        So a criterion decides where it would with one row, which is fed an answer in one pass.
        """
        complete, stopped = ending(self.criteria, self.tokens, scores)
        for number, row in enumerate(self.rows):
            within = len(row.waiting) > 1 and not at_once
            if row.done or within or not (stopped[number] or row.closed):
                continue
            row.tokens += len(row.waiting)
            row.done = True
            row.ended = complete[number] or row.closed == "asking"
            row.finish()

    def room(self) -> int:
        """How many tokens may still follow."""
        longest = getattr(self.criteria, "max_length", None)
        return longest - self.tokens.shape[1] if longest else 1 << 30


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


def ends(generation_config: GenerationConfig) -> frozenset[int]:
    """The tokens that end an answer; they are no text."""
    given = generation_config.eos_token_id
    return frozenset([given] if isinstance(given, int) else given or ())


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
