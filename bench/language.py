"""Heads of width 2 as a language model. Run: python bench/language.py [--steps N] [--out FOLDER]

Characters of a text that comes with Python (the reference that `help` shows), its last tenth kept
from training. Three models with the same number of weights, which differ in the width of their
heads only: 2, 16 and 64. What is measured: the loss while they train; what the model of narrow
heads loses when it attends to the k best keys only; the seconds of one more token, by hull caches
and by softmax over a plain KV cache; and what it is worth as a draft for the model of the widest
heads: how many of its characters in a row are what the other would have said.

Trained models are kept in the folder and not trained again. All on one core.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn
from torch.nn import functional

from curta.engine.hull import CausalAttention, attach
from report import print_machine, print_table, spread

WIDTHS = (2, 16, 64)
"""Of heads."""
WIDTH, LAYERS, CONTEXT, BATCH = 128, 3, 256, 16
LEARNING_RATE, WARM, DECAY = 2e-3, 50, 0.1
SLOWEST = 10_000.0
"""Tokens in which the slowest pair of a rotation turns by one radian."""
MEASURED = 10
"""So many losses are shown of a training."""
BEST = (1, 4, 16, 64)
KEPT = 64
"""Of the caches whose seconds are measured."""
DRAFTS = (1, 2, 4, 8)
"""So many characters are proposed at once."""
LONGEST = 1024
"""Tokens at once when models are evaluated."""


# -- the text -------------------------------------------------------------------------------------


def text() -> str:
    from pydoc_data.topics import topics

    return "\n\n".join(topics[name] for name in sorted(topics))


@dataclass(frozen=True)
class Text:
    """Characters as numbers: what is learnt from, and what is kept back."""

    learnt: Tensor
    kept: Tensor
    characters: int


def split(words: str) -> Text:
    numbers = {character: n for n, character in enumerate(sorted(set(words)))}
    ids = torch.tensor([numbers[character] for character in words])
    bound = len(ids) * 9 // 10
    return Text(ids[:bound], ids[bound:], len(numbers))


# -- the model ------------------------------------------------------------------------------------


class Attention(nn.Module):
    """Rotary positions; pairs of all heads together have the frequencies of a head of the model's
    width, and so a head of width 2 has one of them.
    """

    speeds: Tensor

    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.head_width = head_width
        self.heads = WIDTH // head_width
        self.inward = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.outward = nn.Linear(WIDTH, WIDTH, bias=False)
        self.attention = CausalAttention()
        pairs = torch.arange(WIDTH // 2).view(head_width // 2, self.heads).T  # spread over heads
        self.register_buffer("speeds", SLOWEST ** (-pairs / (WIDTH // 2)), persistent=False)

    def forward(self, x: Tensor, first: int) -> Tensor:
        batch, tokens, _ = x.shape
        split = self.inward(x).view(batch, tokens, 3, self.heads, self.head_width)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        seen = self.attention(self.turned(query, first), self.turned(key, first), value)
        return self.outward(seen.transpose(1, 2).reshape(batch, tokens, WIDTH))

    def turned(self, x: Tensor, first: int) -> Tensor:
        places = torch.arange(first, first + x.shape[-2], dtype=torch.float32)
        angles = places[:, None] * self.speeds[:, None]  # heads, tokens, pairs
        cos, sin = angles.cos(), angles.sin()
        a, b = x[..., 0::2], x[..., 1::2]
        return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, head_width: int) -> None:
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention(head_width)
        self.inner = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor, first: int) -> Tensor:
        x = x + self.attention(self.before(x), first)
        return x + self.inner(self.between(x))


class LanguageModel(nn.Module):
    """Characters in, logits of the next ones out. `first` is the position of the first of them."""

    def __init__(self, characters: int, head_width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, WIDTH)
        self.blocks = nn.ModuleList(Block(head_width) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        nn.init.normal_(self.embedding.weight, std=0.02)

    def forward(self, ids: Tensor, first: int = 0) -> Tensor:
        x = self.embedding(ids)
        for block in self.blocks:
            x = block(x, first)
        return functional.linear(self.norm(x), self.embedding.weight)


def bits(model: LanguageModel, ids: Tensor) -> Tensor:
    """Of each character of rows, given those before it in its row: the mean."""
    logits = model(ids[:, :-1])
    loss = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
    return loss / math.log(2)


# -- training -------------------------------------------------------------------------------------


def trained(known: Text, head_width: int, seed: int, steps: int, folder: Path) -> LanguageModel:
    """A model, from its file or trained; its losses stand in the file."""
    torch.manual_seed(seed)
    model = LanguageModel(known.characters, head_width)
    path = folder / f"width-{head_width}-seed-{seed}-steps-{steps}.pt"
    if not path.exists():
        losses = list(training(model, known, steps))
        torch.save({"model": model.state_dict(), "losses": losses}, path)
    model.load_state_dict(torch.load(path)["model"])
    return model.eval()


def training(model: LanguageModel, known: Text, steps: int) -> Iterator[tuple[int, float]]:
    """After some of the steps, the bits of a character that was kept back."""
    optimiser = torch.optim.AdamW(
        model.parameters(), LEARNING_RATE, betas=(0.9, 0.95), weight_decay=DECAY
    )
    for step in range(steps):
        rate = min(1, (step + 1) / WARM) * (1 + math.cos(math.pi * step / steps)) / 2
        optimiser.param_groups[0]["lr"] = LEARNING_RATE * rate
        starts = torch.randint(len(known.learnt) - CONTEXT, (BATCH, 1))
        loss = bits(model, known.learnt[starts + torch.arange(CONTEXT + 1)])
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if (step + 1) % (steps // MEASURED) == 0:
            yield step + 1, evaluated(model, known.kept, CONTEXT)


@torch.no_grad()
def evaluated(model: LanguageModel, kept: Tensor, context: int, most: int = 1 << 15) -> float:
    """Bits of a character in rows of so many, of what was kept back."""
    count = min(len(kept) - 1, most) // context
    rows = kept[: count * context].view(count, context)
    parts = rows.split(max(1, BATCH * CONTEXT // context))
    return sum(float(bits(model, part)) * len(part) for part in parts) / count


# -- measuring ------------------------------------------------------------------------------------


@torch.inference_mode()
def best_only(model: LanguageModel, kept: Tensor, context: int, most: int) -> Iterator[str]:
    """Bits of a character by softmax over all keys, and over the k best."""
    yield f"{evaluated(model, kept, context, most):.3f}"
    for k in BEST:
        with attach(model, mode="topk", k=k):
            yield f"{evaluated(model, kept, context, most):.3f}"


class PlainCache:
    """Softmax over all keys of a head, kept in one tensor; one more token at a time. How long that
    takes is no matter of what the keys are: those before it are drawn.
    """

    def __init__(self, model: LanguageModel, room: int) -> None:
        self.kept: dict[Attention, list[Tensor]] = {}
        self.used = 0
        for attention in (each for each in model.modules() if isinstance(each, Attention)):
            shape = (1, attention.heads, room, attention.head_width)
            self.kept[attention] = [torch.randn(shape), torch.randn(shape)]
            attention.attention.forward = self.answering(attention)  # type: ignore[method-assign]

    def detach(self) -> None:
        for attention in self.kept:
            del attention.attention.forward

    def answering(self, attention: Attention) -> Callable[..., Tensor]:
        def answer(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
            keys, values = self.kept[attention]
            first, end = self.used, self.used + query.shape[-2]
            keys[..., first:end, :], values[..., first:end, :] = key, value
            mask = torch.ones(end - first, end, dtype=torch.bool).tril(first)
            return functional.scaled_dot_product_attention(
                query,
                keys[..., :end, :],
                values[..., :end, :],
                attn_mask=mask if end - first > 1 else None,
            )

        return answer


@torch.inference_mode()
def seconds(
    known: Text,
    model: LanguageModel,
    lengths: list[int],
    said: int,
    by_hull: bool,
    at_once: int = 1,
) -> Iterator[list[float]]:
    """Of so many tokens more, read at once, behind each length, in milliseconds."""
    room = lengths[-1] + said * at_once * len(lengths)
    ids = known.learnt.repeat(1 + room // len(known.learnt))[None, :room]
    plain = None if by_hull else PlainCache(model, room)
    hulls = attach(model, mode="topk", k=KEPT) if by_hull else None
    at = 0

    def read(count: int) -> None:
        nonlocal at
        model(ids[:, at : at + count], at)
        at += count
        if plain is not None:
            plain.used = at

    def measure() -> Iterator[list[float]]:
        nonlocal at
        for length in lengths:
            while hulls is not None and at < length:
                read(min(256, length - at))
            if plain is not None:
                at = plain.used = length
            times = []
            for _ in range(said):
                begun = time.perf_counter()
                read(at_once)
                times.append(1000 * (time.perf_counter() - begun))
            yield times

    if hulls is not None:
        with hulls, hulls.stream():
            yield from measure()
    if plain is not None:
        yield from measure()
        plain.detach()


@torch.inference_mode()
def characters_a_pass(
    target: LanguageModel, draft: LanguageModel, known: Text, proposed: int, texts: int
) -> float:
    """How many characters a pass of the target gives that reads a draft: those that it would have
    said, too, and one of its own. Behind contexts of what was kept back.
    """
    said = passes = 0
    for start in range(0, texts * CONTEXT, CONTEXT):
        ids = known.kept[None, start : start + CONTEXT // 2]
        while ids.shape[1] < CONTEXT - proposed:
            drafted = ids
            for _ in range(proposed):
                following = draft(drafted)[:, -1:].argmax(-1)
                drafted = torch.cat([drafted, following], 1)
            wanted = target(drafted)[0, ids.shape[1] - 1 :].argmax(-1)
            same = (drafted[0, ids.shape[1] :] == wanted[:-1]).cumprod(0)
            count = int(same.sum()) + 1
            ids = torch.cat([ids, wanted[None, :count]], 1)
            said, passes = said + count, passes + 1
    return said / passes


# -- tables ---------------------------------------------------------------------------------------


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a few steps, for a first look")
    options.add_argument("--steps", type=int, default=2000)
    options.add_argument("--seeds", type=int, default=2)
    options.add_argument("--out", type=Path, default=Path("runs/language"))
    chosen = options.parse_args()
    steps, seeds = (20, 1) if chosen.quick else (chosen.steps, chosen.seeds)
    chosen.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    print_machine(["torch"])
    known = split(text())
    models = {
        (width, seed): trained(known, width, seed, steps, chosen.out)
        for seed in range(seeds)
        for width in WIDTHS
    }
    weights = sum(p.numel() for p in models[2, 0].parameters())
    print(
        f"{known.characters} characters; {len(known.learnt):,} to learn from; {weights:,} weights"
    )
    show_losses(chosen.out, steps, seeds)
    show_best_only(known, models[2, 0], 1 << 12 if chosen.quick else 1 << 15)
    lengths = [1000] if chosen.quick else [1000, 10_000, 100_000]
    show_seconds(known, models, lengths)
    show_drafts(known, models[WIDTHS[-1], 0], models[2, 0], lengths, 2 if chosen.quick else 30)


def show_losses(folder: Path, steps: int, seeds: int) -> None:
    rows = []
    for width in WIDTHS:
        runs = [
            torch.load(folder / f"width-{width}-seed-{seed}-steps-{steps}.pt")["losses"]
            for seed in range(seeds)
        ]
        rows.append([str(width), *(spread(at, 3) for at in columns(runs))])
    head = ["heads", *(f"step {step}" for step, _ in runs[0][1::2])]
    print_table(
        f"Bits of a character that was kept back, {seeds} trainings: median (smallest-largest)",
        head,
        [[row[0], *row[2::2]] for row in rows],
    )


def columns(runs: list[list[tuple[int, float]]]) -> list[list[float]]:
    return [[loss for _, loss in at] for at in zip(*runs, strict=True)]


def show_best_only(known: Text, model: LanguageModel, most: int) -> None:
    print_table(
        "Heads of width 2: bits of a character by softmax over all keys, or the k best",
        ["context", "all", *(f"k = {k}" for k in BEST)],
        [
            [str(context), *best_only(model, known.kept, context, most)]
            for context in (CONTEXT, LONGEST)
        ],
    )


def show_seconds(
    known: Text, models: dict[tuple[int, int], LanguageModel], lengths: list[int]
) -> None:
    def row(name: str, model: LanguageModel, by_hull: bool) -> list[str]:
        return [
            name,
            *(
                f"{median(times):.2f} ({min(times):.2f}-{max(times):.2f})"
                for times in seconds(known, model, lengths, 30, by_hull)
            ),
        ]

    print_table(
        "One token more, milliseconds: median (smallest-largest)",
        ["heads", *(f"{length:,} before" for length in lengths)],
        [
            row(f"2, hull caches, {KEPT} best", models[2, 0], True),
            *(row(f"{width}, softmax", models[width, 0], False) for width in WIDTHS),
        ],
    )


def show_drafts(
    known: Text, target: LanguageModel, draft: LanguageModel, lengths: list[int], texts: int
) -> None:
    alone, one = (
        [median(times) for times in seconds(known, model, lengths, 20, by_hull)]
        for model, by_hull in ((target, False), (draft, True))
    )
    rows = []
    for proposed in DRAFTS:
        gained = characters_a_pass(target, draft, known, proposed, texts)
        passes = seconds(known, target, lengths, 20, False, proposed + 1)
        costs = [
            (proposed * drafted + median(times)) / gained
            for drafted, times in zip(one, passes, strict=True)
        ]
        rows.append([str(proposed), f"{gained:.2f}", *(f"{cost:.2f}" for cost in costs)])
    print_table(
        "Heads of width 2, by hull caches, as drafts for the widest: milliseconds a character",
        ["drafted", "characters a pass", *(f"{length:,} before" for length in lengths)],
        [["none", "1.00", *(f"{cost:.2f}" for cost in alone)], *rows],
    )


if __name__ == "__main__":
    main()
