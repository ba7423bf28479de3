"""Supervised fine-tuning of an adapter.

What happens at a step is a function of the configuration and the step: the order of examples is
computed. Adapters with and without calls learn from the same ones in the same order.

A loss is computed without what it does not need. Scores of all tokens of a vocabulary are a fifth
of the work on a small model, and are computed only where a token is learned. What all conversations
of a batch begin with (a chat template's system text) goes through the model once, and the rest of
each of them reads it from the cache. Loss and gradients are those of the plain way
(`model(**batch(part)).loss`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.nn.functional import cross_entropy
from transformers import Trainer, TrainingArguments
from transformers.cache_utils import DynamicCache
from transformers.pytorch_utils import Conv1D

from curta.delegate.data.example import Example
from curta.delegate.interception.caches import can_be_shared
from curta.delegate.markers import Markers, as_tokens, make_room, trained_rows
from curta.delegate.models import without_renaming
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.encoding import IGNORED, Encoded, Encoder, batch
from curta.delegate.training.run_folder import Metrics, note
from curta.delegate.training.trainer import Listener, Told, arguments, batches, in_precision, run
from curta.errors import DataError

Counting = Callable[[int, int], None]
"""Hears how much of something is done, or left out."""

Rows = Mapping[str, torch.Tensor]
"""A batch: tokens, labels, and where there are tokens."""

CHEAP = 4
"""Checkpoints measure the validation loss if so many times more examples were trained since the
last: an example that is only read takes a third of its training, so a twelfth of the time at most.
"""

CHUNK = 2_000
"""Examples that a process encodes at a time."""

BLOCK = re.compile(r"\.(?:layers|h|blocks)\.(?P<number>\d+)\.")
OTHER_MIXERS = re.compile(r"linear_attn|mamba|mixer|conv|delta")


class Learner(Trainer):
    """An update's loss is the mean over all tokens that are learned in it, however they are parted:
    passes are weighed by how many they have.
    """

    loss_is_scaled_for_ga = True

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.model_accepts_loss_kwargs = True  # whatever it is, so that an update's are counted

    def compute_loss(
        self, model: Any, inputs: Any, return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Of one pass; gradients are the mean over processes."""
        loss = total_loss(model, self.accelerator, inputs)
        return loss * self.accelerator.num_processes / num_items_in_batch


def train(
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    config: TrainingConfig,
    out: Path,
    *,
    validation: Sequence[Example] = (),
    on_report: Listener = lambda report: None,
    on_encoded: Counting = lambda done, total: None,
    on_left_out: Counting = lambda count, total: None,
) -> Any:
    """Train an adapter, or go on training it; what is kept lies in `out`.

    Several processes (`accelerate launch`) train one adapter together; an update of theirs is that
    of one process with as many passes. `validation`: examples whose loss is measured, and which
    are not learned.
    """
    given = arguments(
        TrainingArguments, config, out, per_device_train_batch_size=config.batch,
        train_sampling_strategy="sequential", optim="adamw_torch", label_names=["labels"],
        remove_unused_columns=False, include_num_input_tokens_seen="non_padding",
    )  # fmt: skip
    with given.main_process_first(local=False):
        note(config, out, model, examples, processes=given.world_size)
    tokenizer, markers = with_markers(in_precision(model, config.precision), tokenizer, config)
    encoder = Encoder(tokenizer, config)
    learned, held_back = encode(examples, encoder, on_encoded), encode(validation, encoder)
    if len(learned) < config.batch:
        raise DataError(
            f"{len(learned)} of {len(examples)} examples have at most {config.longest} tokens, "
            f"fewer than a batch of {config.batch}"
        )
    on_left_out(len(examples) - len(learned), len(examples))
    learner = learner_of(model, markers, config, given, in_order(learned, config, given.world_size))
    cheap = CHEAP * len(held_back) <= config.checkpoint * config.batch * config.accumulate

    def measure(step: int) -> float | None:
        if held_back and (step == config.steps or (cheap and step % config.checkpoint == 0)):
            return loss_of(learner.model, learner.accelerator, held_back, config.batch)
        return None

    return run(learner, Told(config, Metrics(out), on_report, measure), out, markers)


def learner_of(
    model: Any,
    markers: Markers,
    config: TrainingConfig,
    given: TrainingArguments,
    ordered: Sequence[Encoded],
) -> Learner:
    """The model with a new adapter, which learns what stands in order."""
    set_seed(config.seed)
    adapted = with_adapter(model, config, markers)
    if given.device.type == "cuda":
        # What is there many times: a small model's updates are mostly starting kernels.
        for layer in getattr(adapted.get_base_model().get_decoder(), "layers", ()):
            layer.compile(dynamic=True)
    learner = Learner(model=adapted, args=given, train_dataset=ordered, data_collator=batch)
    if given.process_index:  # dropout of its own, adapters as all have them
        set_seed(config.seed, device_specific=True)
    return learner


def with_adapter(model: Any, config: TrainingConfig, markers: Markers | None = None) -> Any:
    """The model with an adapter that is trained, and everything else held fixed.

    Of the embeddings only rows of new tokens are trained, and kept with the adapter.
    """
    from peft import LoraConfig, get_peft_model

    lora = LoraConfig(
        r=config.rank,
        lora_alpha=config.alpha,
        lora_dropout=config.dropout,
        target_modules=targets(model, config),
        task_type="CAUSAL_LM",
        fan_in_fan_out=any(isinstance(one, Conv1D) for one in model.modules()),
        trainable_token_indices=trained_rows(model, markers or Markers()),
    )
    with without_renaming():
        return get_peft_model(model, lora)


