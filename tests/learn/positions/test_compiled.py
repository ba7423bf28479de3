"""Compiled heads fetch what their rules say, at any length, and nothing else."""

from __future__ import annotations

import re
from random import Random

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from curta.errors import ExperimentError
from curta.learn import catalogue
from curta.learn.config import ModelConfig, Sampling
from curta.learn.evaluation.exact import generated_right, teacher_forced
from curta.learn.experiment import Experiment, Setup
from curta.learn.keys import new_key
from curta.learn.language import Language, Rows
from curta.learn.models.transformer import Transformer
from curta.learn.positions.compiled import Compiled
from curta.learn.positions.retrievals import RULES, retrievals
from curta.learn.reading import read
from curta.learn.training.loop import train
from curta.learn.training.state import new_model, of_seed
from tests.support.filled_models import filled
from tests.support.slow import draws
from tests.support.written_rows import places_of, written_rows


def fetched(texts: list[str], heads: str, spoken: Language) -> np.ndarray:
    """What each token fetches, [text, head, token]; -1 for nothing."""

    @jax.jit
    def targets(rows: Rows) -> list[jax.Array]:
        reading = read(rows.tokens, rows.prompt_length, spoken)
        return [retrieval.fetched(reading) for retrieval in retrievals(heads)]

    return np.stack(targets(written_rows(spoken, texts)), axis=1)


def digits(text: str, *, from_last: bool) -> dict[tuple[int, int], int]:
    """Where the digit of each significance of each number stands, by number and significance."""
    found, prompt = {}, text.index("=") + 1
    for number, match in enumerate(re.finditer("[0-9]+", text), start=1):
        last_first = match.start() >= prompt and from_last
        for place in range(match.start(), match.end()):
            behind = place - match.start() + 1 if last_first else match.end() - place
            found[number, behind] = place
    return found


def sums(random: Random, width: int) -> tuple[int, int]:
    a, b = (random.randrange(10 ** random.randint(1, width)) for _ in range(2))
    if random.random() < 0.5:  # long rows of nines
        b = max(0, 10 ** len(str(a)) - 1 - a + random.choice((0, 10, 100)))
    return a, b


COLUMNS = "first second first-1 second-1 origin_first origin_second"


@pytest.mark.parametrize("format_name", ["reversed", "padded"])
def test_digits_of_a_sum(format_name: str) -> None:
    """Both digits of the place that is written next, of the one below, and where a carry arises."""
    random, from_last = Random(0), format_name == "reversed"
    spoken = Language(catalogue.task("addition"), catalogue.format_(format_name))
    problems = [sums(random, 9) for _ in range(draws(200))]
    texts = []
    for a, b in problems:
        wide = 0 if from_last else max(len(str(a)), len(str(b)))
        said = str(a + b)[::-1] if from_last else str(a + b).zfill(wide + 1)
        texts.append(f"{a:0{wide}}+{b:0{wide}}={said}#")
    targets = fetched(texts, COLUMNS, spoken)
    for (a, b), text, found in zip(problems, texts, targets, strict=True):
        where, prompt, end = digits(text, from_last=from_last), text.index("="), text.index("#")
        for at in range(prompt, end - 1):
            place = at - prompt + 1 if from_last else end - 1 - at
            origin = place - 1
            while origin and a // 10 ** (origin - 1) % 10 + b // 10 ** (origin - 1) % 10 == 9:
                origin -= 1
            expected = [
                where.get((number, which), -1)
                for which in (place, place - 1, origin)
                for number in (1, 2)
            ]
            assert found[:, at].tolist() == expected, (text, place)


PARTIALS = (
    "multiplicand multiplicand-1 multiplier multiplier+1 last last_but_one mark mark-1 token-1"
)


def worked(a: int, b: int) -> str:
    """57*24=822+0411=8631;8631#"""
    text, total = f"{a}*{b}=", 0
    for step, digit in enumerate(map(int, str(b)[::-1])):
        product = a * digit * 10**step
        total += product
        parts = [product] if step == 0 else [product, total]
        text += "+" * (step > 0) + "=".join(str(part)[::-1] for part in parts)
    return f"{text};{str(total)[::-1]}#"


def test_digits_of_worked_products() -> None:
    """Partial products and their totals, at every digit of them."""
    random = Random(1)
    spoken = Language(catalogue.task("multiplication"), catalogue.format_("revorder"))
    texts = [
        worked(random.randrange(10**5), random.randrange(10 ** random.randint(1, 4)))
        for _ in range(draws(60))
    ]
    for text, found in zip(texts, fetched(texts, PARTIALS, spoken), strict=True):
        where = digits(text, from_last=True)
        marks = [place for place, letter in enumerate(text) if not letter.isdigit()]
        for (number, significance), at in where.items():
            if at <= text.index("="):
                continue
            step, before = (number - 2) // 2, [place for place in marks if place < at]
            wanted = [
                (1, significance - step),
                (1, significance - step - 1),
                (2, step + 1),
                (2, step + 2),
                (number - 1, significance),
                (number - 2, significance),
            ]
            expected = [where.get(digit, -1) for digit in wanted]
            expected += [before[-1], before[-2], at - 2]
            assert found[:, at - 1].tolist() == expected, (text, number, significance)


