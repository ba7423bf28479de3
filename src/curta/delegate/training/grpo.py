"""The second stage: an adapter learns from what its own answers are worth (GRPO, by TRL).

A question is answered several times, with calls answered as always; an answer is pushed up or down
by how much better or worse it is than the others to the same question. Only tokens that the model
chose are pushed: results behind calls are in the answers, and masked.

Which questions are asked when is a function of the seed, and checkpoints hold adapter, optimiser
and random numbers, so a run that was killed goes on where its last checkpoint was made.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from transformers import LogitsProcessorList, PrinterCallback, TrainerCallback

from curta.delegate.data.example import Example
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.protocol import Protocol
from curta.delegate.markers import read_markers, write_markers
from curta.delegate.models import with_trained_adapter
from curta.delegate.training.adapter import in_precision
from curta.delegate.training.card import check_card, write_card
from curta.delegate.training.config import GrpoConfig
from curta.delegate.training.order import batches
from curta.delegate.training.rewards import JUDGES, Asked, Judge
from curta.delegate.training.rollouts import Rollout, rollouts
from curta.delegate.training.run_folder import Metrics, check_loss, note
from curta.errors import DataError, DivergedError, UserError

try:
    from datasets import Dataset
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer
except ImportError as error:
    raise UserError("--stage grpo needs TRL 1.16 or later: pip install 'curta[grpo]'") from error


@dataclass(frozen=True)
class Report:
    """How an update went: the mean reward of all answers, the share of right ones."""

    step: int
    loss: float
    reward: float
    right: float
    tokens_per_second: float

    def __str__(self) -> str:
        return (
            f"reward {self.reward:.3f}  right {self.right:.1%}  loss {self.loss:.4f}  "
            f"{self.tokens_per_second:,.0f} tokens/s"
        )


Listener = Callable[[Report], None]


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
    begun_with = Path(config.adapter)
    adapted, tokenizer, protocol = with_trained_adapter(
        in_precision(model, config.precision), tokenizer, begun_with, trainable=True
    )
    arguments = trainer_arguments(config, judges, out)
    asked = questions(examples, config, arguments.world_size)
    with arguments.main_process_first(local=False):
        note(config, out / "training.json", model, examples)
        check_card(out)
    # The trainer's own checkpoints would hold all embeddings if there are new tokens.
    adapted.save_pretrained = partial(adapted.save_pretrained, save_embedding_layers=False)
    show_bias(adapted)
    rewards: list[Any] = [rated(name, judge) for name, judge in judges.items()]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*rollout_func.*experimental")
        trainer: Any = GRPOTrainer(
            model=adapted,
            args=arguments,
            processing_class=tokenizer,
            train_dataset=asked,
            reward_funcs=rewards,
            rollout_func=answering(protocol, config),
        )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(Told(config, arguments.world_size, Metrics(out), on_report))
    trainer.train(resume_from_checkpoint=last_checkpoint(out / "checkpoints"))
    finished = trainer.accelerator.unwrap_model(trainer.model).eval()
    if trainer.is_world_process_zero():
        finished.save_pretrained(out, selected_adapters=["default"])
        write_markers(read_markers(begun_with), out)
        write_card(out, str(model.name_or_path), protocol)
    trainer.accelerator.wait_for_everyone()
    return finished


def show_bias(model: Any) -> None:
    """TRL asks the output layer for its bias; a layer whose new rows are trained hides its own."""
    head = model.get_output_embeddings()
    if not hasattr(head, "bias"):
        object.__setattr__(head, "bias", getattr(head.original_module, "bias", None))


def trainer_arguments(config: GrpoConfig, judges: Mapping[str, Judge], out: Path) -> Any:
    """Our settings in TRL's words; what it would do beyond them is turned off."""
    return GRPOConfig(
        output_dir=str(out / "checkpoints"),
        max_steps=config.steps,
        per_device_train_batch_size=config.batch * config.group,
        gradient_accumulation_steps=config.accumulate,
        num_generations=config.group,
        max_completion_length=config.max_new_tokens,
        temperature=config.temperature,
        learning_rate=config.learning_rate,
        lr_scheduler_type="cosine",
        warmup_steps=config.warmup,
        max_grad_norm=config.clip,
        beta=config.pull,
        loss_type="dapo",
        reward_weights=[config.weights[name] for name in judges],
        bf16=config.precision == "bfloat16",
        use_cpu=not torch.cuda.is_available(),
        activation_checkpointing=False,
        shuffle_dataset=False,
        save_steps=config.checkpoint,
        save_total_limit=1,
        seed=config.seed,
        logging_steps=1,
        logging_nan_inf_filter=False,
        disable_tqdm=True,
        report_to="none",
    )


def questions(examples: Sequence[Example], config: GrpoConfig, processes: int) -> Any:
    """All questions of a run in the order in which they are asked, as a function of the seed."""
    count = config.batch * config.accumulate * processes
    if len(examples) < count:
        raise DataError(f"{len(examples)} questions are fewer than an update asks: {count}")
    order = batches([1] * len(examples), 1, config.seed)
    chosen = [examples[number] for (number,) in islice(order, count * config.steps)]
    return Dataset.from_list(
        [
            {
                "prompt": [{"role": "user", "content": one.question}],
                "value": one.value,
                "category": one.category,
            }
            for one in chosen
        ]
    )


def answering(protocol: Protocol, config: GrpoConfig) -> Callable[[Any, Any], dict[str, Any]]:
    """How TRL gets answers: from our own loop, with a mask of what the model chose."""

    def answer(prompts: Sequence[Any], trainer: Any) -> dict[str, Any]:
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
            "prompt_ids": [list(one.prompt) for one in found],
            "completion_ids": [list(one.tokens) for one in found],
            "env_mask": [[int(own) for own in one.own] for one in found],
            "logprobs": None,
            "output": [one.output for one in found],
        }

    return answer


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
        return [
            judge(one, Asked(wanted, kind))
            for one, wanted, kind in zip(output, value, category, strict=True)
        ]

    rate.__name__ = name
    return rate


def last_checkpoint(folder: Path) -> str | None:
    """The last one that was written to its end: the trainer's state is its last file."""
    found = [file.parent for file in folder.glob("checkpoint-*/trainer_state.json")]
    latest = max(found, key=lambda one: int(one.name.rpartition("-")[2]), default=None)
    return None if latest is None else str(latest)


class Told(TrainerCallback):
    """Notes every update, and tells whoever listens."""

    def __init__(
        self, config: GrpoConfig, processes: int, metrics: Metrics, on_report: Listener
    ) -> None:
        self.config = config
        self.answers = config.batch * config.accumulate * config.group * processes
        self.metrics = metrics
        self.on_report = on_report
        self.begun = time.perf_counter()

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Forget what came behind the checkpoint."""
        self.begun = time.perf_counter()
        if state.is_world_process_zero:
            self.metrics.keep(state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """One update; the summary at the end of a run is none."""
        logs: dict[str, Any] = given["logs"]
        if "loss" not in logs:
            return
        check_loss(logs["loss"], state.global_step, self.config)
        now = time.perf_counter()
        written = logs["completions/mean_length"] * self.answers
        rate = written / (now - self.begun)
        self.begun = now
        report = Report(
            state.global_step,
            logs["loss"],
            logs["reward"],
            logs.get("rewards/right/mean", 0.0),
            rate,
        )
        if state.is_world_process_zero:
            self.metrics.append(report)
            self.on_report(report)
