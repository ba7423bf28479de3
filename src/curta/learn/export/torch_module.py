"""A model that was trained in curta's lab, as a plain PyTorch module.

This file needs torch and safetensors and nothing else, so it can be copied to where it is of use:

    model = load("model.safetensors")
    print(model.say("57+24="))
    logits = model(tokens, prompt_length=6)      # tokens [batch, width]

Logits are those of the JAX model up to rounding. The parameters are laid out as there: a matrix M
maps x to x M.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn import functional

VERSION = 1
PACKED = 1 << 15
"""A place of a combination of two schemes is first * 2^15 + second."""
FURTHEST = 1 << 16
"""In compiled attention, the digit of significance s in number n has the key n * 2^16 + s."""
PARTS = {"combined": ("first", "second"), "randomised": ("of",), "compiled": ("others",)}
"""The schemes inside of schemes."""


def load(path: str | Path) -> Transformer:
    """Read a file that curta's lab exported."""
    with safe_open(str(path), framework="pt") as file:
        text = (file.metadata() or {}).get("curta_learn")
        if text is None:
            raise ValueError(f"{path}: not a model of curta's lab: no curta_learn in its metadata")
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    described = json.loads(text)
    if described["version"] != VERSION:
        raise ValueError(
            f"{path}: written in version {described['version']} of the format, this file reads "
            f"{VERSION}: use the torch_module.py that came with the writer"
        )
    model = Transformer(described, arrays)
    model.load_state_dict(arrays)
    return model.eval()


class Attention(nn.Module):
    """Causal softmax attention on [batch, heads, tokens, head width].

    It has no parameters, and is a module of its own so that another one can be put in its place.
    """

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None = None
    ) -> Tensor:
        if bias is None:
            return functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        width = query.shape[-2]
        later = torch.ones(width, width, dtype=torch.bool, device=query.device).triu(1)
        mask = bias.masked_fill(later, -torch.inf)
        return functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)


class Arrays(nn.Module):
    """Parameters by the names that they have in the file: `self["table"]`."""

    def __init__(self, arrays: Mapping[str, Tensor]) -> None:
        super().__init__()
        for name, value in arrays.items():
            if "." not in name:
                self.register_parameter(name, nn.Parameter(torch.empty_like(value)))

    def __getitem__(self, name: str) -> Tensor:
        return self.get_parameter(name)


