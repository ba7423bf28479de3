"""Hull caches in PyTorch models, against the models' own softmax and against brute force."""

from __future__ import annotations

import copy
import math
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import curta.engine.hull
from curta.errors import HullError

torch = pytest.importorskip("torch")
from torch import Tensor, nn  # noqa: E402

from curta.engine.hull import (  # noqa: E402
    AttentionOptions,
    Backend,
    CausalAttention,
    HullAttention,
    attach,
    hull_attention,
)
from tests.support.slow import draws  # noqa: E402

MORE_THAN_ALL = 64


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def causal_mask(tokens: int) -> Tensor:
    return nn.Transformer.generate_square_subsequent_mask(tokens)


def multihead(width: int = 2, batch_first: bool = True, bias: bool = True) -> nn.Module:
    module = nn.MultiheadAttention(4 * width, 4, bias=bias, batch_first=batch_first).eval()
    for parameter in module.parameters():
        parameter.normal_()
    return module


def encoder(batch_first: bool = True) -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 4, 16, batch_first=batch_first)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


class OwnBlock(nn.Module):
    """How a user's own attention class looks, with CausalAttention in it."""

    def __init__(self, heads: int, width: int, value_width: int) -> None:
        super().__init__()
        self.heads = heads
        self.sizes = (heads * width, heads * width, heads * value_width)
        self.project = nn.Linear(8, sum(self.sizes))
        self.attention = CausalAttention()
        self.out = nn.Linear(self.sizes[2], 8)

    def forward(self, x: Tensor) -> Tensor:
        parts = self.project(x).split(self.sizes, dim=-1)
        heads = [part.unflatten(-1, (self.heads, -1)).transpose(-2, -3) for part in parts]
        return x + self.out(self.attention(*heads).transpose(-2, -3).flatten(-2))


def own_model(width: int = 2) -> nn.Module:
    return nn.Sequential(OwnBlock(3, width, 5), OwnBlock(2, width, 1)).eval()


def hard_by_brute_force(query: Tensor, key: Tensor, value: Tensor, ties: str) -> Tensor:
    """For small integers, whose scores are exact."""
    answers = torch.empty_like(value)
    for t in range(key.shape[-2]):
        scores = key[..., : t + 1, :] @ query[..., t, :, None]
        best = scores == scores.amax(-2, keepdim=True)
        if ties == "latest":
            best = best & (best.flip(-2).cumsum(-2).flip(-2) == 1)
        weights = best.to(value.dtype)
        answers[..., t, :] = (weights * value[..., : t + 1, :]).sum(-2) / weights.sum(-2)
    return answers


# ---- tensors ----


@given(
    rows=st.sampled_from([(), (3,), (2, 2)]),
    tokens=st.integers(1, 12),
    width=st.integers(2, 3),
    ties=st.sampled_from(["latest", "average"]),
    seed=st.integers(0, 99),
)
@settings(max_examples=draws(60), deadline=None)
def test_the_hard_maximum_of_tensors(
    rows: tuple[int, ...], tokens: int, width: int, ties: str, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    query, key = (
        torch.randint(-3, 4, (*rows, tokens, width), generator=generator).double() for _ in "qk"
    )
    value = torch.randint(-9, 10, (*rows, tokens, 2), generator=generator).double()
    found = hull_attention(query, key, value, mode="hard", ties=ties)
    torch.testing.assert_close(found, hard_by_brute_force(query, key, value, ties))


@pytest.mark.parametrize("scale", [None, 0.3])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_all_keys_are_softmax_attention(dtype: torch.dtype, scale: float | None) -> None:
    query, key = torch.randn(2, 2, 3, 40, 2).to(dtype)
    value = torch.randn(2, 3, 40, 7).to(dtype)
    found = hull_attention(query, key, value, k=MORE_THAN_ALL, scale=scale)
    expected = nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=True, scale=scale
    )
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected)


def test_any_division_of_a_sequence_gives_the_same(backend: Backend) -> None:
    query, key, value = torch.randn(3, 2, 30, 2, dtype=torch.float64)
    for options in (
        AttentionOptions("hard", backend=backend),
        AttentionOptions("topk", 4, backend=backend),
    ):
        whole = HullAttention(options).feed(query, key, value)
        attention = HullAttention(options)
        parts = [
            attention.feed(*(tensor[:, start:stop] for tensor in (query, key, value)))
            for start, stop in ((0, 1), (1, 2), (2, 20), (20, 20), (20, 30))
        ]
        torch.testing.assert_close(torch.cat(parts, dim=-2), whole, rtol=0, atol=0)
        assert attention.tokens == 30
        assert attention.memory_bytes() > 0


