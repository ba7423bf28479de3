"""Evaluation: which problems are asked, and whether the counts are what decoding says."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import nullcontext
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from curta.errors import ExperimentError
from curta.learn.config import Sampling
from curta.learn.evaluation.decode import generate
from curta.learn.evaluation.intervals import share
from curta.learn.evaluation.judging import Judge, Tally
from curta.learn.evaluation.measure import Evaluation
from curta.learn.evaluation.probes import Commuted, can_commute, exchanged, relabelled
from curta.learn.evaluation.problems import Cell, Problems
from curta.learn.evaluation.summary import steps_until, summary
from curta.learn.experiment import EvaluationConfig, Setup
from curta.learn.keys import new_key
from curta.learn.language import Rows
from curta.learn.numbers import Number, number, to_integer
from curta.learn.problem import Problem
from curta.learn.sampling import uniform_digits
from tests.support.slow import all_but
from tests.support.tiny_runs import TINY, tiny, tiny_run

ROWS = 512
"""One shape for all tests, so that drawing is compiled once for each number of places."""


@cache
def problems() -> Problems:
    return Problems(tiny_run().setup, TINY.evaluation)


@cache
def judge() -> Judge:
    return Judge(tiny_run().setup, tiny_run().models())


def texts(setup: Setup, rows: Rows) -> list[str]:
    """Questions of the rows that count."""
    tokens, lengths = np.asarray(rows.tokens), np.asarray(rows.prompt_length)
    return [
        setup.language.alphabet.decode(tokens[row, : lengths[row]])
        for row in np.flatnonzero(np.asarray(rows.valid))
    ]


def operands(question: str) -> tuple[int, int]:
    a, b = re.findall(r"\d+", question)
    return int(a), int(b)


def carries_of(a: int, b: int) -> int:
    """Every carry turns ten into one, so nine of the digits' sum are lost."""
    digits = [sum(map(int, str(one))) for one in (a, b, a + b)]
    return (digits[0] + digits[1] - digits[2]) // 9


def test_exact_match_is_what_decoding_says() -> None:
    """Half of the answers are replaced by what the first model says, so that it is right there."""
    folder = tiny_run()
    setup = folder.setup
    source = problems().by_length(2)
    sizes = np.full((ROWS, 2), 2)
    rows = source.rows(sizes, "all", key=jax.random.key(5))
    model = judge().first
    said = np.asarray(jax.jit(lambda rows: generate(model, setup, rows))(rows))
    tokens, length = np.array(rows.tokens), np.array(rows.length)
    for row in range(0, ROWS, 2):
        prompt = int(rows.prompt_length[row])
        ends = np.flatnonzero(said[row, prompt:] == setup.language.alphabet.end)
        tokens[row] = said[row]
        length[row] = prompt + ends[0] + 1 if len(ends) else tokens.shape[1]
        tokens[row, length[row] :] = setup.language.alphabet.end
    changed = Rows(jnp.asarray(tokens), rows.prompt_length, jnp.asarray(length), rows.valid)
    marks = judge()(changed, np.ones(ROWS, bool))
    index = np.arange(tokens.shape[1])
    right = ((said == tokens) | (index >= length[:, None])).all(axis=1)
    assert right.sum() >= ROWS // 2
    assert not right.all()
    np.testing.assert_array_equal(np.asarray(marks.exact)[0, 0], right)
    wrong = np.asarray(marks.tokens) - np.asarray(marks.right)[0, 0]
    assert wrong.sum() == np.asarray(marks.wrong_at)[0, 0].sum()
    assert ((wrong == 0) == right).all()
    # A row that does not count is not counted anywhere.
    half = judge()(changed, right)
    assert np.asarray(half.wrong_at)[0, 0].sum() == 0
    assert np.asarray(half.tokens_at).sum() == np.asarray(marks.tokens)[right].sum()