HERE = Setup(
    Experiment(
        positions="compiled(heads='first second first-1', others='alibi')",
        model=ModelConfig(width=8, layers=2, heads=4, feedforward=12),
        sampling=Sampling(digits=(1, 3)),
    )
)


def drawn(here: Setup) -> Rows:
    return written_rows(here.language, ("57+24=18#", "999+1=0001#"), width=here.sampler.width)


@pytest.mark.parametrize("frozen", [True, False])
def test_attention_is_on_what_is_fetched(frozen: bool) -> None:
    """All of it, if it is frozen; elsewhere on the last token of the prompt."""
    positions = f"compiled(heads='first second first-1', others='alibi', frozen={frozen})"
    here = Setup(HERE.experiment.with_(positions=positions))
    model, rows = filled(lambda: new_model(here, key=new_key(0))), drawn(here)
    places = places_of(here, rows)
    context = model.context(places, rows.tokens.shape[1])
    query, held = model.blocks[0].projected(model.embed(rows.tokens, places), context)
    attention = np.asarray(model.blocks[0].attention(query, held, context))
    # 5 7 + 2 4 = 1 8: behind "=" the digits 7 and 4, behind "1" 5 and 2 and, below, 7.
    for head, token, wanted in ((0, 5, 1), (1, 5, 4), (2, 5, 5), (0, 6, 0), (1, 6, 3), (2, 6, 1)):
        assert (attention[0, head, token, wanted] == 1) == frozen
    np.testing.assert_allclose(attention.sum(axis=-1), 1, atol=1e-6)
    assert (attention[0, 3, 6, :7] > 0).all()  # the head that is free


def test_trained_sharpness_has_a_gradient_and_frozen_heads_ignore_queries() -> None:
    rows = drawn(HERE)

    def gradients(here: Setup) -> object:
        model = filled(lambda: new_model(here, key=new_key(0)))
        places = places_of(here, rows)

        @eqx.filter_jit
        @eqx.filter_grad
        def of_all(model: Transformer) -> jax.Array:
            return jnp.sin(model(rows.tokens, places)).sum()

        return of_all(model)

    frozen = gradients(HERE)
    columns = np.asarray(frozen.blocks[0].projection).reshape(8, 3, 4, 2)  # type: ignore[attr-defined]
    assert np.abs(columns[:, :2, :3]).max() < 1e-6  # queries and keys of compiled heads
    assert np.abs(columns[:, :2, 3]).max() > 1e-4
    assert np.abs(columns[:, 2]).max() > 1e-4
    trainable = "compiled(heads='first second first-1', frozen=False, sharpness=1)"
    free = gradients(Setup(HERE.experiment.with_(positions=trainable)))
    assert np.abs(free.position_parameters["sharpness"]).min() > 1e-6  # type: ignore[attr-defined]


def test_decoding_says_what_one_pass_judges() -> None:
    """The cache keeps places of several numbers each."""
    model = filled(lambda: new_model(HERE, key=new_key(0)))
    rows = HERE.sampler.rows(16, key=new_key(1), split="all")
    said = generated_right(model, HERE, rows)
    assert (teacher_forced(model, HERE, rows).exact[0] == said).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format_name", "heads"),
    [
        ("reversed", "first second first-1 second-1"),
        ("padded", "first second origin_first origin_second"),
    ],
)
def test_short_sums_teach_long_ones_and_long_carries(format_name: str, heads: str) -> None:
    """Sums of 80 digits, in which one carry goes almost all the way."""
    here = Setup(
        Experiment(
            format=format_name,
            positions=f"compiled(heads={heads!r})",
            model=ModelConfig(width=64, layers=1, heads=4, feedforward=256),
            sampling=Sampling(digits=(1, 4)),
        ).with_(steps=1500, batch=64, learning_rate=3e-3)
    )
    model, random, texts = of_seed(train(here), 0), Random(0), []
    for _ in range(20):
        a = random.randrange(10**79, 9 * 10**79)
        b = 10**80 - 1 - a + random.choice((0, 10 ** random.randrange(10)))
        said = str(a + b)[::-1] if format_name == "reversed" else f"{a + b:081}"
        texts.append(f"{a}+{b:080}={said}#")
    assert teacher_forced(model, here, written_rows(here.language, texts)).exact[0].mean() > 0.9


@pytest.mark.parametrize(
    ("positions", "error"),
    [
        ("compiled(heads='first third')", "'third' is not what a compiled head can fetch"),
        ("compiled(heads='first-')", "write RULE, RULE\\+k or RULE-k"),
        ("compiled(heads='')", "at least one"),
        ("compiled(others='compiled')", "name a simple scheme"),
        ('combined(first="compiled", second="fire")', "several places"),
        ("compiled(heads='first second first second first')", "set heads=5 or more"),
    ],
)
def test_what_is_refused(positions: str, error: str) -> None:
    with pytest.raises(ExperimentError, match=error):
        new_model(Setup(HERE.experiment.with_(positions=positions)), key=jax.random.key(0))


def test_every_rule_says_what_it_fetches() -> None:
    assert all(about for about, _ in RULES.values())
    assert [str(one.rule) for one in Compiled().fetching] == ["first", "second", "first", "second"]
