"""Benchmark of the training step. Run: python bench/learn.py [--quick]

The Catculator model (4 layers of width 64, 8 heads, GELU, dropout 0.1, RoPE, tied embeddings),
masked cross-entropy and Adam, all in float32, on the CPU: PyTorch eager in its best form beside
curta.learn. Both sides are timed in one process, in turns, so that whatever else the machine does
meets both. A step of four seeds at once counts as four. The tokens are random and drawn before the
clock starts; the data of a task cost extra on either side.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

import jax
import jax.numpy as jnp
import torch
from torch import nn
from torch.nn import functional

from curta.learn.experiment import Experiment, Setup
from curta.learn.language import Rows
from curta.learn.models.config import ModelConfig
from curta.learn.training.config import TrainingConfig
from curta.learn.training.devices import Devices
from curta.learn.training.loop import compile_chunk
from curta.learn.training.state import new_state, seed_keys
from report import print_machine, print_table, spread


@dataclass(frozen=True)
class Shape:
    """One model and one batch; every loss is masked to the second half of the tokens."""

    batch: int = 256
    tokens: int = 12
    vocabulary: int = 16
    width: int = 64
    layers: int = 4
    heads: int = 8
    hidden: int = 256
    dropout: float = 0.1
    learning_rate: float = 1e-3


class Adam(NamedTuple):
    """How PyTorch's updates; it chooses what is None."""

    fused: bool | None = None
    foreach: bool | None = None


@dataclass(frozen=True)
class Contestant:
    """`run(steps)` trains for so many steps and returns when they are done."""

    name: str
    seeds: int
    run: Callable[[int], object]


SHAPES = {
    "Catculator: 256 x 12 tokens": Shape(),
    "longer: 64 x 64 tokens": Shape(batch=64, tokens=64),
    "longest: 32 x 128 tokens": Shape(batch=32, tokens=128),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="the first shape, few rounds")
    options.add_argument("--threads", type=int, default=2, help="threads of PyTorch (default 2)")
    arguments = options.parse_args()
    torch.set_num_threads(arguments.threads)
    print_machine(["torch", "jax", "equinox", "optax"])
    print(f"{__doc__.split(chr(10), 2)[2]}Medians (smallest-largest).\n")
    rounds, steps = (3, 3) if arguments.quick else (11, 10)
    for title, shape in list(SHAPES.items())[: 1 if arguments.quick else None]:
        contestants = torch_contestants(shape) + learn_contestants(shape, steps)
        header = ["who", "seeds", "seed-steps/s", "ms per seed-step", "to the best of PyTorch"]
        print_table(title, header, race(contestants, rounds, steps))


# ---- measuring ----


def race(contestants: Sequence[Contestant], rounds: int, steps: int) -> list[list[str]]:
    """The rows of one table; the last cell is the median over rounds of the ratio in that round."""
    rates: dict[str, list[float]] = {contestant.name: [] for contestant in contestants}
    for contestant in contestants:
        contestant.run(steps)  # compiles, and warms the caches
    for _ in range(rounds):
        for contestant in contestants:
            started = time.perf_counter()
            contestant.run(steps)
            seconds = time.perf_counter() - started
            rates[contestant.name].append(steps * contestant.seeds / seconds)
    eager = [c.name for c in contestants if c.name.startswith("PyTorch")]
    best = rates[max(eager, key=lambda name: median(rates[name]))]
    return [
        [
            contestant.name,
            str(contestant.seeds),
            spread(rates[contestant.name]),
            spread([1e3 / rate for rate in rates[contestant.name]], 1),
            spread([a / b for a, b in zip(rates[contestant.name], best, strict=True)]),
        ]
        for contestant in contestants
    ]


# ---- curta.learn ----


def learn_contestants(shape: Shape, steps: int) -> list[Contestant]:
    """curta.learn's own training loop with one seed and with four; tokens are drawn on the way."""
    return [
        Contestant(
            f"curta.learn, {seeds} seed{'s' * (seeds > 1)}",
            seeds,
            learn_trainer(shape, seeds, steps),
        )
        for seeds in (1, 4)
    ]


def learn_trainer(shape: Shape, seeds: int, steps: int) -> Callable[[int], object]:
    model = ModelConfig(
        width=shape.width,
        layers=shape.layers,
        heads=shape.heads,
        feedforward=shape.hidden,
        dropout=shape.dropout,
    )
    training = TrainingConfig(
        batch=shape.batch,
        optimiser="adam",
        learning_rate=shape.learning_rate,
        schedule="constant",
        warmup=0,
        clip=0.0,
        seeds=seeds,
        chunk=steps,
    )
    setup = RandomSetup(Experiment(positions="rope", model=model, training=training), shape)
    chunk = compile_chunk(setup, Devices(training), steps)
    state, keys = new_state(setup), seed_keys(setup)

    def run(asked: int) -> object:
        nonlocal state
        assert asked == steps
        state, counts = chunk(state, keys)
        return counts.loss.block_until_ready()

    return run


