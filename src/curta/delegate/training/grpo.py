"""The second stage: an adapter learns from what its own answers are worth (GRPO, by TRL).

A question is answered several times, with calls answered as always; an answer is pushed up or down
by how much better or worse it is than the others to the same question. Only tokens that the model
chose are pushed: results behind calls are in the answers, and masked.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from transformers import LogitsProcessorList

from curta.delegate.data.example import Example
from curta.delegate.interception.events import Event
from curta.delegate.interception.generator import CalcGenerator, Output, Prompt, joined
from curta.delegate.interception.protocol import Protocol
from curta.delegate.interception.row import Row
from curta.delegate.markers import read_markers
from curta.delegate.models import with_trained_adapter
from curta.delegate.training.config import GrpoConfig
from curta.delegate.training.rewards import JUDGES, Judge
from curta.delegate.training.run_folder import Metrics, note
from curta.delegate.training.trainer import Listener, Told, arguments, batches, in_precision, run
from curta.errors import DataError, DivergedError, UserError

try:
    from datasets import Dataset
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer
except ImportError as error:
    raise UserError("--stage grpo needs TRL 1.16 or later: pip install 'curta[grpo]'") from error


def improve(
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    config: GrpoConfig,
    out: Path,
    *,
    judges: Mapping[str, Judge] = JUDGES,
    on_report: Listener = lambda report: None,
) -> Any:
    """Train on from an adapter, or go on with that; what is kept lies in `out`.

    `judges` may say other things about answers; the names are those of the weights.
    """
    markers = read_markers(Path(config.adapter))
    adapted, tokenizer = with_trained_adapter(
        in_precision(model, config.precision), tokenizer, Path(config.adapter), trainable=True
    )
    given = trainer_arguments(config, judges, out)
    asked = questions(examples, config, given.world_size)
    with given.main_process_first(local=False):
        note(config, out, model, examples, processes=given.world_size)
    show_bias(adapted)
    rewards: list[Any] = [rated(name, judge) for name, judge in judges.items()]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rollout_func.*experimental")
        trainer: Any = GRPOTrainer(
            model=adapted,
            args=given,
            processing_class=tokenizer,
            train_dataset=asked,
            reward_funcs=rewards,
            rollout_func=partial(answers, markers.protocol, config),
        )
    return run(trainer, Told(config, Metrics(out), on_report), out, markers)


def show_bias(model: Any) -> None:
    """TRL asks the output layer for its bias; a layer whose new rows are trained hides its own."""
    head = model.get_output_embeddings()
    if not hasattr(head, "bias"):
        object.__setattr__(head, "bias", getattr(head.original_module, "bias", None))


def trainer_arguments(config: GrpoConfig, judges: Mapping[str, Judge], out: Path) -> Any:
    """Our settings in TRL's words."""
    return arguments(
        GRPOConfig,
        config,
        out,
        per_device_train_batch_size=config.batch * config.group,
        num_generations=config.group,
        max_completion_length=config.max_new_tokens,
        temperature=config.temperature,
        beta=config.pull,
        loss_type="dapo",
        reward_weights=[config.weights[name] for name in judges],
        activation_checkpointing=False,
        shuffle_dataset=False,
    )


def questions(examples: Sequence[Example], config: GrpoConfig, processes: int) -> Any:
    """All questions of a run in the order in which they are asked, as a function of the seed."""
    count = config.batch * config.accumulate * processes
    if len(examples) < count:
        raise DataError(f"{len(examples)} questions are fewer than an update asks: {count}")
    order = batches([1] * len(examples), 1, config.seed)
    chosen = [examples[number] for (number,) in islice(order, count * config.steps)]
    return Dataset.from_dict(
        {
            "prompt": [[{"role": "user", "content": one.question}] for one in chosen],
            "value": [one.value for one in chosen],
            "category": [one.category for one in chosen],
        }
    )


def answers(
    protocol: Protocol, config: GrpoConfig, prompts: Sequence[Any], trainer: Any
) -> dict[str, Any]:
    """How TRL gets answers: from our own loop, with a mask of what the model chose."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    generator = CalcGenerator(model, trainer.processing_class, protocol=protocol)
    found: list[Rollout] = []
    at_once = config.batch * config.group
    for begin in range(0, len(prompts), at_once):
        found += rollouts(
            generator,
            prompts[begin : begin + at_once],
            trainer.eos_token_ids,
            do_sample=True,
            temperature=config.temperature,
            top_k=0,
            top_p=1.0,
            repetition_penalty=1.0,
            max_new_tokens=config.max_new_tokens,
            logits_processor=LogitsProcessorList([drawable]),
        )
    return {
        "prompt_ids": [one.prompt for one in found],
        "completion_ids": [one.tokens for one in found],
        "env_mask": [one.own for one in found],
        "logprobs": None,
        "output": [one.output for one in found],
    }


@dataclass(frozen=True)
class Rollout:
    """One answer.

    own: for each token 1 if the model chose it; the others were put there behind a call, or instead
         of a token that said more than a call's end
    """

    prompt: list[int]
    tokens: list[int]
    own: list[int]
    output: Output


class WatchedRow(Row):
    """A row that remembers which of its tokens were chosen."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.own: list[int] = []

    def take(self, token: int, room: int) -> list[int]:
        """As any row; a token that was replaced is not the model's choice."""
        fed = super().take(token, room)
        self.own += [int(fed[0] == token), *[0] * (len(fed) - 1)]
        return fed


def rollouts(
    generator: CalcGenerator, prompts: Sequence[Prompt], ends: Sequence[int], **options: Any
) -> list[Rollout]:
    """An answer to each prompt, by the generator's model as it is now.

    ends: tokens that end an answer; options: those of transformers' `generate`
    """
    inputs = generator.inputs(prompts)
    events: list[list[Event]] = [[] for _ in prompts]
    rows = [WatchedRow(generator.tokenizer, generator.calling, each.append) for each in events]
    was_training = generator.model.training
    generator.model.eval()
    try:
        written = generator.write(inputs, rows, options | {"eos_token_id": list(ends)})
    finally:
        generator.model.train(was_training)
    begin = inputs["input_ids"].shape[1]
    there = inputs["attention_mask"].bool()
    return [
        Rollout(
            read[:begin][mask].tolist(),
            read[begin : begin + row.tokens].tolist(),
            row.own,
            Output(tuple(joined(heard)), row.tokens, row.ended),
        )
        for read, mask, row, heard in zip(written, there, rows, events, strict=True)
    ]


def drawable(input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Scores that a token can be drawn by; an error if the model has gone astray."""
    if not (scores < math.inf).all():
        raise DivergedError("the model's scores are no numbers any more: lower learning_rate")
    return scores


def rated(name: str, judge: Judge) -> Callable[..., list[float]]:
    """A judge as TRL wants it: all answers at once."""

    def rate(
        output: Sequence[Any], value: Sequence[str | None], category: Sequence[str], **_: Any
    ) -> list[float]:
        return [judge(*each) for each in zip(output, value, category, strict=True)]

    rate.__name__ = name
    return rate
