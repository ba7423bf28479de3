"""Train a small transformer with 2D heads, then let convex hulls answer its attention.

    python examples/hull_attention.py [--steps 300] [--longest 100000]

The task is recall. A sequence draws a secret map from names to colours and shows pairs of it,
name, colour, name, colour, ...; where a name comes back, the model has to say its colour.

Three tables are printed: how often top-k and hard maximum say what the full softmax says; the same
on sequences longer than in training; the time per token of a plain KV cache and of hull caches.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from rich.console import Console
from rich.progress import track
from rich.table import Table
from torch import Tensor, nn
from torch.nn import functional

from curta.engine.hull import CausalAttention, attach

NAMES, COLOURS = 12, 8
NO_TOKEN = NAMES + COLOURS
WIDTH, LAYERS, HEAD_WIDTH = 32, 2, 2
PAIRS = 32
TIMED_TOKENS = 20


class Block(nn.Module):
    """A transformer layer. Only the line with CausalAttention differs from any other."""

    def __init__(self) -> None:
        super().__init__()
        self.norm_in, self.norm_between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.attention = CausalAttention()  # was: functional.scaled_dot_product_attention
        self.feed_forward = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        parts = self.project(self.norm_in(x)).chunk(3, dim=-1)
        query, key, value = (part.unflatten(-1, (-1, HEAD_WIDTH)).transpose(1, 2) for part in parts)
        x = x + self.out(self.attention(query, key, value).transpose(1, 2).flatten(-2))
        return x + self.feed_forward(self.norm_between(x))


class Recaller(nn.Module):
    """A decoder that sees each token together with the one before it."""

    def __init__(self) -> None:
        super().__init__()
        self.token, self.before = nn.Embedding(NO_TOKEN, WIDTH), nn.Embedding(NO_TOKEN + 1, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, NO_TOKEN)

    def forward(self, tokens: Tensor, last: Tensor | None = None) -> Tensor:
        """Logits [batch, tokens, vocabulary]; `last` [batch, 1] is the token before the first."""
        if last is None:
            last = torch.full_like(tokens[:, :1], NO_TOKEN)
        before = torch.cat([last, tokens[:, :-1]], dim=1)
        return self.head(self.norm(self.blocks(self.token(tokens) + self.before(before))))


def draw(count: int, pairs: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Tokens [count, 2 pairs]; and [count, pairs], true where the name has been seen before."""
    secret = torch.randint(0, COLOURS, (count, NAMES), generator=generator)
    names = torch.randint(0, NAMES, (count, pairs), generator=generator)
    tokens = torch.stack([names, secret.gather(1, names) + NAMES], dim=2).flatten(1)
    times_seen = functional.one_hot(names, NAMES).cumsum(dim=1)
    return tokens, times_seen.gather(2, names[:, :, None])[:, :, 0] > 1


def train(model: nn.Module, steps: int, console: Console) -> None:
    generator = torch.Generator().manual_seed(1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for _ in track(range(steps), f"training, {steps} steps", console=console):
        tokens, known = draw(64, PAIRS, generator)
        logits = model(tokens)[:, ::2]
        loss = functional.cross_entropy(logits[known], tokens[:, 1::2][known])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def agreement_table(model: nn.Module, pairs: int) -> Table:
    """Next tokens of full softmax, top-k and hard maximum on the same sequences."""
    tokens, known = draw(16, pairs, torch.Generator().manual_seed(2))
    answers = tokens[:, 1::2][known]
    softmax = model(tokens)[:, ::2].argmax(dim=-1)[known]
    ways: dict[str, Callable[[], AbstractContextManager[object]]] = {
        "full softmax": nullcontext,
        **{f"top-{k}": lambda k=k: attach(model, mode="topk", k=k) for k in (64, 16, 4, 2)},
        "hard maximum": lambda: attach(model, mode="hard"),
    }
    table = Table("attention", "right", "as full softmax", title=f"sequences of {2 * pairs} tokens")
    for name, attention in ways.items():
        with attention():
            said = model(tokens)[:, ::2].argmax(dim=-1)[known]
        table.add_row(
            name, *(f"{(said == other).double().mean():.2%}" for other in (answers, softmax))
        )
    return table


class PlainCache(nn.Module):
    """The keys and values that one attention module is given; as a module, the scan over them."""

    def __init__(self, attention: CausalAttention) -> None:
        super().__init__()
        self.parts: list[tuple[Tensor, Tensor]] = []
        attention.register_forward_pre_hook(lambda _, tensors: self.parts.append(tensors[1:]))

    def join(self) -> None:
        """Make one tensor of all keys, so that copying is not part of what is timed."""
        keys, values = (torch.cat(parts, dim=-2) for parts in zip(*self.parts, strict=True))
        self.parts = [(keys, values)]

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        """One new token, against those before it."""
        return functional.scaled_dot_product_attention(query, *self.parts[0])


def milliseconds_per_token(model: nn.Module, tokens: Tensor) -> float:
    started = time.perf_counter()
    for t in range(1, tokens.shape[1]):
        model(tokens[:, t : t + 1], tokens[:, t - 1 : t])
    return (time.perf_counter() - started) * 1e3 / (tokens.shape[1] - 1)


def speed_table(model: Recaller, longest: int, console: Console) -> Table:
    """One sequence that grows; at some lengths, a few tokens with either kind of cache."""
    tokens, _ = draw(1, longest // 2 + TIMED_TOKENS, torch.Generator().manual_seed(3))
    lengths = [10**e for e in range(3, 8) if 10**e <= longest]
    hulled = [block.attention for block in model.blocks]
    plain = [PlainCache(attention) for attention in hulled]
    table = Table("tokens before", "KV cache", "hull caches, top-16", "", title="one more token")
    with attach(model, k=16) as hulls, hulls.stream():
        for length in track(lengths, "growing the sequence", console=console):
            start = hulls.tokens
            model(tokens[:, start:length], tokens[:, start - 1 : start] if start else None)
            for cache in plain:
                cache.join()
            few = tokens[:, length - 1 : length + TIMED_TOKENS]
            put_in(model, plain)
            scan = milliseconds_per_token(model, few)
            put_in(model, hulled)
            hull = milliseconds_per_token(model, few)
            table.add_row(f"{length:,}", f"{scan:.2f} ms", f"{hull:.2f} ms", f"{scan / hull:.1f}x")
    return table


def put_in(model: Recaller, attentions: Sequence[nn.Module]) -> None:
    for block, attention in zip(model.blocks, attentions, strict=True):
        block.attention = attention


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--steps", type=int, default=300, help="training steps (default 300)")
    options.add_argument("--longest", type=int, default=100_000, help="tokens of the speed table")
    chosen = options.parse_args()
    console = Console()
    torch.manual_seed(0)
    model = Recaller()
    train(model, chosen.steps, console)
    model.eval()
    with torch.inference_mode():
        for pairs in (PAIRS, 16 * PAIRS):
            console.print(agreement_table(model, pairs))
        console.print(speed_table(model, chosen.longest, console))


if __name__ == "__main__":
    main()
