"""A compiled model as a Llama: weights that tools know without any code of ours.

A Llama has norms, gates by SiLU, turned queries and keys, and no positions. What it takes to make
a compiled model of float32 one of them, exactly:

    norms       a slot that holds LARGE: the mean of squares is LARGE**2 / D, as the other squares
                are less than half a unit in its last place. With D a power of 4 the norm divides by
                a power of two, which its weights take back: it changes nothing
    gates       silu(HARD z) is HARD relu(z) for all multiples z of 128 / HARD
    turning     a base whose powers overflow turns the first pair of each head only, which is 0
    attention   scores are divided by the root of the heads' width: a power of 4, taken back
    positions   are counted. The first token is BEGIN. The mean of "is BEGIN" is 1/n at the n-th
                token, rounded. Then y = 1/(1/n), by a polygon and Newton's step, is a little off n;
                a constant rounds it, and n - 2 is the position. No compiled head looks at BEGIN

The counting depends on nothing but n: it is tried for every n when a folder is written. So is the
stream of BEGIN, which is the same in all sequences; and of all other tokens the compiled model
knows how large slots may be, and in which steps. What does not fit is refused. Promises have no
place in a Llama: nobody checks them, nor the length.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray

from curta.compiler import Model
from curta.compiler.weights import HARDNESS_BITS
from curta.dyadic import FLOAT32, STEP_OF_ZERO, exact, step_of
from curta.errors import CertificateError, UserError
from curta.export.folders import ends, tokenizer, write_json

Matrix = NDArray[np.float32]
Row = Mapping[int, float]

BEGIN = "<begin>"
"""The token in front of all others."""
LARGE = 2.0**48
HARD_BITS = 30
HARD = 2.0**HARD_BITS
APART = 2.0**60
"""So much less is the score of BEGIN than any other."""
SATURATED = 7
"""Of multiples of 2**7, SiLU is exactly what relu is."""
OVERFLOW = 2.0**120
MOST_TOKENS = 2048
"""That are counted: 1/n is told from 1/(n + 1) with room to spare."""
SEGMENTS = 16
"""Of the polygon, from each power of two to the next."""
ROUND = 3 * 2.0 ** (FLOAT32.mantissa_bits - 2)
EPSILON = 1e-6
BASE = 1e300
OWN_SLOTS = 6


@dataclass(frozen=True)
class Slots:
    """Slots behind those of the compiled model."""

    large: int
    begin: int
    """1 at BEGIN."""
    share: int
    """1/n, rounded."""
    guess: int
    """Nearly n."""
    ratio: int
    """Nearly 1."""
    count: int
    """n, and then the position."""


@dataclass(frozen=True)
class Unit:
    """relu(gate) * up, added to slots."""

    gate: Row
    up: Row
    down: Row


class Layers:
    """The matrices of all layers, of one size."""

    def __init__(self, model: Model) -> None:
        plan = model.plan
        self.model, self.width = model, plan["width"]
        most_heads = max([1, *(len(layer["heads"]) for layer in plan["layers"])])
        self.heads = 1 << (most_heads - 1).bit_length()
        """A divisor of the width, as Llamas have it."""
        self.hidden = power_of_four(max(self.width + OWN_SLOTS, self.heads))
        widest = max([layer["head_width"] for layer in plan["layers"]], default=2)
        self.head_width = power_of_four(widest + 3)
        self.slots = Slots(*range(self.width, self.width + OWN_SLOTS))
        turned = (0, self.head_width // 2)
        self.places = [place for place in range(self.head_width) if place not in turned]
        """Of a head, those that are not turned; the last one tells BEGIN from others."""
        prelude = list(counting(model, self.slots))
        self.units = max(
            [len(units) for units in prelude] + [len(layer["units"]) for layer in plan["layers"]]
        )
        self.layers = [self.counted(number, units) for number, units in enumerate(prelude)]
        self.layers += [self.compiled(number) for number in range(len(plan["layers"]))]

    def counted(self, number: int, units: Sequence[Unit]) -> dict[str, Matrix]:
        """A layer of the counting; in the first one a head means over all tokens."""
        layer = self.empty()
        if number == 0:
            layer["value"][self.places[0], self.slots.begin] = 1
            layer["output"][self.slots.share, self.places[0]] = 1
        for place, unit in enumerate(units):
            for slot, weight in unit.gate.items():
                layer["gate"][place, slot] = HARD * weight
            for slot, weight in unit.up.items():
                layer["up"][place, slot] = weight
            for slot, weight in unit.down.items():
                layer["down"][slot, place] = weight / HARD
        return layer

    def compiled(self, number: int) -> dict[str, Matrix]:
        """A layer of the compiled model."""
        layer, plan, width = self.empty(), self.model.plan["layers"][number], self.width
        own = plan["head_width"]
        parts = {
            name: self.model.weights[f"layers.{number}.{name}.weight"]
            for name in (
                *("attention.query", "attention.key", "attention.value", "attention.output"),
                *("feed_forward.gate", "feed_forward.expand", "feed_forward.contract"),
            )
        }
        for head in range(len(plan["heads"])):
            rows = [head * self.head_width + place for place in self.places]
            inner, mine = rows[:own], slice(head * own, (head + 1) * own)
            layer["query"][inner, :width] = parts["attention.query"][mine] * self.head_width**0.5
            layer["key"][inner, :width] = parts["attention.key"][mine]
            layer["value"][inner, :width] = parts["attention.value"][mine]
            layer["output"][:width, inner] = parts["attention.output"][:, mine]
            layer["query"][rows[-1], 0] = self.head_width**0.5
            layer["key"][rows[-1], self.slots.begin] = -APART
        units = len(plan["units"])
        layer["gate"][:units, :width] = parts["feed_forward.gate"] * HARD
        layer["up"][:units, :width] = parts["feed_forward.expand"]
        layer["down"][:width, :units] = parts["feed_forward.contract"] / HARD
        return layer

    def empty(self) -> dict[str, Matrix]:
        inner = self.heads * self.head_width
        shapes = {
            **dict.fromkeys(("query", "key", "value"), (inner, self.hidden)),
            "output": (self.hidden, inner),
            **dict.fromkeys(("gate", "up"), (self.units, self.hidden)),
            "down": (self.hidden, self.units),
        }
        return {name: np.zeros(shape, np.float32) for name, shape in shapes.items()}

    def embedding(self) -> Matrix:
        """Of all tokens, BEGIN behind them."""
        found = np.zeros((len(self.model.vocabulary) + 1, self.hidden), np.float32)
        found[:-1, : self.width] = self.model.weights["embedding.weight"]
        found[-1, [0, self.slots.begin]] = 1
        found[:, self.slots.large] = LARGE
        return found

    def unembedding(self) -> Matrix:
        found = np.zeros((len(self.model.vocabulary) + 1, self.hidden), np.float32)
        found[:-1, : self.width] = self.model.weights["unembedding.weight"]
        found[-1, 0] = -APART
        return found


def power_of_four(least: int) -> int:
    found = 4
    while found < least:
        found *= 4
    return found


# -- counting -------------------------------------------------------------------------------------


def counting(model: Model, slots: Slots) -> Iterable[list[Unit]]:
    """The units of the layers that make positions of the mean of "is BEGIN"."""
    one = {0: 1.0}
    bends, turns = polygon()
    yield [Unit(one, one, {slots.guess: 1.0})] + [
        Unit({0: bend, slots.share: -1.0}, one, {slots.guess: turn})
        for bend, turn in zip(bends, turns, strict=True)
    ]
    yield [Unit({slots.share: 1.0}, {slots.guess: 1.0}, {slots.ratio: 1.0})]
    yield [
        Unit(one, {slots.guess: 1.0}, {slots.guess: 1.0}),
        Unit({slots.guess: 1.0}, {slots.ratio: 1.0}, {slots.guess: -1.0}),
    ]
    yield [
        Unit(one, {slots.guess: 1.0}, {slots.count: 1.0}),
        Unit(one, one, {slots.count: ROUND}),
    ]
    yield [Unit(one, one, {slots.count: -ROUND - 2})]
    yield position_units(model, slots)


def polygon() -> tuple[list[float], list[float]]:
    """Where a polygon through 1/x turns, from 1 down to 1 / (MOST_TOKENS + 1), and by how much."""
    octaves = (MOST_TOKENS + 1).bit_length()
    ends = [
        2.0**-octave * (1 - part / (2 * SEGMENTS))
        for octave in range(octaves)
        for part in range(SEGMENTS)
    ]
    slopes = [1 / (low * high) for high, low in pairwise(ends)]
    turns = [after - before for before, after in pairwise([0.0, *slopes])]
    return ends[:-1], turns


def position_units(model: Model, slots: Slots) -> list[Unit]:
    """What the compiled model's embedding of positions adds, of the position."""
    weights = model.weights
    one, position = {0: 1.0}, {slots.count: 1.0}
    units: list[Unit] = []
    steps: dict[int, dict[int, float]] = {}
    """By where it is, a step of 1 in the position; and what it adds to slots."""

    def add(down: Row, divisor: int, factor: float) -> None:
        """position // divisor, times the factor."""
        scaled = {slot: weight * factor for slot, weight in down.items()}
        if divisor == 1:
            units.append(Unit(one, position, scaled))
            return
        for place in range(divisor, MOST_TOKENS, divisor):
            step = steps.setdefault(place, {})
            for slot, weight in scaled.items():
                step[slot] = step.get(slot, 0) + weight

    fields = ("divisor", "modulus", "power", "offset")
    functions = zip(*(weights[f"position.{name}"].tolist() for name in fields), strict=True)
    for column, (divisor, modulus, power, offset) in enumerate(functions):
        reached = weights["position.weight"][:, column]
        down = {int(slot): float(reached[slot]) for slot in reached.nonzero()[0]}
        if power == 1:
            add(down, divisor, 1)
            if modulus:
                add(down, divisor * modulus, -modulus)
            units.append(Unit(one, one, {slot: -offset * w for slot, w in down.items()}))
        elif (divisor, modulus) == (1, 0):
            add(down, 1, -2 * offset)
            units.append(Unit(position, position, down))
            units.append(Unit(one, one, {slot: offset**2 * w for slot, w in down.items()}))
        else:
            raise UserError(
                f"the square of (position // {divisor}) mod {modulus} is not among what a Llama "
                "can be made to count; --emit hf writes such a model"
            )
    for place, down in steps.items():
        units.append(Unit({**position, 0: 1.0 - place}, one, down))
        units.append(Unit({**position, 0: -float(place)}, one, {s: -w for s, w in down.items()}))
    return units


