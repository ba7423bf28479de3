"""A compiled model as a case for methods of circuit discovery, in the files that InterpBench has.

The model is one of TransformerLens' `HookedTransformer`, beside the edges that a method should
find. Compiled weights look like nothing that was ever trained: every slot of the residual stream
has one meaning. With a pair of matrices, `into` and `out`, into @ out = 1, the same circuit writes
in other directions:

    what is written: W @ into        what is read: out @ W

    rotated:     Hadamard's matrix, all of whose entries are 1 or -1, and its transpose / width
    compressed:  fewer directions than slots: those that the stream takes on some prompts, while
                 all tokens on these are still the right ones. Nothing proves others.

Where numbers are rounded, as much as 1.5 * 2^52 is added and taken away again, which would round
all that it is mixed with: slots of units that round keep a direction each.
"""

from __future__ import annotations

import json
import pickle
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from curta.compiler import Model
from curta.errors import UserError
from curta.export.circuit import ERASES, Part, circuit, fills, parts
from curta.export.circuit import edges as circuit_edges
from curta.export.hooked import (
    State,
    configuration,
    half_layers,
    state_dict,
    zeros,
)
from curta.export.positions import most_positions

try:
    import torch
    from torch import Tensor
except ImportError as error:
    raise UserError("ground truth needs PyTorch: pip install 'curta[torch]'") from error

Residual = Literal["plain", "rotated", "compressed"]
ROUNDS = "rounding constants"
"""What a unit is called that writes them, and takes them away again."""
WRITES = ("W_E", "W_pos", "W_O", "W_out", "b_O", "b_out")
READS = ("W_Q", "W_K", "W_V", "W_gate", "W_in", "W_U")


@dataclass(frozen=True)
class Prompt:
    """Tokens, and those that should follow."""

    given: tuple[str, ...]
    said: tuple[str, ...]


@dataclass(frozen=True)
class Measured:
    """What a residual stream does on the prompts, beside the plain one.

    tokens:           how many should follow
    same_tokens:      how many of them do
    logit_difference: the largest one, where they are said
    """

    tokens: int
    same_tokens: int
    logit_difference: float