class RandomSetup(Setup):
    """Rows of random tokens instead of a task's, half of each the prompt."""

    def __init__(self, experiment: Experiment, shape: Shape) -> None:
        super().__init__(experiment)
        self.shape = shape
        self.sampler = self  # type: ignore[assignment]
        self.width = shape.tokens + 1

    @property
    def longest(self) -> int:
        """All rows are of one length."""
        return self.width

    def rows(self, count: int, *, key: jax.Array, step: jax.Array | int = 0) -> Rows:
        """Like those of a sampler."""
        tokens = jax.random.randint(key, (count, self.width), 0, self.language.alphabet.size)
        every = jnp.ones((count,), jnp.int32)
        return Rows(tokens, every * (self.width // 2 + 1), every * self.width, every > 0)


# ---- PyTorch, eager ----


class Rotation(nn.Module):
    """RoPE: the pair (i, i + D/2) of a head turns by t / 10000^(2i/D) at position t."""

    cosine: torch.Tensor
    sine: torch.Tensor

    def __init__(self, tokens: int, head_width: int) -> None:
        super().__init__()
        rates = 10_000.0 ** (-torch.arange(0, head_width, 2) / head_width)
        angles = torch.outer(torch.arange(tokens).float(), rates)
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = x.chunk(2, dim=-1)
        turned = first * self.cosine - second * self.sine
        return torch.cat([turned, first * self.sine + second * self.cosine], dim=-1)


class Block(nn.Module):
    """x + dropout(attention(norm(x))), then x + dropout(feed-forward(norm(x)))."""

    def __init__(self, shape: Shape, rotate: Rotation) -> None:
        super().__init__()
        width = shape.width
        self.heads, self.dropout, self.rotate = shape.heads, shape.dropout, rotate
        self.attention_norm = nn.LayerNorm(width, bias=False)
        self.attention_in = nn.Linear(width, 3 * width, bias=False)
        self.attention_out = nn.Linear(width, width, bias=False)
        self.hidden_norm = nn.LayerNorm(width, bias=False)
        self.hidden_in = nn.Linear(width, shape.hidden, bias=False)
        self.hidden_out = nn.Linear(shape.hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = x.shape
        heads = self.attention_in(self.attention_norm(x)).view(batch, tokens, 3, self.heads, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(
            self.rotate(query), self.rotate(key), value, is_causal=True
        )
        mixed = self.attention_out(mixed.transpose(1, 2).reshape(batch, tokens, width))
        x = x + functional.dropout(mixed, self.dropout, self.training)
        hidden = functional.gelu(self.hidden_in(self.hidden_norm(x)), approximate="tanh")
        return x + functional.dropout(self.hidden_out(hidden), self.dropout, self.training)


class Decoder(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        rotate = Rotation(shape.tokens, shape.width // shape.heads)
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        nn.init.normal_(self.embedding.weight, std=shape.width**-0.5)
        self.blocks = nn.ModuleList(Block(shape, rotate) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.embedding.weight)


def masked_loss(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Mean cross-entropy over the second half of the positions, the answer."""
    answer = targets.shape[1] // 2
    return functional.cross_entropy(logits[:, answer:].flatten(0, 1), targets[:, answer:].flatten())


def torch_contestants(shape: Shape) -> list[Contestant]:
    """Adam in its three forms; which of them is the fastest depends on machine and threads."""
    forms = {
        "PyTorch, Adam fused": Adam(fused=True),
        "PyTorch, Adam foreach": Adam(foreach=True),
        "PyTorch, Adam per tensor": Adam(foreach=False),
    }
    return [Contestant(name, 1, torch_trainer(shape, form)) for name, form in forms.items()]


def torch_trainer(shape: Shape, adam: Adam) -> Callable[[int], object]:
    torch.manual_seed(0)
    model = Decoder(shape).train()
    optimiser = torch.optim.Adam(
        model.parameters(), lr=shape.learning_rate, fused=adam.fused, foreach=adam.foreach
    )
    pool = torch.randint(0, shape.vocabulary, (16, shape.batch, shape.tokens + 1))

    def run(steps: int) -> torch.Tensor:
        loss = torch.zeros(())
        for step in range(steps):
            tokens = pool[step % len(pool)]
            loss = masked_loss(model(tokens[:, :-1]), tokens[:, 1:])
            optimiser.zero_grad(set_to_none=True)
            loss.backward()
            optimiser.step()
        return loss

    return run


if __name__ == "__main__":
    main()