# -- checks ---------------------------------------------------------------------------------------


def silu(x: Matrix) -> Matrix:
    with np.errstate(over="ignore"):
        return np.asarray(x / (np.float32(1) + np.exp(-x)), np.float32)


def fed_forward(layer: Mapping[str, Matrix], x: Matrix) -> Matrix:
    found = x + (silu(x @ layer["gate"].T) * (x @ layer["up"].T)) @ layer["down"].T
    return np.asarray(found, np.float32)


def check(layers: Layers, most: int) -> None:
    """Every count that there can be is right, and nothing overflows at BEGIN."""
    slots, model = layers.slots, layers.model
    counts = np.arange(1, most + 2)
    x = np.zeros((most + 1, layers.hidden), np.float32)
    x[:, 0] = 1
    x[:, slots.share] = np.float32(1) / counts.astype(np.float32)
    prelude = len(layers.layers) - len(model.plan["layers"])
    for number, layer in enumerate(layers.layers[:prelude]):
        if number == prelude - 3:  # what is rounded: another order of sums may be a little off
            apart = np.abs(x[:, slots.guess] - counts).max()
            if apart > 0.25:
                raise CertificateError(f"{apart} from a whole number: {most} tokens are too many")
        x = fed_forward(layer, x)
    if not np.array_equal(x[:, slots.count], counts - 2):
        raise CertificateError(f"positions of {most} tokens are not counted exactly")
    expected = model.positional(np.arange(most))
    if not np.array_equal(x[1:, 1 : layers.width], expected[:, 1:]):
        raise CertificateError("what positions add is not computed exactly")
    begin = layers.embedding()[-1:]
    largest = 2 * ROUND
    for number, layer in enumerate(layers.layers, -prelude):
        if number >= 0:
            held = Held(model, number, layers.hidden)
            largest = max(largest, float(held.magnitude.max()))
            check_layer(layers, layer, held, begin[0])
        value = begin @ layer["value"].T
        begin = fed_forward(layer, np.asarray(begin + value @ layer["output"].T, np.float32))
        largest = max(largest, float(np.abs(np.delete(begin, slots.large)).max()))
    if not layers.hidden * largest**2 * 2**25 < LARGE**2:  # nor where it is no number
        raise CertificateError(f"slots of up to {largest:g} are too large beside a Llama's norms")