def test_carries_are_those_of_the_sum() -> None:
    setup = problems().setup
    rows = (
        problems()
        .by_length(3)
        .rows(np.random.default_rng(0).integers(1, 4, (ROWS, 2)), "all", key=jax.random.key(1))
    )
    marks = judge()(rows, np.ones(ROWS, bool))
    expected = []
    for question in texts(setup, rows):
        a, b = operands(question)
        expected.append(carries_of(a, b))
    np.testing.assert_array_equal(np.asarray(marks.carries), expected)
    assert max(expected) >= 2


def test_parts_are_disjoint_and_test_problems_come_from_the_test_part() -> None:
    source = problems().by_length(2)
    sizes = np.random.default_rng(0).integers(1, 3, (ROWS, 2))
    seen, unseen = (
        set(texts(problems().setup, source.rows(sizes, split, key=jax.random.key(2))))
        for split in ("train", "test")
    )
    assert len(seen) > 200
    assert len(unseen) > 100
    assert not seen & unseen


def test_cells_know_what_was_trained_and_share_programs() -> None:
    cells = {cell.sizes: cell for cell in problems().cells}
    assert len(cells) == 9
    assert cells[2, 1] == Cell((2, 1), trained=True, split="test")
    assert cells[2, 3] == Cell((2, 3), trained=False, split="all")
    assert {places: len(group) for places, group in problems().buckets().items()} == {2: 4, 3: 5}
    primed = Problems(Setup(tiny(priming=(3, 3))), TINY.evaluation)
    assert {cell.split for cell in primed.cells if cell.sizes == (3, 3)} == {"test"}


def test_numbers_longer_than_the_table_of_places_are_refused() -> None:
    models = judge().models
    table = models.position_parameters["table"][:, :3]  # places 0, 1 and 2
    short = eqx.tree_at(lambda models: models.position_parameters["table"], models, table)
    for digits, fit in ((1, True), (2, False)):  # sums are a digit longer
        rows = problems().by_length(2).rows(np.full((ROWS, 2), digits), "all", key=new_key(0))
        with nullcontext() if fit else pytest.raises(ExperimentError, match="has places for"):
            Judge(tiny_run().setup, short)(rows, np.ones(ROWS, bool))


def test_trained_cells_are_what_training_draws() -> None:
    values = Problems(
        Setup(tiny(digits=(1, 1), sampling=Sampling(values=(0, 49)))),
        EvaluationConfig(digits=(1, 3)),
    )
    trained = {cell.sizes: cell.trained for cell in values.cells}
    assert trained == {(1, 1): True, (2, 2): True, (3, 3): False}
    rows = values.by_length(3).rows(
        np.full((ROWS, 2), 2), "test", key=jax.random.key(4), trained=True
    )
    found = [operands(question) for question in texts(values.setup, rows)]
    assert len(found) > ROWS / 2
    assert all(max(pair) <= 49 for pair in found)
    assert Problems(
        Setup(tiny(sampling=Sampling(values=(10, 49)))), EvaluationConfig()
    ).trained_digits == (2, 2)
    equal = Problems(Setup(tiny(equal=True)), EvaluationConfig(digits=(1, 2), grid=True))
    assert {cell.sizes for cell in equal.cells if cell.trained} == {(1, 1), (2, 2)}


def test_the_same_question_counts_once_in_an_interval() -> None:
    rows = problems().by_length(2).rows(np.full((ROWS, 2), 1), "all", key=jax.random.key(6))
    marks = jax.device_get(judge()(rows, np.ones(ROWS, bool)))
    counted = Tally(exact=np.zeros((2, 1)), right=np.zeros((2, 1)), logprob=np.zeros((2, 1)),
                    loss=np.zeros((2, 1)))  # fmt: skip
    counted.add(marks, np.ones(ROWS, bool))
    assert counted.samples == ROWS
    assert dict(Counter(counted.questions.values())) == dict(
        Counter(Counter(texts(problems().setup, rows)).values())
    )
    assert 60 < counted.independent < len(counted.questions) <= 100
    assert share([60.0], 60, 1).low < 0.21 < 0.9 < share([60.0], 60).low


