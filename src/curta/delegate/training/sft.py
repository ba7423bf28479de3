"""Supervised fine-tuning of an adapter.

What happens at a step is a function of the configuration and the step, so a run that was killed
goes on from its last checkpoint as if nothing had been: the adapter, the optimiser's state and the
random numbers of dropout are kept, and the order of examples is computed. Adapters with and without
calls learn from the same examples in the same order.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed

from curta.delegate.data.example import Example
from curta.delegate.markers import Markers, as_tokens, make_room, write_markers
from curta.delegate.training.adapter import in_precision, with_adapter
from curta.delegate.training.card import check_card, write_card
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.encoding import IGNORED, Encoded, Encoder
from curta.delegate.training.loss import mean_loss
from curta.delegate.training.order import batches
from curta.delegate.training.run_folder import Report, RunFolder, check_loss
from curta.errors import DataError

Listener = Callable[[Report], None]
Counting = Callable[[int, int], None]
"""Hears how much of something is done, or left out."""

CHEAP = 4
"""Checkpoints measure the validation loss if so many times more examples were trained since the
last: an example that is only read takes a third of its training, so a twelfth of the time at most.
"""

CHUNK = 2_000
"""Examples that a process encodes at a time."""


@dataclass(frozen=True)
class Lessons:
    """What is learned, and what is held back to be measured; the token that fills batches up."""

    learned: Sequence[Encoded]
    held_back: Sequence[Encoded]
    padding: int


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
    accelerator = Accelerator(
        mixed_precision="bf16" if config.precision == "bfloat16" else "no",
        gradient_accumulation_steps=config.accumulate,
    )
    run = RunFolder(out, accelerator)
    run.begin(config, model, examples)
    check_card(out)
    tokenizer, markers = with_markers(in_precision(model, config.precision), tokenizer, config)
    lessons = Lessons(
        enough(encode(examples, tokenizer, config, on_encoded), len(examples), config),
        encode(validation, tokenizer, config),
        tokenizer.pad_token_id or 0,
    )
    on_left_out(len(examples) - len(lessons.learned), len(examples))
    set_seed(config.seed)
    adapted = with_adapter(model, config, markers)
    if accelerator.process_index:  # dropout of its own, adapters as all have them
        set_seed(config.seed, device_specific=True)
    trained = [one for one in adapted.parameters() if one.requires_grad]
    optimiser = torch.optim.AdamW(trained, lr=config.learning_rate, weight_decay=0.0)
    step = run.load(adapted, optimiser)
    adapted, optimiser = accelerator.prepare(adapted, optimiser)
    if accelerator.device.type == "cuda":
        compile_blocks(accelerator.unwrap_model(adapted))
    learn(adapted, optimiser, lessons, config, run, step, on_report)
    return finished(accelerator, adapted, markers, out)


def compile_blocks(adapted: Any) -> None:
    """Compile what is there many times; a small model's updates are mostly starting kernels."""
    layers = getattr(adapted.get_base_model().get_decoder(), "layers", ())
    for layer in layers:
        layer.compile(dynamic=True)


def learn(
    adapted: Any,
    optimiser: Any,
    lessons: Lessons,
    config: TrainingConfig,
    run: RunFolder,
    step: int,
    on_report: Listener,
) -> None:
    """All updates from a step on, with checkpoints."""
    accelerator = run.accelerator
    adapted.train()
    for rows in islice(passes(lessons.learned, config, accelerator, step), config.steps - step):
        begun = time.perf_counter()
        for group in optimiser.param_groups:
            group["lr"] = config.learning_rate * config.rate(step)
        loss = update(adapted, optimiser, accelerator, rows, lessons.padding, config)
        step += 1
        check_loss(loss, step, config)
        count = summed(accelerator, sum(len(one) for part in rows for one in part))
        speed = count / (time.perf_counter() - begun)
        measured = None
        if is_measured(step, len(lessons.held_back), config):
            measured = loss_of(adapted, accelerator, lessons, config.batch)
        if accelerator.is_main_process:
            report = Report(step, loss, speed, measured)
            run.metrics.append(report)
            on_report(report)
        if is_kept(step, config):
            run.save(accelerator.unwrap_model(adapted), optimiser, step)


def finished(accelerator: Accelerator, adapted: Any, markers: Markers, out: Path) -> Any:
    """The trained adapter, kept beside the run."""
    unwrapped = accelerator.unwrap_model(adapted).eval()
    if accelerator.is_main_process:
        unwrapped.save_pretrained(out, save_embedding_layers=False)
        write_markers(markers, out)
        write_card(out, str(unwrapped.get_base_model().name_or_path), markers.protocol)
    accelerator.wait_for_everyone()
    return unwrapped