def write_ground_truth(
    model: Model, folder: Path, residual: Residual = "plain", prompts: Sequence[Prompt] = ()
) -> None:
    """Write the model, its configuration, its edges, what is known of it, and its circuit."""
    plain = state_dict(model)
    texts = [encoded(model, prompt) for prompt in prompts]
    state = in_residual(residual, model, plain, texts)
    found = measured(state, plain, texts)
    if found.same_tokens < found.tokens:
        raise UserError(
            f"{residual}: {found.tokens - found.same_tokens} of {found.tokens} tokens are other "
            "ones; choose shorter prompts, or --residual plain"
        )
    edges = named_edges(model)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "ll_model.pth").open("wb") as file:
        torch.save(state, file)
    (folder / "ll_model_cfg.pkl").write_bytes(pickle.dumps(configuration(state)))
    pairs = [*edges, *inner_edges(edges)]
    (folder / "edges.pkl").write_bytes(pickle.dumps(pairs))
    meta = {
        "name": folder.resolve().name,
        "format": "curta ground truth 1",
        "vocabulary": model.vocabulary,
        "stops": [model.vocabulary[stop] for stop in model.plan["stops"]],
        "residual": residual,
        "n_ctx": len(state["pos_embed.W_pos"]),
        "d_model": state["embed.W_E"].shape[1],
        "measured": asdict(found),
        "prompts": [asdict(prompt) for prompt in prompts],
        "edges": [
            {"source": pair[0], "target": pair[1], "values": edges.get(pair, [])} for pair in pairs
        ],
    }
    for name, content in (("meta", meta), ("circuit", circuit(model))):
        (folder / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")


# -- tokens ---------------------------------------------------------------------------------------

Text = tuple[list[int], int]
"""The ids of a prompt and what follows, and how many of them are the prompt's."""


def encoded(model: Model, prompt: Prompt) -> Text:
    ids = [model.vocabulary.index(token) for token in (*prompt.given, *prompt.said)]
    if not prompt.given or len(ids) > most_positions(model):
        raise UserError(
            f"a prompt of {len(prompt.given)}: expected 1 to {most_positions(model)} tokens"
        )
    return ids, len(prompt.given)


def answer_logits(state: State, text: Text) -> Tensor:
    """The logits from which the tokens that follow the prompt are chosen."""
    ids, given = text
    *_, x = half_layers(state, ids)
    return x[given - 1 : -1] @ state["unembed.W_U"]


def right_tokens(state: State, text: Text) -> int:
    """How many of the tokens that should follow do."""
    ids, given = text
    said = answer_logits(state, text).argmax(dim=1)
    return int((said == torch.tensor(ids[given:])).sum())


def measured(state: State, plain: State, texts: Sequence[Text]) -> Measured:
    differences = [(answer_logits(state, t) - answer_logits(plain, t)).abs() for t in texts]
    return Measured(
        sum(len(ids) - given for ids, given in texts),
        sum(right_tokens(state, text) for text in texts),
        max((float(each.max()) for each in differences if each.numel()), default=0.0),
    )


# -- the residual stream --------------------------------------------------------------------------


def in_residual(residual: Residual, model: Model, plain: State, texts: Sequence[Text]) -> State:
    """The same circuit, in a residual stream of this kind."""
    if residual == "plain":
        return plain
    if not texts:
        raise UserError(f"{residual} is tried on prompts; give at least one, with --prompt")
    if any(len(ids) == given for ids, given in texts):
        raise UserError(f"{residual}: nothing can follow a prompt that is so long; shorten it")
    rounding = rounding_slots(model, plain)
    if residual == "rotated":
        return turned(plain, *apart(rounding, *rotation(int((~rounding).sum()))))
    return compressed(plain, rounding, texts)


def turned(plain: State, into: Tensor, out: Tensor) -> State:
    """What is written is multiplied by `into`, what is read by `out`."""
    state = dict(plain)
    for name, tensor in plain.items():
        kind = name.rpartition(".")[2]
        if kind in WRITES:
            state[name] = tensor @ into
        elif kind in READS:
            state[name] = out @ tensor
    return state


def rotation(width: int) -> tuple[Tensor, Tensor]:
    """The first rows of Sylvester's matrix H, and their transpose / n: exact, as n = 2^k."""
    hadamard = torch.ones(1, 1, dtype=torch.float64)
    while len(hadamard) < width:
        above = torch.cat([hadamard, hadamard], dim=1)
        hadamard = torch.cat([above, torch.cat([hadamard, -hadamard], dim=1)])
    return hadamard[:width], hadamard[:width].T / len(hadamard)


def rounding_slots(model: Model, plain: State) -> Tensor:
    """Slots that units which round write to or read."""
    slots = torch.zeros(plain["embed.W_E"].shape[1], dtype=torch.bool)
    for number, layer in enumerate(model.plan["layers"]):
        units = [unit for unit, name in enumerate(layer["units"]) if name == ROUNDS]
        gate, expand, contract = (
            plain[f"blocks.{number}.mlp.W_{part}"] for part in ("gate", "in", "out")
        )
        for slot_by_unit in (gate, expand, contract.T):
            slots |= (slot_by_unit[:, units] != 0).any(dim=1)
    return slots


def apart(chosen: Tensor, into: Tensor, out: Tensor) -> tuple[Tensor, Tensor]:
    """The matrices are those of the other slots; each of the chosen ones gets its own direction."""
    width, own = into.shape[1], int(chosen.sum())
    whole_into, whole_out = zeros(len(chosen), width + own), zeros(width + own, len(chosen))
    whole_into[~chosen, :width], whole_into[chosen, width:] = into, torch.eye(own).double()
    whole_out[:width, ~chosen], whole_out[width:, chosen] = out, torch.eye(own).double()
    return whole_into, whole_out


def compressed(plain: State, rounding: Tensor, texts: Sequence[Text]) -> State:
    """The fewest singular directions of all streams in which every token is right.

    Slots are divided by their largest magnitude, so that those with large numbers are not all.
    """
    streams = torch.cat([x[:, ~rounding] for ids, _ in texts for x in half_layers(plain, ids)])
    scale = streams.abs().amax(dim=0)
    scale[scale == 0] = 1
    directions = torch.linalg.svd(streams / scale, full_matrices=False).Vh
    for count in range(1, len(directions) + 1):
        some = directions[:count]
        state = turned(plain, *apart(rounding, some.T / scale[:, None], some * scale))
        if all(right_tokens(state, text) == len(text[0]) - text[1] for text in texts):
            return state
    raise UserError("compressed: tokens are other ones at any width; use --residual plain")


# -- edges ----------------------------------------------------------------------------------------

Edge = tuple[str, str]


def named_edges(model: Model) -> dict[Edge, list[str]]:
    """Edges between parts, by TransformerLens' hooks, and the values that are handed on.

    Hidden units of a layer are its MLP. So there are edges more than in the circuit of units: who
    reads a slot behind a part that cleared it reads what this part took away, and what it was. The
    two cancel out as long as none is there without the other.
    """
    found, last = list(parts(model)), len(model.plan["layers"]) - 1
    edges: dict[Edge, dict[str, None]] = {}
    for edge in circuit_edges(model, found):
        pair = output_hook(edge["source"]), input_hook(edge["target"], edge["input"], last)
        edges.setdefault(pair, {})[edge["value"]] = None
    cleared = list(cleared_values(model, found))
    for target, (half, slots) in inputs(found, last).items():
        sources = {source for source, read_by in edges if read_by == target}
        gone = [each for each in cleared if each.slot in slots and each.half < half]
        while halves := [
            each for each in gone if each.sources & sources and each.sources - sources
        ]:
            sources |= halves[0].sources
        for each in gone:
            for source in sorted(each.sources & sources):
                edges.setdefault((source, target), {})[f"{each.name} (cleared)"] = None
    return {pair: list(values) for pair, values in edges.items()}


@dataclass(frozen=True)
class Cleared:
    """A value that a slot held before `half`, and who wrote it and took it away."""

    name: str
    slot: int
    half: int
    sources: frozenset[str]


def cleared_values(model: Model, found: list[Part]) -> Iterator[Cleared]:
    for held in model.plan["slots"]:
        slot, half = held["slot"], held["erased"]
        if half is None:
            continue
        sources = {
            output_hook(part.name)
            for part in found
            if (held["first"] <= part.half < half and fills(part, held))
            or (part.half == half and part.meaning == f"{ERASES}{slot}")
        }
        yield Cleared(held["name"], slot, half, frozenset(sources))


def inputs(found: list[Part], last: int) -> dict[str, tuple[int, frozenset[int]]]:
    """The half layer of every input, and the slots that it reads."""
    reads: dict[str, tuple[int, frozenset[int]]] = {}
    for part in found:
        for way, slots in part.reads.items():
            target = input_hook(part.name, way, last)
            _, others = reads.get(target, (0, frozenset()))
            reads[target] = part.half, slots | others
    return reads


def output_hook(part: str) -> str:
    """Where a part writes."""
    if match := re.fullmatch(r"a(\d+)\.h(\d+)", part):
        return f"blocks.{match[1]}.attn.hook_result[{match[2]}]"
    if match := re.fullmatch(r"m(\d+)\.u\d+", part):
        return f"blocks.{match[1]}.hook_mlp_out"
    return {"embed": "hook_embed", "pos": "hook_pos_embed"}[part]


def input_hook(part: str, way: str, last: int) -> str:
    """Where a part reads."""
    if match := re.fullmatch(r"a(\d+)\.h(\d+)", part):
        return f"blocks.{match[1]}.hook_{way}_input[{match[2]}]"
    if match := re.fullmatch(r"m(\d+)\.u\d+", part):
        return f"blocks.{match[1]}.hook_mlp_in"
    return f"blocks.{last}.hook_resid_post"


def inner_edges(edges: dict[Edge, list[str]]) -> Iterator[Edge]:
    """From the inputs to the output of every part that is used."""
    for source in dict.fromkeys(source for source, _ in edges):
        if match := re.fullmatch(r"(blocks\.\d+)\.attn\.hook_result(\[\d+\])", source):
            block, head = match.groups()
            for way in "qkv":
                inside = f"{block}.attn.hook_{way}{head}"
                yield f"{block}.hook_{way}_input{head}", inside
                yield inside, source
        elif source.endswith("hook_mlp_out"):
            yield source.replace("hook_mlp_out", "hook_mlp_in"), source
