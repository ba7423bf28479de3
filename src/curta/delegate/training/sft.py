"""Supervised fine-tuning of an adapter.

What happens at a step is a function of the configuration and the step, so a run that was killed
goes on from its last checkpoint as if nothing had been: the adapter, the optimiser's state and the
random numbers of dropout are kept, and the order of examples is computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from curta.delegate.data.example import Example
from curta.delegate.markers import Markers, as_tokens, make_room, write_markers
from curta.delegate.training.adapter import with_adapter
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.encoding import IGNORED, Encoded, Encoder, batch
from curta.delegate.training.kept import Kept, Report
from curta.delegate.training.order import batches
from curta.errors import DataError, DivergedError

Listener = Callable[[Report], None]
Counting = Callable[[int, int], None]
"""Hears how much of something is done."""


def train(
    model: Any,
    tokenizer: Any,
    examples: Sequence[Example],
    config: TrainingConfig,
    out: Path,
    *,
    on_report: Listener = lambda report: None,
    on_encoded: Counting = lambda done, total: None,
) -> Any:
    """Train an adapter, or go on training it; what is kept lies in `out`.

    Several processes (`accelerate launch`) train one adapter together; an update of theirs is that
    of one process with as many passes.
    """
    accelerator = Accelerator(
        mixed_precision="bf16" if config.precision == "bfloat16" else "no",
        gradient_accumulation_steps=config.accumulate,
    )
    kept = Kept(out, accelerator)
    kept.begin(config, model, examples)
    tokenizer, markers = with_markers(model, tokenizer, config)
    encoded = encode(examples, tokenizer, config, on_encoded)
    set_seed(config.seed)
    adapted = with_adapter(model, config, markers)
    if accelerator.process_index:  # dropout of its own, adapters as all have them
        set_seed(config.seed, device_specific=True)
    trained = [one for one in adapted.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=config.learning_rate, weight_decay=0.0)
    step = kept.load(adapted, optimiser)
    adapted, optimiser = accelerator.prepare(adapted, optimiser)
    adapted.train()
    padding = tokenizer.pad_token_id or 0
    for rows in islice(passes(encoded, config, accelerator, step), config.steps - step):
        begun = time.perf_counter()
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * config.rate(step)
        loss = update(adapted, optimiser, accelerator, rows, padding, config)
        step += 1
        check(loss, step, config)
        count = summed(accelerator, sum(len(one) for part in rows for one in part))
        report = Report(step, loss, count / (time.perf_counter() - begun))
        if accelerator.is_main_process:
            kept.log(report)
            on_report(report)
        if step % config.checkpoint == 0 or step == config.steps:
            kept.save(accelerator.unwrap_model(adapted), optimiser, step)
    finished = accelerator.unwrap_model(adapted).eval()
    if accelerator.is_main_process:
        finished.save_pretrained(out, save_embedding_layers=False)
        write_markers(markers, out)
    accelerator.wait_for_everyone()
    return finished


def with_markers(model: Any, tokenizer: Any, config: TrainingConfig) -> tuple[Any, Markers]:
    """The tokenizer that is trained with, and what calls are written with; the model has room."""
    if not config.special_tokens:
        return tokenizer, Markers(config.protocol)
    tokenizer, markers = as_tokens(tokenizer, config.protocol)
    make_room(model, markers)
    return tokenizer, markers


def check(loss: float, step: int, config: TrainingConfig) -> None:
    """Raise an error if the loss is no number."""
    if not loss < float("inf"):
        raise DivergedError(
            f"the loss is {loss} at step {step}: lower learning_rate (it is {config.learning_rate})"
        )


def encode(
    examples: Sequence[Example],
    tokenizer: Any,
    config: TrainingConfig,
    on_encoded: Counting = lambda done, total: None,
) -> list[Encoded]:
    """All examples that are short enough."""
    encoder = Encoder(
        tokenizer, calls=config.calls, longest=config.longest, protocol=config.protocol
    )
    found = []
    for done, example in enumerate(examples, start=1):
        one = encoder(example)
        if one is not None:
            found.append(one)
        on_encoded(done, len(examples))
    if len(found) < config.batch:
        raise DataError(
            f"{len(found)} of {len(examples)} examples have at most {config.longest} tokens, fewer "
            f"than a batch of {config.batch}"
        )
    return found


def passes(
    encoded: Sequence[Encoded], config: TrainingConfig, accelerator: Accelerator, done: int
) -> Iterator[list[list[Encoded]]]:
    """The batches of each update of this process, from a step on."""
    order = batches([len(one) for one in encoded], config.batch, config.seed)
    processes = accelerator.num_processes
    each = config.accumulate * processes
    for _ in range(done * each):
        next(order)
    while True:
        mine = list(islice(order, each))[accelerator.process_index :: processes]
        yield [[encoded[number] for number in numbers] for numbers in mine]


def update(
    model: Any,
    optimiser: Any,
    accelerator: Accelerator,
    rows: Sequence[Sequence[Encoded]],
    padding: int,
    config: TrainingConfig,
) -> float:
    """One step of the optimiser; the mean loss over all tokens that are learned in it.

    The loss of a pass is the mean over its own ones, so passes are weighed by how many they have;
    accelerate divides by the number of passes, and the gradients are the mean over processes.
    """
    counts = [sum(label != IGNORED for one in part for label in one.labels) for part in rows]
    learned = summed(accelerator, sum(counts))
    total = 0.0
    for part, count in zip(rows, counts, strict=True):
        share = count / learned
        given = {name: each.to(accelerator.device) for name, each in batch(part, padding).items()}
        with accelerator.accumulate(model):
            loss = model(**given, use_cache=False).loss
            accelerator.backward(loss * share * len(rows) * accelerator.num_processes)
            if accelerator.sync_gradients and config.clip:
                accelerator.clip_grad_norm_(model.parameters(), config.clip)
            optimiser.step()
            optimiser.zero_grad()
        total += share * float(loss.detach())
    return summed(accelerator, total)


def summed(accelerator: Any, number: float) -> float:
    """The sum over all processes."""
    if accelerator.num_processes == 1:
        return number
    own = torch.tensor(number, dtype=torch.float64, device=accelerator.device)
    return float(accelerator.reduce(own, "sum"))