@pytest.mark.parametrize("mode", ["hard", "topk"])
def test_a_refused_token_changes_nothing(mode: str, backend: Backend) -> None:
    attention = HullAttention(AttentionOptions(mode, backend=backend))
    good = torch.ones(2, 1, 2)
    attention.feed(good, good, good)
    bad = good.clone()
    bad[1, 0, 1] = math.nan
    for tensors in ((bad, good, good), (good, bad, good), (good, good, bad)):
        with pytest.raises(HullError, match="nan"):
            attention.feed(*tensors)
    assert attention.tokens == 1
    with pytest.raises(HullError, match=r"this sequence began with rows \[2\]"):
        attention.feed(good[:1], good[:1], good[:1])
    attention.reset()
    assert attention.feed(good[:1], good[:1], good[:1]).shape == (1, 1, 2)
    attention.reset()
    assert attention.feed(good[:0], good[:0], good[:0]).shape == (0, 1, 2)


def test_tensors_that_do_not_fit_are_named() -> None:
    ones = torch.ones
    with pytest.raises(HullError, match=r"query \[4, 2\], key \[5, 2\]"):
        hull_attention(ones(4, 2), ones(5, 2), ones(5, 2))
    with pytest.raises(HullError, match=r"value \[4, 2\]"):
        hull_attention(ones(5, 2), ones(5, 2), ones(4, 2))
    with pytest.raises(HullError, match="the key has heads of width 3: top-k is for"):
        hull_attention(ones(5, 3), ones(5, 3), ones(5, 2))
    with pytest.raises(HullError, match="the key has heads of width 64: hull caches are for"):
        hull_attention(ones(5, 64), ones(5, 64), ones(5, 2))
    with pytest.raises(HullError, match="mode='soft'"):
        hull_attention(ones(5, 2), ones(5, 2), ones(5, 2), mode="soft")
    with pytest.raises(HullError, match="k=0"):
        hull_attention(ones(5, 2), ones(5, 2), ones(5, 2), k=0)


# ---- models ----


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("is_batched", [True, False])
def test_multihead_attention_with_all_keys(bias: bool, batch_first: bool, is_batched: bool) -> None:
    module = multihead(batch_first=batch_first, bias=bias)
    x = torch.randn(5, 6, 8) if is_batched else torch.randn(5, 8)
    tokens = 6 if is_batched and batch_first else 5
    expected, _ = module(x, x, x, attn_mask=causal_mask(tokens))
    with attach(module, k=MORE_THAN_ALL):
        for mask in (causal_mask(tokens), torch.ones(tokens, tokens).triu(1).bool()):
            found, weights = module(x, x, x, attn_mask=mask)
            torch.testing.assert_close(found, expected)
            assert weights is None
    torch.testing.assert_close(module(x, x, x, attn_mask=causal_mask(tokens))[0], expected)


def test_multihead_attention_takes_the_hard_maximum() -> None:
    module = multihead().double()
    x = torch.randn(2, 30, 8, dtype=torch.float64)
    parts = nn.functional.linear(x, module.in_proj_weight, module.in_proj_bias).chunk(3, -1)
    heads = [part.unflatten(-1, (4, 2)).transpose(1, 2) for part in parts]
    expected = module.out_proj(hard_by_brute_force(*heads, "latest").transpose(1, 2).flatten(-2))
    with attach(module, mode="hard"):
        found, _ = module(x, x, x, attn_mask=causal_mask(30), is_causal=True)
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("batch_first", [True, False])
def test_the_fused_path_of_encoder_layers_is_closed(batch_first: bool) -> None:
    model = encoder(batch_first)
    x = torch.randn(3, 7, 8) if batch_first else torch.randn(7, 3, 8)
    mask = causal_mask(7)
    plain = model(x, mask=mask, is_causal=True)
    with attach(model, k=MORE_THAN_ALL) as hulls:
        assert hulls.modules == ("layers.0.self_attn", "layers.1.self_attn")
        torch.testing.assert_close(model(x, mask=mask, is_causal=True), plain)
    with attach(model, mode="hard"):
        assert not torch.allclose(model(x, mask=mask, is_causal=True), plain)
    torch.testing.assert_close(model(x, mask=mask, is_causal=True), plain, rtol=0, atol=0)


def test_a_model_of_ones_own() -> None:
    model = own_model()
    x = torch.randn(3, 11, 8)
    plain = model(x)
    with attach(model, k=MORE_THAN_ALL) as hulls:
        assert hulls.modules == ("0.attention", "1.attention")
        torch.testing.assert_close(model(x), plain)
    with attach(model, mode="hard", modules=["1.attention"]) as hulls:
        assert hulls.modules == ("1.attention",)
        assert not torch.allclose(model(x), plain)
    with attach(own_model(width=3), mode="hard"):
        pass


@pytest.mark.parametrize("mode", ["hard", "topk"])
def test_a_stream_says_what_the_whole_sequence_does(mode: str) -> None:
    x = torch.randn(2, 12, 8)
    for model, arguments in ((own_model(), {}), (encoder(), {"mask": causal_mask(12)})):
        with attach(model, mode=mode, k=3) as hulls:
            whole = model(x, **arguments)
            for _ in range(2):
                with hulls.stream():
                    steps = []
                    for t in range(12):
                        assert hulls.tokens == t
                        steps.append(model(x[:, t : t + 1]))
                    assert hulls.memory_bytes() > 0
                assert hulls.tokens == 0
                torch.testing.assert_close(torch.cat(steps, dim=1), whole)
            torch.testing.assert_close(model(x, **arguments), whole, rtol=0, atol=0)