def test_intervals_hold_where_some_questions_were_asked_often() -> None:
    """Of 200 questions four are asked 80 times each; each is answered rightly or not by chance."""
    times = np.array([80] * 4 + [1] * 196)
    asked = tally([0.0], int(times.sum()))
    asked.questions = Counter(dict(enumerate(times.tolist())))
    right = np.random.default_rng(0).random((2_000, len(times))) < 0.8
    intervals = [share([float(one @ times)], asked.samples, asked.independent) for one in right]
    held = np.mean([one.low <= 0.8 <= one.high for one in intervals])
    assert held > 0.9
    different = [share([float(one @ times)], asked.samples, len(times)) for one in right]
    assert np.mean([one.low <= 0.8 <= one.high for one in different]) < 0.6


def test_long_lengths_are_in_doubling_buckets() -> None:
    far = Problems(Setup(tiny()), EvaluationConfig(digits=(1, 30)))
    assert {places: len(cells) for places, cells in far.buckets().items()} == {
        2: 2, 4: 2, 8: 4, 16: 8, 30: 14,
    }  # fmt: skip


def test_lengths_can_be_named() -> None:
    config = EvaluationConfig(lengths=(2, 3, 30))
    far = Problems(Setup(tiny(evaluation=config)), config)
    assert [cell.sizes for cell in far.cells] == [(2, 2), (3, 3), (30, 30)]
    assert [cell.trained for cell in far.cells] == [True, False, False]
    assert far.setup.longest > 60 > Setup(tiny()).longest
    with pytest.raises(
        ExperimentError, match="evaluation lengths = \\(0,\\): each must be at least"
    ):
        EvaluationConfig(lengths=(0,))


def test_values_outside_of_the_trained_range() -> None:
    rows = problems().outside().rows(np.ones((ROWS, 2), int), "all", key=jax.random.key(3))
    found = [operands(question) for question in texts(problems().setup, rows)]
    assert all(max(a, b) > 99 for a, b in found)
    assert any(min(a, b) <= 99 for a, b in found)
    within = EvaluationConfig(values=(5, 99))
    with pytest.raises(ExperimentError, match=r"5\.\.99 lie within the trained ones, 0\.\.99"):
        Problems(Setup(tiny()), within).outside()


def test_a_grid_is_for_two_operands() -> None:
    three = Problems(problems().setup, EvaluationConfig(grid=True))
    three.setup.sampler.operand_range, held = (3, 3), three.setup.sampler.operand_range
    try:
        with pytest.raises(ExperimentError, match="has up to 3 operands, a grid is for two"):
            list(three.all_sizes())
    finally:
        three.setup.sampler.operand_range = held


def test_commuted_questions_are_new_one_way_round_only() -> None:
    source = problems().by_length(2)
    sizes = np.full((ROWS, 2), 2)
    train, test = (
        {
            question
            for seed in range(8)
            for question in texts(
                problems().setup, source.rows(sizes, split, key=jax.random.key(seed))
            )
        }
        for split in ("train", "test")
    )
    assert len(train) > 2500
    assert len(test) > 700
    rows = Commuted(source.sampler).rows(sizes, key=jax.random.key(4))
    found = [operands(question) for question in texts(problems().setup, rows)]
    assert len(found) > 400
    for a, b in found:
        assert f"{a}+{b}=" not in train
        assert f"{b}+{a}=" not in test
    alike = Problems(Setup(tiny(mirrored=False)), EvaluationConfig())
    assert can_commute(problems())
    assert not can_commute(alike)


COMMUTATIVE = (
    "addition", "multi_addition(numbers=2)", "multiplication", "modular(modulus=7)",
    "modular(operation='*', shown=False)", "max(numbers=2)", "min(numbers=2)", "bitwise_or",
)  # fmt: skip