def under(prefix: str, arrays: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those whose names begin with the prefix, without it."""
    inside = {name: value for name, value in arrays.items() if name.startswith(prefix)}
    return {name.removeprefix(prefix): value for name, value in inside.items()}


class Block(Arrays):
    """Attention and feed-forward, each added to the residual stream."""

    def __init__(self, options: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> None:
        super().__init__(arrays)
        self.norm, self.activation = options["norm"], options["activation"]
        self.heads = options["heads"]

    def forward(
        self, state: Tensor, attention: nn.Module, scheme: Scheme, places: Tensor
    ) -> Tensor:
        projected = self._normed(state, "attention_scale") @ self["projection"]
        query, key, value = split(projected, (3, self.heads, -1)).unbind(2)
        query, key = scheme.turn(query, places), scheme.turn(key, places)
        heads_first = [part.transpose(1, 2) for part in (query, key, value)]
        bias = scheme.score_bias(places)
        mixed = attention(*heads_first) if bias is None else attention(*heads_first, bias)
        state = self._added(
            state, mixed.transpose(1, 2).flatten(2) @ self["output"], "attention_scale"
        )
        fed = self._fed(self._normed(state, "feedforward_scale"))
        return self._added(state, fed, "feedforward_scale")

    def _fed(self, state: Tensor) -> Tensor:
        inner = state @ self["expand"] + self["expand_bias"]
        if self.activation == "gelu":
            inner = functional.gelu(inner, approximate="tanh")
        elif self.activation == "relu":
            inner = functional.relu(inner)
        else:
            left, right = inner.chunk(2, dim=-1)
            inner = (functional.silu(left) if self.activation == "gated" else left) * right
        return inner @ self["contract"] + self["contract_bias"]

    def _normed(self, state: Tensor, scale: str) -> Tensor:
        return layer_norm(state, self[scale]) if self.norm == "pre" else state

    def _added(self, state: Tensor, update: Tensor, scale: str) -> Tensor:
        state = state + update
        return layer_norm(state, self[scale]) if self.norm == "post" else state


def split(given: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The last axis as several."""
    return given.reshape(*given.shape[:-1], *sizes)


def layer_norm(state: Tensor, scale: Tensor) -> Tensor:
    """(x - mean) / sqrt(variance + 1e-5) * scale."""
    return functional.layer_norm(state, state.shape[-1:], scale, None, 1e-5)


class Scheme(Arrays):
    """One position scheme: where tokens are, and what the model is told about it."""

    def __init__(
        self, options: Mapping[str, Any], arrays: Mapping[str, Tensor], model: Mapping[str, Any]
    ) -> None:
        super().__init__(arrays)
        self.options, self.model = options, model
        self.name: str = options["name"]
        inside = PARTS.get(self.name, ())
        self.parts = [Scheme(options[part], under(f"{part}.", arrays), model) for part in inside]
        for name, part in zip(inside, self.parts, strict=True):
            self.add_module(name, part)
        self.compiled = len(options["heads"]) if self.name == "compiled" else 0

    def places(self, tokens: Tensor, prompt_length: int | None) -> Tensor:
        """Where tokens [batch, width] are; integers of that shape."""
        index = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        if self.name == "combined":
            first, second = (part.places(tokens, prompt_length) for part in self.parts)
            return first * PACKED + second
        if self.name == "randomised":
            raise ValueError(
                "places of a randomised scheme depend on the room that rows had: give places="
            )
        if self.name == "abacus":
            return self._within_numbers(tokens)
        if self.name in ("coupled", "aligned"):
            return self._significance(tokens, prompt_length)
        if self.name == "compiled":
            return self._compiled(tokens, prompt_length, index)
        return index

    def _compiled(self, tokens: Tensor, prompt_length: int | None, index: Tensor) -> Tensor:
        """Of each token its index, that of what each head fetches, and its place for the others."""
        reading = Reading(self, tokens, prompt_length, index)
        nowhere = torch.where(index < reading.prompt_length - 1, index, reading.prompt_length - 1)
        fetched = [reading.fetched(rule, k) for rule, k in self.options["heads"]]
        found = [torch.where(target >= 0, target, nowhere) for target in fetched]
        return torch.stack([index, *found, self.parts[0].places(tokens, prompt_length)], dim=-1)

    def _is_digit(self, tokens: Tensor) -> Tensor:
        first: int = self.model["first_digit"]
        base: int = self.model["base"]
        return (tokens >= first) & (tokens < first + base)

    def _within_numbers(self, tokens: Tensor) -> Tensor:
        """Digits count from 1 in the order in which they are written; 0 for other tokens."""
        is_digit = self._is_digit(tokens)
        index = torch.arange(tokens.shape[1], device=tokens.device).expand(tokens.shape)
        before: Tensor = torch.where(is_digit, -1, index).cummax(dim=1).values
        return index - before

    def _significance(self, tokens: Tensor, prompt_length: int | None) -> Tensor:
        """Digits count from the least significant one of their number."""
        if prompt_length is None or not self.model["answer_reversed"]:
            raise ValueError(
                "coupled places depend on where the answer begins: give prompt_length=, or, where "
                "answers are not written from their last digit, places="
            )
        place = self._within_numbers(tokens)
        if self.model["question_reversed"]:
            return place
        # In the prompt numbers are complete: they count from the other end there.
        prompt = tokens[:, :prompt_length]
        from_end = self._within_numbers(prompt.flip(1)).flip(1)
        return torch.cat([from_end, place[:, prompt_length:]], dim=1)

    def embed(self, places: Tensor) -> Tensor | None:
        """What is added to the vectors of tokens."""
        if self.parts:
            return total([part.embed(own) for part, own in self._split(places)])
        if self.name in ("learned", "abacus", "coupled"):
            return self["table"][places]
        if self.name == "sinusoidal":
            width = self.model["model"]["width"]
            half = (width + 1) // 2
            angles = places[..., None] * frequencies(half, self.options["base"], places)
            waves = torch.stack([angles.sin(), angles.cos()], dim=-1)
            return waves.flatten(-2)[..., :width]
        return None

    def turn(self, vectors: Tensor, places: Tensor) -> Tensor:
        """Queries or keys [batch, tokens, heads, head width], turned by their place."""
        for part, own in self._split(places):
            vectors = torch.cat(
                [vectors[:, :, : self.compiled], part.turn(vectors[:, :, self.compiled :], own)], 2
            )
        if self.name != "rope":
            return vectors
        half = vectors.shape[-1] // 2
        angles = places[..., None, None] * frequencies(half, self.options["base"], places)
        cos, sin = angles.cos(), angles.sin()
        first, second, rest = (
            vectors[..., :half],
            vectors[..., half : 2 * half],
            vectors[..., 2 * half :],
        )
        return torch.cat([first * cos - second * sin, first * sin + second * cos, rest], dim=-1)

    def score_bias(self, places: Tensor) -> Tensor | None:
        """What is added to the scores [batch, heads, queries, keys]."""
        if self.parts:
            bias = total([part.score_bias(own) for part, own in self._split(places)])
            return self._fetching(bias, places) if self.compiled else bias
        apart = places[:, :, None] - places[:, None, :]
        if self.name == "alibi":
            heads = self.model["model"]["heads"]
            slopes: Tensor = 2.0 ** (-8 * torch.arange(1, heads + 1, device=places.device) / heads)
            return -slopes[:, None, None] * apart[:, None]
        if self.name == "aligned":
            reach: int = self.options["reach"]
            told = self["bias"].T[(-apart).clamp(-reach, reach) + reach].movedim(-1, 1)
            return told.masked_fill(apart[:, None].abs() > reach, -torch.inf)
        if self.name == "t5":
            return self["table"][self._bucket(apart)].movedim(-1, 1)
        if self.name == "fire":
            return self._fire(apart, places)
        return None

    def _fetching(self, others: Tensor | None, places: Tensor) -> Tensor:
        """The first heads see what they fetch, the others what another scheme lets them see."""
        batch, width = places.shape[:2]
        fetched = places[..., 1:-1].movedim(-1, 1)[..., None] == places[:, None, None, :, 0]
        if self.options["frozen"]:
            compiled = torch.zeros(fetched.shape, device=places.device)
            compiled = compiled.masked_fill(~fetched, -torch.inf)
        else:
            compiled = self["sharpness"][:, None, None] * fetched
        heads = self.model["model"]["heads"]
        free = torch.zeros(1, heads, 1, 1, device=places.device) if others is None else others
        free = free[:, self.compiled :].expand(batch, -1, width, width)
        return torch.cat([compiled, free], dim=1)

    def _bucket(self, distance: Tensor) -> Tensor:
        count, furthest = self.options["buckets"], self.options["furthest"]
        exact = count // 2
        wide = count - exact
        least = [
            math.ceil(exact * (furthest / exact) ** (step / wide) - 1e-6) for step in range(1, wide)
        ]
        bounds = torch.tensor([*range(1, exact + 1), *least], device=distance.device)
        return torch.bucketize(distance, bounds, right=True)

    def _fire(self, apart: Tensor, places: Tensor) -> Tensor:
        scale, threshold = self["scale"].abs(), self["threshold"].abs()
        whole = torch.maximum(threshold, places[:, :, None]).clamp(min=1)
        whole = torch.log1p(scale * whole).clamp(min=1e-20)
        distance = torch.log1p(scale * apart.clamp(min=0)) / whole
        hidden = functional.relu(distance[..., None] * self["inner"] + self["inner_bias"])
        return (hidden @ self["outer"] + self["outer_bias"]).movedim(-1, 1)

    def _split(self, places: Tensor) -> list[tuple[Scheme, Tensor]]:
        """The schemes inside this one, each with its places."""
        if self.name == "combined":
            return [(self.parts[0], places // PACKED), (self.parts[1], places % PACKED)]
        if self.name == "compiled":
            return [(self.parts[0], places[..., -1])]
        return [(part, places) for part in self.parts]


class Reading:
    """Rows of tokens as the rules of compiled heads see them: digits, and where they stand."""

    def __init__(
        self, scheme: Scheme, tokens: Tensor, prompt_length: int | None, index: Tensor
    ) -> None:
        self.significance = scheme._significance(tokens, prompt_length)
        assert prompt_length is not None
        self.prompt_length, self.index = prompt_length, index
        self.is_digit = scheme._is_digit(tokens)
        self.base: int = scheme.model["base"]
        self.digit = torch.where(self.is_digit, tokens.long() - scheme.model["first_digit"], 0)
        before = functional.pad(self.is_digit[:, :-1], (1, 0))
        self.number = (self.is_digit & ~before).cumsum(1)
        self.next_number = self.number + (~self.is_digit).long()
        self.next_significance = scheme._within_numbers(tokens) + 1

    def fetched(self, rule: str, k: int) -> Tensor:
        """The last token up to each one whose key is its query; -1 for none."""
        keys, queries = self.keys_and_queries(rule, k)
        matches = (keys[:, None] == queries[:, :, None]).tril()
        return torch.where(matches, self.index[:, None], -1).amax(-1)

    def keys_and_queries(self, rule: str, k: int) -> tuple[Tensor, Tensor]:
        """What a rule gives each token; keys are never -2, queries never -1."""
        place, number = self.next_significance + k, self.next_number
        step = (number - 2).clamp(min=0) // 2
        ones = torch.ones_like(number)
        match rule:
            case "first":
                return self._digit_of(ones, place)
            case "second":
                return self._digit_of(2 * ones, place)
            case "origin_first":
                return self._digit_of(ones, self._origin(place))
            case "origin_second":
                return self._digit_of(2 * ones, self._origin(place))
            case "multiplicand":
                return self._digit_of(ones, place - step)
            case "multiplier":
                return self._digit_of(2 * ones, step + 1 + k)
            case "last":
                return self._digit_of(number - 1, place)
            case "last_but_one":
                return self._digit_of(number - 2, place)
            case "mark":
                count = (~self.is_digit).cumsum(1)
                return torch.where(self.is_digit, -1, count), (count + k).clamp(min=0)
            case "token":
                return self.index, torch.where(self.index + k >= 0, self.index + k, -2)
        raise ValueError(f"{rule}: this file knows no such rule of compiled heads")

    def _digit_of(self, number: Tensor, significance: Tensor) -> tuple[Tensor, Tensor]:
        """A digit, by its number and its significance there."""
        keys = torch.where(self.is_digit, self.number * FURTHEST + self.significance, -1)
        asked = (number >= 1) & (significance >= 1) & (significance < FURTHEST)
        return keys, torch.where(asked, number * FURTHEST + significance, -2)

    def _origin(self, place: Tensor) -> Tensor:
        """Where what is carried into a place arises: the last one below that doesn't pass it on."""
        in_prompt = self.is_digit & (self.index < self.prompt_length)
        own = in_prompt & ((self.number == 1) | (self.number == 2))
        columns = torch.zeros(len(place), place.shape[1] + 1, dtype=torch.long, device=place.device)
        columns.scatter_add_(1, torch.where(own, self.significance, 0), self.digit * own)
        decides = torch.arange(columns.shape[1], device=place.device)
        decides = torch.where(columns != self.base - 1, decides, 0).cummax(dim=1).values
        return decides.gather(1, (place - 1).clamp(0, columns.shape[1] - 1))


def frequencies(half: int, base: float, places: Tensor) -> Tensor:
    """base^(-i / half) for i below half."""
    index = torch.arange(half, device=places.device, dtype=torch.float32)
    return base ** (-index / max(half, 1))


def total(parts: list[Tensor | None]) -> Tensor | None:
    """The sum of what there is."""
    added: Tensor | None = None
    for part in parts:
        if part is not None:
            added = part if added is None else added + part
    return added


class Transformer(Arrays):
    """The model: embedding, blocks applied `loops` times, readout."""

    def __init__(self, described: Mapping[str, Any], arrays: Mapping[str, Tensor]) -> None:
        super().__init__(arrays)
        self.described, self.options = described, described["model"]
        self.symbols: list[str] = described["symbols"]
        layers: int = self.options["layers"]
        self.positions = Scheme(described["positions"], under("positions.", arrays), described)
        self.blocks = nn.ModuleList(
            Block(self.options, under(f"blocks.{index}.", arrays)) for index in range(layers)
        )
        # One for each application of a block, because what replaces one may remember tokens.
        self.attentions = nn.ModuleList(Attention() for _ in range(layers * self.options["loops"]))
        self.numbers = Arrays(under("numbers.", arrays)) if described["number_places"] else None

    def places(self, tokens: Tensor, prompt_length: int | None = None) -> Tensor:
        """Where the scheme says that tokens are; it may need to know where the answer begins."""
        return self.positions.places(tokens, prompt_length)

    def forward(
        self,
        tokens: Tensor,
        places: Tensor | None = None,
        *,
        prompt_length: int | None = None,
    ) -> Tensor:
        """The logits of what follows each of tokens [batch, width]."""
        if places is None:
            places = self.places(tokens, prompt_length)
        places = places.expand(*tokens.shape, *places.shape[2:])
        start = self._embed(tokens, places)
        injected = self.options["injection"]
        state = torch.zeros_like(start) if injected else start
        layers = len(self.blocks)
        for step, attention in enumerate(self.attentions):
            if injected and step % layers == 0:
                state = state + start
            state = self.blocks[step % layers](state, attention, self.positions, places)
        if self.options["norm"] == "pre":
            state = layer_norm(state, self["final_scale"])
        symbols = state @ (self["embedding"].T if self.options["tied"] else self["readout"])
        if self.numbers is None:
            return symbols
        return torch.cat([symbols, self._digit_logits(state, self.numbers)], dim=-1)

    def _embed(self, tokens: Tensor, places: Tensor) -> Tensor:
        table = self["embedding"]
        vectors = table[tokens.clamp(max=len(table) - 1)]
        if self.numbers is not None:
            value = tokens - (len(table) - 1)
            count, base = self.described["number_places"], self.described["base"]
            periods = base ** torch.arange(1, count + 1, device=tokens.device)
            angles = 2 * math.pi * (value[..., None].clamp(min=0) % periods) / periods
            pairs = torch.stack([angles.cos(), angles.sin()], dim=-1).flatten(-2)
            vectors = vectors + (pairs * (value >= 0)[..., None]) @ self.numbers["embedding"]
        added = self.positions.embed(places)
        return vectors if added is None else vectors + added

    def _digit_logits(self, state: Tensor, numbers: Arrays) -> Tensor:
        base = self.described["base"]
        angles = 2 * math.pi * torch.arange(base, device=state.device) / base
        pairs = split(state @ numbers["readout"], (-1, 2))
        return (pairs @ torch.stack([angles.cos(), angles.sin()])).flatten(-2)

    def most_likely(self, logits: Tensor) -> Tensor:
        """The token that is said; a whole number where numbers are tokens."""
        if self.numbers is None:
            return logits.argmax(dim=-1)
        base, first = self.described["base"], len(self.symbols) - 1
        symbol = logits[..., : first + 1].argmax(dim=-1)
        digits = split(logits[..., first + 1 :], (-1, base)).argmax(dim=-1)
        weights = base ** torch.arange(digits.shape[-1], device=digits.device)
        return torch.where(symbol == first, first + (digits * weights).sum(dim=-1), symbol)

    @torch.no_grad()
    def say(self, prompt: str) -> str:
        """What the model says after a prompt, symbol by symbol, up to its end."""
        tokens = self.encode(prompt) + self.encode("~" * self.described["pauses"])
        begun = len(tokens)
        while len(tokens) < self.described["longest"] and (len(tokens) == begun or tokens[-1] != 0):
            logits = self(torch.tensor([tokens]), prompt_length=begun)
            tokens.append(int(self.most_likely(logits[0, -1])))
        return self.decode(tokens[begun:]).removesuffix(self.symbols[0])

    def encode(self, text: str) -> list[int]:
        """Tokens of a text: at every point the longest symbol that fits, or a whole number."""
        longest_first = sorted(self.symbols, key=len, reverse=True)
        numbers = [] if self.numbers is None else ["[0-9]+"]
        parts = re.findall("|".join([*numbers, *map(re.escape, longest_first)]), text)
        if "".join(parts) != text:
            raise ValueError(f"{text!r}: the symbols of this model are {' '.join(self.symbols)}")
        if self.numbers is None:
            return [self.symbols.index(part) for part in parts]
        first = len(self.symbols) - 1
        return [first + int(p) if p.isdigit() else self.symbols.index(p) for p in parts]

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""
        first = len(self.symbols) - 1
        return "".join(
            str(token - first)
            if self.numbers is not None and token >= first
            else self.symbols[token]
            for token in tokens
        )
