"""Does a method of circuit discovery find the circuits of compiled programs?

    python examples/circuit_discovery.py        # with transformer_lens before 4
    python examples/circuit_discovery.py --residual rotated dyck1 addition

All edges between the parts of a compiled program are known. Two methods give every possible edge a
score, from pairs of texts, a clean and a corrupt one:

    attribution: edge attribution patching (Syed et al. 2023, arXiv 2310.10348): how much what the
                 source writes changes, times the gradient of the metric by what the target reads
    patching:    the slow and obvious thing: this one target reads what the source writes for the
                 corrupt text. How far do the logits move?

The metric is the logit of the right token minus that of what the corrupt run says. Edges of the
position and of the constant 1, which never differ, are not scored.
"""

from __future__ import annotations

import argparse
import json
import pickle
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformer_lens import HookedTransformer, HookedTransformerConfig

from curta.app.build import answered
from curta.engine.model_cache import compile_cached
from curta.export.ground_truth import write_ground_truth
from curta.gallery import find_program

PROGRAMS = "parity copy reverse sort dyck1 shuffle_dyck shift detect_pattern addition subtraction"
DRAWN, PAIRS, LONGEST = 400, 8, 16
Pair = tuple[Tensor, Tensor, int]
"""A clean and a corrupt text, [1, position], and where their answers begin."""


class End(NamedTuple):
    """Where edges begin or end: a hook, of one head or of the layer, and its half layer."""

    hook: str
    head: int | None
    half: int

    def __str__(self) -> str:
        return self.hook if self.head is None else f"{self.hook}[{self.head}]"

    def of(self, tensors: dict[str, Tensor]) -> Tensor:
        """[text, position, direction]"""
        return tensors[self.hook] if self.head is None else tensors[self.hook][:, :, self.head]


def write_case(name: str, folder: Path, residual: Any) -> None:
    """Its prompts are pairs of random inputs of one length, to which the answers differ."""
    program, random = find_program(name), Random(0)
    model = compile_cached(program.build(), program.max_tokens)
    drawn = [tuple(program.encode(program.random_input(random))) for _ in range(DRAWN)]
    waiting, prompts = {}, []
    for prompt in answered(model, [text for text in dict.fromkeys(drawn) if len(text) <= LONGEST]):
        other = waiting.pop(len(prompt.given), prompt)
        if other.said == prompt.said:
            waiting[len(prompt.given)] = prompt
        else:
            prompts += [other, prompt]
    write_ground_truth(model, folder, residual, prompts[: 2 * PAIRS])


def read_case(folder: Path) -> tuple[HookedTransformer, list[Pair], dict[tuple[str, str], Any]]:
    """The model, pairs of texts, and the true edges with the values that are handed on."""
    configuration = pickle.loads((folder / "ll_model_cfg.pkl").read_bytes())
    model = HookedTransformer(HookedTransformerConfig.from_dict(configuration))
    model.load_state_dict(torch.load(folder / "ll_model.pth"))
    meta = json.loads((folder / "meta.json").read_text())
    texts = [
        torch.tensor([[meta["vocabulary"].index(token) for token in each["given"] + each["said"]]])
        for each in meta["prompts"]
    ]
    pairs = []
    for clean, corrupt, prompt in zip(texts[::2], texts[1::2], meta["prompts"][::2], strict=True):
        end = min(clean.shape[1], corrupt.shape[1]) - 1
        pairs.append((clean[:, :end], corrupt[:, :end], len(prompt["given"]) - 1))
    return model, pairs, {(e["source"], e["target"]): e["values"] for e in meta["edges"]}


def ends_of(model: HookedTransformer) -> tuple[list[End], list[End]]:
    """All that writes and all that reads, without what only fills layers up."""
    sources, targets = [End("hook_embed", None, 0)], []
    for layer, block in enumerate(model.blocks):
        name, half = f"blocks.{layer}", 2 * layer + 1
        for way in "qkv":
            heads = getattr(block.attn, f"W_{way.upper()}").flatten(1).any(dim=1).nonzero()
            targets += [End(f"{name}.hook_{way}_input", int(head), half) for head in heads]
        sources += [End(f"{name}.attn.hook_result", int(head), half) for head in heads]
        if block.mlp.W_out.any():
            sources.append(End(f"{name}.hook_mlp_out", None, half + 1))
            targets.append(End(f"{name}.hook_mlp_in", None, half + 1))
    return sources, [*targets, End(f"{name}.hook_resid_post", None, half + 2)]


