"""Train an adder with 2D heads in the lab, then let convex hulls answer its attention.

    python examples/learned_heads.py [--steps 2000] [--model adder.safetensors]

Three parts of curta meet here. The lab (JAX) trains a transformer whose heads have width 2, and
exports it; the exported file is read by a plain PyTorch module; and hull caches take the place of
that module's attention, token by token, as in decoding.

The table says how often each kind of attention says the same token as the softmax with which the
model was trained, behind right answers, and how many answers are right as a whole. Hull caches find
the k best keys exactly; what is approximate is to leave the others out.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory

import jax
import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor

from curta.engine.hull import CausalAttention, attach
from curta.learn.config import Sampling
from curta.learn.experiment import Experiment, Setup
from curta.learn.export import torch_module
from curta.learn.export.write import export
from curta.learn.models.config import ModelConfig
from curta.learn.training.config import TrainingConfig
from curta.learn.training.loop import ChunkMetrics, train
from curta.learn.training.state import TrainingState, of_seed

DIGITS = 6
PROBLEMS = 200


def experiment(steps: int) -> Experiment:
    """Addition from the last digit, digits of equal significance at one place, 2D heads."""
    return Experiment(
        name="learned_heads",
        task="addition",
        format="reversed",
        positions="coupled(offset=8)",
        model=ModelConfig(width=48, layers=2, heads=16, head_width=2, feedforward=96),
        sampling=Sampling(digits=(1, DIGITS)),
        training=TrainingConfig(steps=steps, batch=128, learning_rate=3e-3, chunk=100),
    )


def trained(setup: Setup, console: Console) -> TrainingState:
    """The lab's training loop, with a line now and then."""

    def tell(report: ChunkMetrics, state: TrainingState) -> None:
        if report.step % 500 == 0:
            console.print(
                f"step {report.step:>5}  loss {report.loss[0]:.4f}  exact {report.exact[0]:.1%}"
            )

    return train(setup, on_chunk=tell)


class Problems:
    """Unseen problems as tensors; their attention's answers are judged where answers are."""

    def __init__(self, setup: Setup, model: torch_module.Transformer) -> None:
        rows = jax.jit(lambda key: setup.sampler.rows(PROBLEMS, key=key, split="test"))(
            jax.random.key(7)
        )
        tokens, prompts = np.array(rows.tokens), np.array(rows.prompt_length)
        self.tokens = torch.tensor(tokens)
        places = [
            model.places(self.tokens[i : i + 1], int(prompts[i])) for i in range(len(prompts))
        ]
        self.places = torch.cat(places)
        index = np.arange(tokens.shape[1] - 1)
        lengths = np.array(rows.length)
        answer = (index >= prompts[:, None] - 1) & (index < lengths[:, None] - 1)
        self.answer = torch.tensor(answer & np.array(rows.valid)[:, None])

    def said(self, model: torch_module.Transformer) -> Tensor:
        """The likeliest next token everywhere."""
        logits: Tensor = model(self.tokens, self.places)
        return model.most_likely(logits)[:, :-1]


def agreement(model: torch_module.Transformer, problems: Problems) -> Table:
    """Tokens and answers of softmax, of the k best keys, of the best one."""
    answer = problems.answer
    softmax = problems.said(model)
    for index in range(len(model.attentions)):
        model.attentions[index] = CausalAttention()
    model.eval()
    table = Table(
        "attention", "token as softmax", "token right", "answer right", title="unseen sums"
    )

    def add(name: str, said: Tensor) -> None:
        right = said == problems.tokens[:, 1:]
        whole = (right | ~answer).all(dim=1)[answer.any(dim=1)]
        same = (said == softmax)[answer].double().mean()
        table.add_row(
            name,
            *(f"{share:.1%}" for share in (same, right[answer].double().mean())),
            f"{whole.double().mean():.1%}",
        )

    add("softmax", softmax)
    for k in (16, 8, 4, 2):
        with attach(model, mode="topk", k=k):
            add(f"top-{k}", problems.said(model))
    for ties in ("latest", "average"):
        with attach(model, mode="hard", ties=ties):
            add(f"hard maximum, ties {ties}", problems.said(model))
    return table


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--steps", type=int, default=2000, help="training steps (default 2000)")
    options.add_argument("--model", type=Path, help="where to write the model")
    chosen = options.parse_args()
    console = Console()
    setup = Setup(experiment(chosen.steps))
    model = of_seed(trained(setup, console), 0)
    with TemporaryDirectory() as scratch, torch.inference_mode():
        path = chosen.model or Path(scratch) / "adder.safetensors"
        export(model, setup, path)
        loaded = torch_module.load(path)
        console.print(
            f"57+24= {loaded.say('57+24=')[::-1]}, {len(loaded.attentions)} layers of 2D heads"
        )
        console.print(agreement(loaded, Problems(setup, loaded)))


if __name__ == "__main__":
    main()