def targets(model: nn.Module, config: TrainingConfig) -> list[str]:
    """The names of the layers that get one: linear ones of the last blocks."""
    blocks = {
        name: int(match["number"])
        for name, module in model.named_modules()
        if isinstance(module, nn.Linear | Conv1D)
        if (match := BLOCK.search(f".{name}."))
    }
    first = max(blocks.values(), default=0) + 1 - config.last_blocks if config.last_blocks else 0
    found = [name for name, number in blocks.items() if number >= first]
    if config.mode == "mlp":
        found = [name for name in found if not OTHER_MIXERS.search(name)]
    if not found:
        raise DataError(
            f"mode = {config.mode}, last_blocks = {config.last_blocks}: the model has no linear "
            "layers there"
        )
    return found


def with_markers(model: Any, tokenizer: Any, config: TrainingConfig) -> tuple[Any, Markers]:
    """The tokenizer that is trained with, and what calls are written with; the model has room."""
    if not config.special_tokens:
        return tokenizer, Markers(config.protocol)
    tokenizer, markers = as_tokens(tokenizer, config.protocol)
    make_room(model, markers)
    return tokenizer, markers


def encode(
    examples: Sequence[Example], encoder: Encoder, on_encoded: Counting = lambda done, total: None
) -> list[Encoded]:
    """All examples that are short enough; by several processes, if there are many."""
    found = []
    with ExitStack() as stack:
        mapped: Any = map
        if len(examples) >= 2 * CHUNK:
            pool = stack.enter_context(ProcessPoolExecutor(mp_context=get_context("spawn")))
            mapped = partial(pool.map, chunksize=CHUNK)
        for done, one in enumerate(mapped(encoder, examples), start=1):
            if one is not None:
                found.append(one)
            on_encoded(done, len(examples))
    return found


def in_order(
    encoded: Sequence[Encoded], config: TrainingConfig, processes: int = 1
) -> list[Encoded]:
    """What is learned in all updates, pass by pass, which processes take in turn."""
    order = batches([one.ordered_by for one in encoded], config.batch, config.seed)
    passes = islice(order, config.steps * config.accumulate * processes)
    return [encoded[number] for numbers in passes for number in numbers]


@torch.no_grad()
def loss_of(model: Any, accelerator: Any, held_back: Sequence[Encoded], size: int) -> float:
    """The mean loss over all tokens that are held back; weights and random numbers stay.

    Examples of like length go together, and each process takes its share of the batches.
    """
    ordered = sorted(held_back, key=len)
    parts = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    sums = torch.zeros(2, device=accelerator.device)
    model.eval()
    for part in parts[accelerator.process_index :: accelerator.num_processes]:
        rows = batch(part)
        sums[0] += total_loss(model, accelerator, rows)
        sums[1] += (rows["labels"] != IGNORED).sum()
    model.train()
    loss, count = accelerator.reduce(sums, "sum").tolist()
    return float(loss / count)


# -- the loss of a batch ---------------------------------------------


def total_loss(model: Any, accelerator: Accelerator, rows: Rows) -> torch.Tensor:
    """The sum over all tokens that are learned."""
    rows = {name: each.to(accelerator.device) for name, each in rows.items()}
    count = len(rows["labels"])
    shared = shared_tokens(rows) if count > 1 and can_share(model, accelerator) else 0
    cache = read_once(model, rows["input_ids"][:1, :shared], count) if shared else None
    targets = rows["labels"][:, shared + 1 :]
    learned = targets != IGNORED
    with scores_where(accelerator.unwrap_model(model), learned):
        scores = model(
            input_ids=rows["input_ids"][:, shared:],
            attention_mask=rows["attention_mask"],
            cache=cache,
            use_cache=cache is not None,
        ).logits[0]
    return cross_entropy(scores.float(), targets[learned], reduction="sum")


def shared_tokens(rows: Rows) -> int:
    """With how many tokens all begin, before the one that the first learned token follows."""
    tokens, there = rows["input_ids"], rows["attention_mask"] > 0
    alike = (tokens == tokens[:1]).all(0) & there.all(0)
    ignored = (rows["labels"] == IGNORED).all(0)
    leading, unlearned = (int(each.int().cumprod(0).sum()) for each in (alike, ignored))
    return max(0, min(leading, unlearned - 1))


def can_share(model: Any, accelerator: Accelerator) -> bool:
    """Whether a cache can hold the beginning: one process, attention to all that was before.

    On a GPU two passes take longer than one with more tokens.
    """
    config = accelerator.unwrap_model(model).config
    plain = can_be_shared(DynamicCache(config=config.get_text_config(decoder=True)), config)
    return plain and accelerator.num_processes == 1 and accelerator.device.type != "cuda"


def read_once(model: Any, tokens: torch.Tensor, count: int) -> Any:
    """A cache in which so many rows have read the same tokens; gradients go through it."""
    cache: Any = DynamicCache()
    model(input_ids=tokens, cache=cache, use_cache=True, logits_to_keep=1)
    cache.batch_repeat_interleave(count)
    return cache


@contextmanager
def scores_where(model: Any, learned: torch.Tensor) -> Iterator[None]:
    """Scores are those of the tokens before learned ones, one behind the other in a single row."""

    def chosen(module: Any, given: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        return (given[0][:, :-1][learned][None],)

    hook = model.get_output_embeddings().register_forward_pre_hook(chosen)
    try:
        yield
    finally:
        hook.remove()