def runs(model: HookedTransformer, pair: Pair) -> tuple[dict[str, Tensor], Tensor, Tensor]:
    """What the clean run has at all hooks; the metric; how sources differ in the corrupt run."""
    clean, corrupt = {}, {}
    for ids, kept in zip(pair[:2], (clean, corrupt), strict=True):
        keep = [(lambda _: True, lambda x, hook, kept=kept: kept.update({hook.name: x}))]
        kept["logits"] = model.run_with_hooks(ids, fwd_hooks=keep)[0, pair[2] :]
    told = corrupt["logits"].argmax(dim=1, keepdim=True)
    metric = clean["logits"].amax(dim=1).sum() - clean["logits"].gather(1, told).sum()
    change = [source.of(corrupt) - source.of(clean) for source in ends_of(model)[0]]
    return clean, metric, torch.cat(change).detach()


def attribution(model: HookedTransformer, pair: Pair) -> Tensor:
    """[source, target]"""
    clean, metric, change = runs(model, pair)
    targets = ends_of(model)[1]
    hooks = {target.hook: clean[target.hook] for target in targets}
    slopes = torch.autograd.grad(metric, list(hooks.values()), materialize_grads=True)
    by_hook = dict(zip(hooks, slopes, strict=True))
    slope = torch.cat([target.of(by_hook) for target in targets])
    return torch.einsum("spd,tpd->st", change, slope).abs()


@torch.no_grad()
def patching(model: HookedTransformer, pair: Pair) -> Tensor:
    """[source, target]. All sources are one batch, the last text of which is left as it is."""
    change = runs(model, pair)[2]
    change = torch.cat([change, 0 * change[:1]])
    moved = []
    for target in ends_of(model)[1]:

        def patched(x: Tensor, hook: Any, target: End = target) -> Tensor:
            x = x.clone()
            target.of({target.hook: x}).add_(change)
            return x

        batch = pair[0].expand(len(change), -1)
        logits = model.run_with_hooks(batch, fwd_hooks=[(target.hook, patched)])[:, pair[2] :]
        moved.append((logits[:-1] - logits[-1:]).abs().sum(dim=(1, 2)))
    return torch.stack(moved, dim=1)


def auroc(scores: Any, true: Any) -> float:
    """How often a true edge has a higher score than one that is none; equal scores count half."""
    difference = scores[true][:, None] - scores[~true]
    return float(((difference > 0) + (difference == 0) / 2).mean()) if difference.size else np.nan


def average_precision(scores: Any, true: Any) -> float:
    """For each true edge, how many of those with at least its score are true, on average."""
    return float(np.mean([true[scores >= score].mean() for score in scores[true]]))


def row(name: str, residual: str) -> str:
    """A line of the table."""
    with TemporaryDirectory() as folder:
        write_case(name, Path(folder), residual)
        model, pairs, values = read_case(Path(folder))
    sources, targets = ends_of(model)
    found = [[values.get((str(s), str(t))) for t in targets] for s in sources]
    true = np.array([[each is not None for each in line] for line in found])
    scored = np.array([[s.half < t.half for t in targets] for s in sources])
    scored &= np.array([[each != ["1"] for each in line] for line in found])
    match = scored & [target.hook.endswith(("q_input", "k_input")) for target in targets]
    line = f"{name:14}{scored.sum():6}{(true & scored).sum():6}"
    for method in (attribution, patching):
        begun = time.perf_counter()
        scores = sum(method(model, pair) for pair in pairs).numpy()
        seconds = time.perf_counter() - begun
        scores[scores < 1e-9 * scores[scored].max()] = 0  # rounding
        areas = (auroc(scores[some], true[some]) for some in (scored, match, scored & ~match))
        line += " |" + "".join(f"{area:6.2f}" for area in areas).replace("nan", "  -")
        line += f"{average_precision(scores[scored], true[scored]):6.2f}{seconds:6.1f}"
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description="Score methods of circuit discovery.")
    parser.add_argument("programs", nargs="*", default=PROGRAMS.split())
    parser.add_argument("--residual", default="plain", choices=["plain", "rotated", "compressed"])
    options = parser.parse_args()
    torch.set_num_threads(1)  # tensors are small
    columns = " |   all    qk other  prec   sec"
    print(f"{'':26} | {'attribution':29} | patching\n{'program':14} edges  true{2 * columns}")
    for name in options.programs:
        print(row(name, options.residual), flush=True)


if __name__ == "__main__":
    main()