class Held:
    """What slots may hold while a layer of the compiled model is computed."""

    def __init__(self, model: Model, number: int, hidden: int) -> None:
        self.magnitude = np.zeros(hidden)
        self.step = np.full(hidden, STEP_OF_ZERO)
        self.magnitude[0], self.step[0] = 1, 0
        for carrier in model.plan["slots"]:
            if carrier["first"] <= 2 * number + 1 and carrier["last"] >= 2 * number:
                slot = carrier["slot"]
                self.magnitude[slot] = max(self.magnitude[slot], float(carrier["magnitude"]))
                self.step[slot] = min(self.step[slot], carrier["step"])

    def most(self, matrix: Matrix) -> NDArray[np.float64]:
        """The largest magnitude of each row's sum."""
        found: NDArray[np.float64] = np.abs(matrix.astype(np.float64)) @ self.magnitude
        return found


def check_layer(layers: Layers, layer: Mapping[str, Matrix], held: Held, begin: Matrix) -> None:
    """Gates are multiples of what SiLU is exact for, nothing overflows, and BEGIN is not seen."""
    for unit, slot in zip(*layer["gate"].nonzero(), strict=True):
        step = step_of(exact(float(layer["gate"][unit, slot]))) + held.step[slot]
        if step < SATURATED:
            raise CertificateError(
                f"a gate in steps of 2**{step - HARD_BITS} is too fine for a Llama's SiLU; use a "
                "coarser step"
            )
    if (held.most(layer["gate"]) * held.most(layer["up"])).max(initial=0) >= OVERFLOW:
        raise CertificateError("a product is too large for a Llama's gates; scale the operands")
    # Scores of other tokens have the arithmetic's bits, and steps of HARDNESS_BITS.
    asked = held.most(layer["query"]) / layers.head_width**0.5
    seen = np.abs(begin.astype(np.float64) @ layer["key"].T)
    seen[layers.places[-1] :: layers.head_width] = 0  # which is what keeps BEGIN apart
    most = (asked * seen).reshape(layers.heads, -1).sum(axis=1).max()
    if most + 2.0 ** (FLOAT32.mantissa_bits + HARDNESS_BITS) >= APART / 2:
        raise CertificateError(f"scores are too large to tell {BEGIN} from all other tokens")