def is_kept(step: int, config: TrainingConfig) -> bool:
    """Whether there is a checkpoint at a step."""
    return step % config.checkpoint == 0 or step == config.steps


def is_measured(step: int, count: int, config: TrainingConfig) -> bool:
    """Whether the loss on so many validation examples is measured at a step."""
    trained = config.checkpoint * config.batch * config.accumulate
    cheap = CHEAP * count <= trained
    return count > 0 and is_kept(step, config) and (cheap or step == config.steps)


def with_markers(model: Any, tokenizer: Any, config: TrainingConfig) -> tuple[Any, Markers]:
    """The tokenizer that is trained with, and what calls are written with; the model has room."""
    if not config.special_tokens:
        return tokenizer, Markers(config.protocol)
    tokenizer, markers = as_tokens(tokenizer, config.protocol)
    make_room(model, markers)
    return tokenizer, markers


def encode(
    examples: Sequence[Example],
    tokenizer: Any,
    config: TrainingConfig,
    on_encoded: Counting = lambda done, total: None,
) -> list[Encoded]:
    """All examples that are short enough with calls and without, whichever is learned."""
    found = []
    for done, one in enumerate(over_cores(examples, tokenizer, config), start=1):
        if one is not None:
            found.append(one)
        on_encoded(done, len(examples))
    return found


def over_cores(
    examples: Sequence[Example], tokenizer: Any, config: TrainingConfig
) -> Iterator[Encoded | None]:
    """Each example as `short_enough` has it, by several processes if there are many."""
    if len(examples) < 2 * CHUNK:
        yield from short_enough(tokenizer, config, examples)
        return
    parts = [examples[at : at + CHUNK] for at in range(0, len(examples), CHUNK)]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        yield from chain.from_iterable(pool.map(partial(listed, tokenizer, config), parts))


def listed(*given: Any) -> list[Encoded | None]:
    """What a process sends back."""
    return list(short_enough(*given))


def short_enough(
    tokenizer: Any, config: TrainingConfig, examples: Sequence[Example]
) -> Iterator[Encoded | None]:
    """Each example in the form that is learned; nothing for one that is too long in either."""
    learned, other = (
        Encoder(tokenizer, calls=calls, longest=config.longest, protocol=config.protocol)
        for calls in (config.calls, not config.calls)
    )
    for example in examples:
        one, written_otherwise = learned(example), other(example)
        if one is None or written_otherwise is None:
            yield None
        else:
            longer = max(len(one), len(written_otherwise))
            yield dataclasses.replace(one, ordered_by=longer)


def enough(encoded: list[Encoded], count: int, config: TrainingConfig) -> list[Encoded]:
    """The same, of so many examples, if there is a batch of them."""
    if len(encoded) < config.batch:
        raise DataError(
            f"{len(encoded)} of {count} examples have at most {config.longest} tokens, fewer "
            f"than a batch of {config.batch}"
        )
    return encoded


def passes(
    encoded: Sequence[Encoded], config: TrainingConfig, accelerator: Accelerator, done: int
) -> Iterator[list[list[Encoded]]]:
    """The batches of each update of this process, from a step on."""
    order = batches([one.ordered_by for one in encoded], config.batch, config.seed)
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
        with accelerator.accumulate(model):
            loss = mean_loss(model, accelerator, part, padding)
            accelerator.backward(loss * share * len(rows) * accelerator.num_processes)
            if accelerator.sync_gradients and config.clip:
                accelerator.clip_grad_norm_(model.parameters(), config.clip)
            optimiser.step()
            optimiser.zero_grad()
        total += share * float(loss.detach())
    return summed(accelerator, total)


@torch.no_grad()
def loss_of(model: Any, accelerator: Accelerator, lessons: Lessons, size: int) -> float:
    """The mean loss over all tokens that are held back; weights and random numbers stay.

    Examples of like length go together, and each process takes its share of the batches.
    """
    ordered = sorted(lessons.held_back, key=len)
    parts = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    unwrapped = accelerator.unwrap_model(model).eval()
    loss = count = 0.0
    for part in parts[accelerator.process_index :: accelerator.num_processes]:
        learned = sum(label != IGNORED for one in part for label in one.labels)
        loss += learned * float(mean_loss(unwrapped, accelerator, part, lessons.padding))
        count += learned
    model.train()
    return summed(accelerator, loss) / summed(accelerator, count)


def summed(accelerator: Any, number: float) -> float:
    """The sum over all processes."""
    if accelerator.num_processes == 1:
        return number
    own = torch.tensor(number, dtype=torch.float64, device=accelerator.device)
    return float(accelerator.reduce(own, "sum"))
