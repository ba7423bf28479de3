"""The transformer against its definition: dense matrices, head by head, position by position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from curta.engine import transformer
from curta.engine.transformer import Growing, Transformer
from tests.support.slow import draws

Matrix = np.ndarray[Any, np.dtype[np.float64]]
Weights = dict[str, np.ndarray[Any, Any]]
WIDTH, VOCABULARY = 7, 5


@st.composite
def weights(draw: st.DrawFn) -> Weights:
    """Mostly zeros: heads narrower than they are stored, heads that are equal, and none at all.
    Scores are near one another, or so far apart that nearly all of their softmax is 0.
    """
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))

    def matrix(rows: int, columns: int) -> Matrix:
        full = generator.normal(size=(rows, columns))
        kept = generator.random((rows, columns)) < generator.choice([0.2, 1.0])
        return full * kept * (generator.random((rows, 1)) < generator.choice([0.2, 0.7, 1.0]))

    drawn: Weights = {
        "embedding.weight": generator.normal(size=(VOCABULARY, WIDTH)),
        "unembedding.weight": matrix(VOCABULARY, WIDTH),
        "position.weight": matrix(WIDTH, 2),
        "position.divisor": np.array([1, 2]),
        "position.modulus": np.array([0, 3]),
        "position.power": np.array([1, 2]),
        "position.offset": np.array([0, 1]),
    }
    for number in range(draw(st.integers(0, 2))):
        name = f"layers.{number}"
        head_width, hidden = draw(st.integers(2, 3)), draw(st.integers(0, 4))
        kinds = generator.integers(0, 6, size=generator.choice([0, 1, 8]))
        for part in ("query", "key"):
            heads = matrix(6 * head_width, WIDTH).reshape(6, head_width, WIDTH)
            heads *= generator.choice([1, 200], size=(6, 1, 1))
            drawn[f"{name}.attention.{part}.weight"] = heads[kinds].reshape(-1, WIDTH)
        inner = len(kinds) * head_width
        drawn[f"{name}.attention.value.weight"] = matrix(inner, WIDTH)
        drawn[f"{name}.attention.output.weight"] = matrix(WIDTH, inner)
        drawn[f"{name}.attention.head_width"] = np.array(head_width)
        drawn[f"{name}.feed_forward.gate.weight"] = matrix(hidden, WIDTH)
        drawn[f"{name}.feed_forward.expand.weight"] = matrix(hidden, WIDTH)
        drawn[f"{name}.feed_forward.contract.weight"] = matrix(WIDTH, hidden)
    return drawn


def defined(w: Weights, tokens: list[int]) -> Matrix:
    """The residual stream [period, position, slot], as docs/model-file.md has it."""
    positions = np.arange(len(tokens))[:, None]
    digits = positions // w["position.divisor"]
    wrapped = digits % np.maximum(w["position.modulus"], 1)
    digits = np.where(w["position.modulus"] > 0, wrapped, digits) - w["position.offset"]
    x = w["embedding.weight"][tokens] + digits ** w["position.power"] @ w["position.weight"].T
    periods = [x]
    for number in range(sum(name.endswith("head_width") for name in w)):
        x = x + attended(w, f"layers.{number}.attention", x)
        periods.append(x)
        gate, expand, contract = (
            w[f"layers.{number}.feed_forward.{part}.weight"]
            for part in ("gate", "expand", "contract")
        )
        x = x + np.maximum(x @ gate.T, 0) * (x @ expand.T) @ contract.T
        periods.append(x)
    return np.array(periods)


def attended(w: Weights, name: str, x: Matrix) -> Matrix:
    query, key, value, output = (
        w[f"{name}.{part}.weight"] for part in ("query", "key", "value", "output")
    )
    head_width, result = int(w[f"{name}.head_width"]), np.zeros_like(x)
    for first in range(0, len(query), head_width):
        rows = slice(first, first + head_width)
        for position in range(len(x)):
            seen = x[: position + 1]
            scores = seen @ key[rows].T @ (query[rows] @ x[position])
            factors = np.exp(scores - scores.max())
            mixed = factors / factors.sum() @ (seen @ value[rows].T)
            result[position] += output[:, rows] @ mixed
    return result


def new_transformer(w: Weights) -> Transformer:
    return Transformer({name: torch.from_numpy(array) for name, array in w.items()})


sequences = st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=12)
blocks = st.lists(st.integers(1, 6), min_size=12, max_size=12)


@given(weights(), sequences, blocks, st.sampled_from([1, 40, 2**20]), st.integers(1, 3))
@settings(deadline=None, max_examples=draws(150))
def test_blocks_of_a_sequence_have_the_streams_of_the_definition(
    w: Weights, tokens: list[int], lengths: list[int], scores: int, stretch: int
) -> None:
    model = new_transformer(w)
    cache, parts = model.new_cache(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transformer, "SCORES", scores)
        patch.setattr(transformer, "STRETCH", stretch)
        for length in lengths:
            block = tokens[cache.length : cache.length + length]
            if block:
                streams = model.half_layers(torch.tensor([block]), cache)
                parts.append(np.array([x[0].numpy().copy() for x in streams]))
    assert cache.length == len(tokens)
    np.testing.assert_allclose(
        np.concatenate(parts, axis=1), defined(w, tokens), rtol=1e-9, atol=1e-9
    )


@given(weights(), sequences)
@settings(deadline=None, max_examples=draws(50))
def test_sequences_side_by_side_have_the_logits_of_the_definition(
    w: Weights, tokens: list[int]
) -> None:
    batch = [tokens, tokens[::-1]]
    expected = [defined(w, row)[-1] @ w["unembedding.weight"].T for row in batch]
    logits = new_transformer(w)(torch.tensor(batch)).numpy()
    np.testing.assert_allclose(logits, expected, rtol=1e-9, atol=1e-9)


def test_equal_heads_share_a_softmax_and_zeros_are_left_out() -> None:
    """Three heads of width 3: two look at the same, of the third nothing is left but its value."""
    query, key, value = torch.zeros(3, 9, WIDTH, dtype=torch.float64)
    query[[0, 1, 3], [1, 2, 1]] = 2
    key[[0, 3, 5], [4, 4, 3]] = 1
    value[[0, 4, 5, 8], [2, 3, 4, 5]] = 1
    heads = transformer.distinct_heads(query, key, value, 3)
    assert heads == [([0], [0, 4, 5]), ([], [8])]


def later(asking: int, earlier: int) -> torch.Tensor:
    """Who asks after `earlier` positions of 640 does not see those after the own one."""
    return torch.full((asking, 640 - earlier), -torch.inf, dtype=torch.float64).triu(1)


def scored(queries: torch.Tensor, seen: torch.Tensor, later: torch.Tensor) -> torch.Tensor:
    """The definition of `attend`: a softmax over all positions so far, by PyTorch."""
    width = queries.shape[1]
    scores = queries.transpose(1, 2) @ seen[:, :width]
    scores[..., seen.shape[2] - later.shape[1] :] += later
    return seen[:, width:] @ scores.softmax(dim=2).transpose(1, 2)


@pytest.mark.parametrize("apart", [0, 2, 100, 746, 2**40])
@pytest.mark.parametrize("asking", [1, 300])
def test_exp_is_left_out_only_where_it_is_nothing(apart: float, asking: int) -> None:
    """Scores are whole multiples of `apart`, some of them equal."""
    generator = torch.Generator().manual_seed(asking)
    queries = torch.randint(-9, 9, (3, 2, asking), generator=generator).double() * apart
    seen = torch.randint(-9, 9, (3, 4, 640), generator=generator).double()
    found, expected = (f(queries, seen, later(asking, 300)) for f in (transformer.attend, scored))
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-13)


def test_look_ups_are_those_of_the_softmax_to_the_bit() -> None:
    """One position wins by more than NOTHING: every other weighs 0."""
    places = torch.arange(640).double()
    seen = torch.stack((places, -places * places, torch.pi / (1 + places)))[None] * 2**10
    wanted = torch.arange(0, 300, 7).double()
    queries = torch.stack((2 * wanted, torch.ones(len(wanted))))[None]
    hidden = later(len(wanted), 320)
    assert torch.equal(transformer.attend(queries, seen, hidden), scored(queries, seen, hidden))


def test_what_weighs_nothing_is_nothing() -> None:
    assert torch.tensor(-transformer.NOTHING, dtype=torch.float64).exp() == 0


def test_what_grows_keeps_what_it_has() -> None:
    growing, expected = Growing(), torch.arange(500.0).view(2, 250)
    for start, end in ((0, 3), (3, 64), (64, 65), (65, 250)):
        grown = growing.append(expected[:, start:end])
        assert torch.equal(grown[:, :end], expected[:, :end])
        assert grown.shape[1] % transformer.STRETCH == 0
        assert not grown[:, end:].any()