# -- the folder -----------------------------------------------------------------------------------

NAMES = {
    "query": "self_attn.q_proj",
    "key": "self_attn.k_proj",
    "value": "self_attn.v_proj",
    "output": "self_attn.o_proj",
    "gate": "mlp.gate_proj",
    "up": "mlp.up_proj",
    "down": "mlp.down_proj",
}


def write_llama(model: Model, folder: Path) -> None:
    """The folder of a `LlamaForCausalLM`, with a tokenizer that puts BEGIN in front."""
    most = model.certificate.softmax_tokens
    if model.certificate.arithmetic != FLOAT32.name:
        raise UserError("a Llama's norms compute in float32: build it with --arithmetic float32")
    if most > MOST_TOKENS:
        raise UserError(f"a Llama counts to {MOST_TOKENS:,}: give --max-tokens {MOST_TOKENS}")
    if BEGIN in model.vocabulary:
        raise UserError(f"token {BEGIN!r} is what a Llama begins with; rename it")
    layers = Layers(model)
    check(layers, most)
    folder.mkdir(parents=True, exist_ok=True)
    content = safetensors.numpy.save(tensors(layers), metadata={"format": "pt"})
    (folder / "model.safetensors").write_bytes(content)
    write_json(folder / "config.json", configuration(layers, most))
    begin = len(model.vocabulary)
    settings = {"do_sample": False, "bos_token_id": begin, **ends(model)}
    write_json(folder / "generation_config.json", settings)
    write_json(folder / "tokenizer.json", beginning(tokenizer([*model.vocabulary, BEGIN]), begin))
    words = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False}
    stops = model.plan["stops"]
    padding = {"pad_token": model.vocabulary[stops[0]]} if stops else {}
    write_json(
        folder / "tokenizer_config.json",
        {**words, **padding, "bos_token": BEGIN, "padding_side": "left"},
    )