def test_a_prompt_in_one_call_then_tokens() -> None:
    model, x = encoder(), torch.randn(1, 9, 8)
    with attach(model, k=3) as hulls:
        whole = model(x, mask=causal_mask(9))
        with hulls.stream():
            parts = [model(x[:, :5], mask=causal_mask(5))]
            parts += [model(x[:, t : t + 1]) for t in range(5, 9)]
            torch.testing.assert_close(torch.cat(parts, dim=1), whole)
            hulls.reset()
            torch.testing.assert_close(model(x[:, :5], mask=causal_mask(5)), parts[0])


def test_a_half_done_call_is_noticed() -> None:
    model = own_model()
    with attach(model) as hulls, hulls.stream():
        model(torch.randn(1, 1, 8))
        model[0](torch.randn(1, 1, 8))
        with pytest.raises(HullError, match=r"hold \[1, 2\] tokens"):
            _ = hulls.tokens
        hulls.reset()
        assert hulls.tokens == 0


def test_detached_is_as_before() -> None:
    model = encoder()
    before = {name: dict(module.__dict__) for name, module in model.named_modules()}
    names = list(model.state_dict())
    hulls = attach(model)
    assert list(model.state_dict()) == names
    with pytest.raises(HullError, match=r"layers.0.self_attn is attached .* already"):
        attach(model)
    hulls.detach()
    hulls.detach()
    assert {name: dict(module.__dict__) for name, module in model.named_modules()} == before
    with pytest.raises(HullError, match="detached"), hulls.stream():
        pass
    with pytest.raises(HullError, match="detached"):
        hulls.__enter__()
    with pytest.raises(HullError, match="detached"):
        _ = hulls.tokens


def test_a_copy_of_an_attached_model_uses_its_own_weights() -> None:
    model, x = own_model(), torch.randn(1, 5, 8)
    with attach(model, k=MORE_THAN_ALL):
        copied = copy.deepcopy(model)
        expected = model(x)
        for parameter in model.parameters():
            parameter.zero_()
        torch.testing.assert_close(copied(x), expected)


def test_training_is_refused() -> None:
    model = own_model()
    with pytest.raises(HullError, match=r"training mode.*eval"):
        attach(model.train())
    with attach(model.eval()):
        model.train()
        with pytest.raises(HullError, match=r"0.attention is in training mode"):
            model(torch.randn(1, 3, 8))
        model.eval()
        with torch.enable_grad(), pytest.raises(HullError, match="no gradients"):
            model(torch.randn(1, 3, 8, requires_grad=True))


def test_other_models_are_refused() -> None:
    with pytest.raises(HullError, match="no attention that hull caches know"):
        attach(nn.Linear(2, 2).eval())
    with pytest.raises(HullError, match="the model has heads of width 8: hull caches are for"):
        attach(multihead(width=8))
    with pytest.raises(HullError, match="no module 'nothing'"):
        attach(own_model(), modules=["nothing"])
    with pytest.raises(HullError, match="0 is a OwnBlock"):
        attach(own_model(), modules=["0"])
    shared = nn.ModuleList([nn.ModuleDict({"core": CausalAttention()})] * 2).eval()
    with pytest.raises(HullError, match=r"0.core and 1.core are one module"):
        attach(shared)
    for options in ({"kdim": 4}, {"add_bias_kv": True}, {"add_zero_attn": True}):
        with pytest.raises(HullError, match="hull caches"):
            attach(nn.MultiheadAttention(8, 4, **options).eval())


def test_other_calls_are_refused() -> None:
    module, x = multihead(), torch.randn(1, 4, 8)
    with attach(module):
        with pytest.raises(HullError, match="without a mask"):
            module(x, x, x)
        with pytest.raises(HullError, match="self-attention"):
            module(x, x.clone(), x)
        with pytest.raises(HullError, match="padding mask"):
            module(x, x, x, is_causal=True, key_padding_mask=torch.tensor([[False] * 3 + [True]]))
        for mask in (causal_mask(5), causal_mask(4).T, causal_mask(4) + 0.5):
            with pytest.raises(HullError, match="not the causal one for 4 tokens"):
                module(x, x, x, attn_mask=mask)


def test_the_caches_do_without_torch() -> None:
    script = """
import sys
sys.modules["torch"] = None
import curta.engine.hull as hull
from curta.errors import UserError
hull.HullCache(1, backend="python").insert((1, 2), (3,))
try:
    hull.attach
except UserError as error:
    print(error)
"""
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert finished.stdout.strip() == "attach needs PyTorch: pip install 'curta[torch]'"


def test_what_is_exported() -> None:
    assert {"attach", "CausalAttention", "HullCache"} <= set(dir(curta.engine.hull))
    assert all(hasattr(curta.engine.hull, name) for name in dir(curta.engine.hull))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = curta.engine.hull.nothing