@pytest.mark.parametrize("task", all_but(COMMUTATIVE[::3], COMMUTATIVE))
@pytest.mark.slow
def test_answers_of_commutative_tasks_stay(task: str) -> None:
    language = Setup(tiny(task=task, format="plain", positions="rope")).language
    assert language.task.commutative
    sizes = jnp.array([2, 2])

    def both(key: Array) -> tuple[Problem, Problem]:
        digits = uniform_digits(sizes, 2, 10, language.task.leading_zeros, key)
        numbers = jax.vmap(lambda digits, length: number(digits, length))(digits, sizes)
        turned = jax.tree.map(lambda leaf: leaf[::-1], numbers)
        problem, other = (language.problem(each, key=key) for each in (numbers, turned))
        return exchanged(problem), other

    one, other = jax.vmap(both)(jax.random.split(new_key(1), 64))
    for ours, theirs in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize(
    "task",
    [
        "subtraction", "mixed", "division", "modular(operation='-')", "decimals(operation='-')",
        "comparison", "multiplication(second=1)", "sorting(numbers=2)", "copy",
    ],
)  # fmt: skip
def test_tasks_that_do_not_commute_are_not_asked_to(task: str) -> None:
    form = Setup(tiny(task=task, format="plain", positions="rope"))
    assert not can_commute(Problems(form, EvaluationConfig()))


FORMS = ("plain", "reversed", "symbolic", "hints", "spaces", "sentences")


@pytest.mark.parametrize("form", all_but(("hints", "sentences"), FORMS))
def test_difficulty_is_that_of_the_problem_in_every_format(form: str) -> None:
    setup = Setup(tiny(format=form, positions="rope", digits=(1, 4)))
    rows, problems = setup.sampler.drawn(ROWS, key=jax.random.key(0))
    a, b = (np.asarray(to_integer(each)) for each in problems.question if isinstance(each, Number))
    assert rows.difficulty is not None
    lengths = [[len(str(one)) for one in pair] for pair in zip(a, b, strict=True)]
    np.testing.assert_array_equal(rows.difficulty.digits, lengths)
    expected = [carries_of(int(one), int(two)) for one, two in zip(a, b, strict=True)]
    np.testing.assert_array_equal(rows.difficulty.carries, expected)


def test_carries_of_decimals_are_aligned_at_the_point() -> None:
    setup = Setup(
        tiny(task="decimals(fraction=2)", format="plain", positions="rope", digits=(1, 4))
    )
    rows = setup.sampler.rows(ROWS, key=jax.random.key(0))
    assert rows.difficulty is not None
    expected = []
    for question in texts(setup, rows):
        a, b = (round(10_000 * float(one)) for one in question[:-1].split("+"))
        expected.append(carries_of(a, b))
    np.testing.assert_array_equal(
        np.asarray(rows.difficulty.carries)[np.asarray(rows.valid)], expected
    )


OTHERS = ("subtraction", "multi_addition(numbers=3)", "copy", "modular")


@pytest.mark.parametrize("task", all_but(OTHERS[1:3], OTHERS))
@pytest.mark.slow
def test_only_sums_of_two_numbers_carry(task: str) -> None:
    setup = Setup(tiny(task=task, format="plain", positions="rope"))
    rows = setup.sampler.rows(ROWS, key=jax.random.key(0))
    assert rows.difficulty is not None
    asked = [len(re.findall(r"\d+", text)) == 2 and "+" in text for text in texts(setup, rows)]
    counted = np.asarray(rows.difficulty.carries)[np.asarray(rows.valid)] >= 0
    np.testing.assert_array_equal(counted, asked)


SHUFFLED = ("plain", "symbolic", "symbolic(share=0.5)")