def tensors(layers: Layers) -> dict[str, Matrix]:
    norm = np.full(layers.hidden, LARGE / layers.hidden**0.5, np.float32)
    found = {
        "model.embed_tokens.weight": layers.embedding(),
        "model.norm.weight": norm,
        "lm_head.weight": layers.unembedding(),
    }
    for number, layer in enumerate(layers.layers):
        name = f"model.layers.{number}"
        found |= {f"{name}.{NAMES[part]}.weight": matrix for part, matrix in layer.items()}
        found |= {f"{name}.input_layernorm.weight": norm.copy()}
        found |= {f"{name}.post_attention_layernorm.weight": norm.copy()}
    return found


def configuration(layers: Layers, most: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": FLOAT32.name,
        "vocab_size": len(layers.model.vocabulary) + 1,
        "hidden_size": layers.hidden,
        "intermediate_size": layers.units,
        "num_hidden_layers": len(layers.layers),
        "num_attention_heads": layers.heads,
        "num_key_value_heads": layers.heads,
        "head_dim": layers.head_width,
        "hidden_act": "silu",
        "max_position_embeddings": most + 1,
        "rms_norm_eps": EPSILON,
        "rope_theta": BASE,
        "rope_parameters": {"rope_type": "default", "rope_theta": BASE},
        "attention_bias": False,
        "mlp_bias": False,
        "tie_word_embeddings": False,
        "bos_token_id": len(layers.model.vocabulary),
        **ends(layers.model),
    }


def beginning(words: dict[str, Any], begin: int) -> dict[str, Any]:
    """The tokenizer, which puts BEGIN in front."""
    token = {"SpecialToken": {"id": BEGIN, "type_id": 0}}
    text = {"Sequence": {"id": "A", "type_id": 0}}
    other = {"Sequence": {"id": "B", "type_id": 0}}
    words["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [token, text],
        "pair": [token, text, other],
        "special_tokens": {BEGIN: {"id": BEGIN, "ids": [begin], "tokens": [BEGIN]}},
    }
    words["added_tokens"] = [
        {
            "id": begin,
            "content": BEGIN,
            "special": True,
            **dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False),
        }
    ]
    return words