@pytest.mark.parametrize("form", all_but(SHUFFLED[2:], SHUFFLED))
@pytest.mark.slow
def test_relabelled_digits_are_all_others(form: str) -> None:
    asked = Problems(Setup(tiny(format=form)), EvaluationConfig())
    rows = asked.by_length(2).rows(np.full((ROWS, 2), 2), "all", key=jax.random.key(0))
    alphabet = asked.setup.language.alphabet
    changed = relabelled(rows, alphabet, key=jax.random.key(1))
    before, after = np.asarray(rows.tokens), np.asarray(changed.tokens)
    pairs = set(zip(before.ravel().tolist(), after.ravel().tolist(), strict=True))
    image = dict(pairs)
    assert len(pairs) == len(image) == len(set(image.values()))
    digits = range(alphabet.first_digit, alphabet.first_digit + alphabet.digit_tokens)
    assert all((image[token] != token) == (token in digits) for token in image)


def tally(exact: list[float], samples: int = 100) -> Tally:
    column = np.array(exact)[:, None]
    questions = Counter(range(samples))
    return Tally(samples, 2 * samples, samples, column, 2 * column, -column, column, questions)


def test_the_figures_of_known_counts() -> None:
    found = Evaluation(loops=(1,), own_loops=1, seeds=(0, 1))
    found.suites = {"test": tally([100, 99]), "train": tally([100, 100])}
    found.cells = [
        (Cell((1, 1), True, "test"), tally([100, 96])),
        (Cell((2, 2), False, "all"), tally([97, 90])),
        (Cell((3, 3), False, "all"), tally([94, 100])),
    ]
    figures = summary(found, solved=0.95)
    assert figures["exact.test"].seeds == (1.0, 0.99)
    assert figures["exact@2"].value == pytest.approx(0.935)
    assert figures["exact.longer"].seeds == pytest.approx((0.955, 0.95))
    assert figures["length@0.95"].seeds == (2.0, 1.0)
    assert figures["solved_seeds"].value == 1
    assert figures["loss.test"].value == pytest.approx(0.995)
    found.suites["ood"] = tally([95, 94])
    assert summary(found, solved=0.95)["solved_seeds"].seeds == (1.0, 0.0)


def test_steps_are_counted_until_a_share_is_right() -> None:
    """Of the seeds that get there, once is enough; and how many do."""
    lines = [{"step": 50 * (n + 1), "exact": exact} for n, exact in enumerate(zip(
        (0.5, 0.99, 0.9, 1.0), (0.98, 0.98, 0.995, 0.2), (0.0, 0.1, 0.2, 0.3), strict=True,
    ))]  # fmt: skip
    figures = steps_until(lines, 0.99)
    assert figures["steps@0.99"].seeds == (100, 150)
    assert figures["reached@0.99"].seeds == (1, 1, 0)
    assert set(steps_until(lines, 0.999)) == {"steps@0.999", "reached@0.999"}
    assert set(steps_until(lines[:1], 0.99)) == {"reached@0.99"}
    assert steps_until([], 0.99) == {}


def test_the_run_measured_everything_for_all_seeds_and_loops() -> None:
    evaluation = tiny_run().evaluation
    assert evaluation is not None
    assert evaluation["loops"] == [1, 2]
    assert all(len(cell["exact"]) == 2 for cell in evaluation["cells"])
    untrained = [cell for cell in evaluation["cells"] if not cell["trained"]]
    assert {cell["samples"] for cell in untrained} == {8}
    assert len(evaluation["summary"]["reached@0.99"]["seeds"]) == 2
    names = ("exact.ood", "exact@3", "exact@1x3", "exact.commuted", "exact.relabelled")
    for name in (*names, "loss.train", "solved_seeds"):
        assert len(evaluation["summary"][name]["seeds"]) == 2
        assert f"{name}/loops=2" in evaluation["summary"]
    assert {one["kind"] for one in evaluation["samples"]} == {"test", "longer", "ood"}
