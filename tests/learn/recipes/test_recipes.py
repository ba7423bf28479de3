"""Every preset of every recipe can be set up, and claims speak of experiments that there are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from curta.learn.evaluation.asked import asked
from curta.learn.evaluation.problems import Problems
from curta.learn.experiment import Experiment, Setup
from curta.learn.keys import new_key
from curta.learn.recipes import Claim, Recipe, recipes
from curta.learn.report.page import compared
from curta.learn.runs import RecipeFolder, run_recipe
from tests.support.slow import some


@pytest.mark.parametrize("name", some(4, recipes()))
def test_presets_can_be_set_up(name: str) -> None:
    made = recipes()[name]
    assert set(made.presets) == {"smoke", "small", "full"}
    for experiments in made.presets.values():
        names = [experiment.name for experiment in experiments]
        assert len(set(names)) == len(names) > 0
        for experiment in experiments:
            assert Setup(experiment).longest > 3


@pytest.mark.parametrize("name", recipes())
def test_claims_name_an_experiment(name: str) -> None:
    made = recipes()[name]
    names = {experiment.name for experiment in (*made.presets["small"], *made.presets["full"])}
    for claim in made.claims:
        assert claim.experiment in names, claim.measure


FIGURE = re.compile(
    r"(?:(?:exact|loss)(?:\.(?P<suite>train|test|ood|trained|longer)|@(?P<digits>\d+))"
    r"|walk\.(?P<operation>.)@(?P<walked>\d+)|(?:steps|reached)@0\.99)"
    r"(?:/loops=(?P<loops>\d+))?"
)


@cache
def problems_of(experiment: Experiment) -> Problems:
    """What its evaluation asks; several claims are of one experiment."""
    return Problems(Setup(experiment), experiment.evaluation)


def is_measured(figure: str, experiment: Experiment) -> bool:
    """Whether an evaluation of the experiment comes to such a figure."""
    found = FIGURE.fullmatch(figure)
    assert found, figure
    config = experiment.evaluation
    if found["loops"] and int(found["loops"]) not in config.loops:
        return False
    if found["walked"]:
        return int(found["walked"]) in config.walks
    if found["digits"]:
        cells = problems_of(experiment).cells
        return any(set(cell.sizes) == {int(found["digits"])} for cell in cells)
    return found["suite"] != "ood" or config.values is not None


def measured(made: Recipe) -> Iterator[tuple[Claim, Experiment, str]]:
    """Claims with each experiment that has their figure."""
    for claim in made.claims:
        for experiment in (one for preset in ("small", "full") for one in made.presets[preset]):
            figure = claim.figure(experiment)
            if experiment.name == claim.experiment and is_measured(figure, experiment):
                yield claim, experiment, figure


@pytest.mark.parametrize("name", some(5, recipes()))
def test_claims_name_figures_that_are_measured(name: str) -> None:
    made = recipes()[name]
    assert {claim for claim, _, _ in measured(made)} == set(made.claims)


@pytest.mark.parametrize("name", some(4, recipes()))
def test_claims_are_of_the_questions_that_their_words_name(name: str) -> None:
    """Lengths, weights and whether they were trained, against what an evaluation asks."""
    for claim, experiment, figure in measured(recipes()[name]):
        assert not re.search(r"\d digits|kept|trained|longer", claim.what), "asked() says that"
        words = asked(figure, experiment)
        if figure.startswith(("steps@", "reached@")):
            assert words == "until 0.99 of the answers in 50 steps of training are right"
            continue
        if figure.startswith("walk."):
            length = figure.partition("@")[2]
            assert words.startswith(f"{length} digits, step by step, bookkeeping outside")
            continue
        problems = problems_of(experiment)
        if "@" in figure or ".longer" in figure:
            check_lengths(words, figure, problems)
        elif ".ood" in figure:
            assert tuple(numbers(words)[:2]) == experiment.evaluation.values
            assert tuple(numbers(words)[2:]) == experiment.sampling.values
        else:
            assert words.endswith(", kept from training")
            assert problems.unseen == "test"
            check_mixture(words, problems)


def numbers(words: str) -> list[int]:
    """Those in a text."""
    return [int(number) for number in re.findall(r"\d+", words)]


def check_lengths(words: str, figure: str, problems: Problems) -> None:
    """Words about questions of one length, or of some that are as heavy, against their cells."""
    asked_for = numbers(words.partition("digits")[0])
    longer = [cell for cell in problems.cells if not cell.trained]
    if ".longer" in figure:
        cells = longer
        assert "each as heavy" in words
    else:
        cells = [cell for cell in problems.cells if set(cell.sizes) == {numbers(figure)[0]}]
    assert [cell.sizes[0] for cell in cells] == asked_for
    for cell in cells:
        assert ("trained on" in words) == (not cell.trained)
        assert ("kept from training" in words) == (cell.trained and cell.split == "test")
    if "trained on" in words:
        said = numbers(words.partition("trained on")[2])[:2]
        assert tuple(said) == problems.trained_digits


def check_mixture(words: str, problems: Problems) -> None:
    """Words about questions as training draws them, against a few hundred of these."""
    ends = numbers(words)
    if words.startswith("operands"):
        assert "each as likely" in words
        assert tuple(ends) == problems.sampling.values
        return
    sizes = problems.random_sizes(400, key=new_key(0))
    found, counts = np.unique(sizes, return_counts=True)
    assert (found[0], found[-1]) == (ends[0], ends[-1])
    assert ("each length" in words) == (len(found) > 1)
    assert counts.min() > 0.6 * sizes.size / len(found)


@pytest.mark.slow
def test_a_recipe_of_compiled_attention_runs(tmp_path: Path) -> None:
    """From its experiments to a table of claims, in which what was measured stands."""
    made = recipes()["compiled_attention"]
    folder = RecipeFolder.create(tmp_path / "smoke", made, "smoke")
    run_recipe(folder)
    cells = {claim.measure: compared(folder.runs, claim)[3] for claim in made.claims}
    for name in ("sums-frozen", "products-trainable"):
        assert cells[f"{name}:exact@4"].startswith("0")
        assert cells[f"{name}:reached@0.99"].startswith("0 [0, ")
        assert cells[f"{name}:steps@0.99"] == "not measured"
    assert cells["sums-aligned:exact@4"] == "not in this preset"


def test_words_of_a_claim() -> None:
    plain = Experiment().with_(digits=(1, 6), test_share=0.05)
    nothing_kept = plain.with_(test_share=0.0, task="multiplication(second=1)")
    for figure, experiment, words in (
        ("exact.test", plain, "1 to 6 digits mixed, each length as likely, kept from training"),
        ("exact@6", plain, "6 digits, kept from training"),
        ("exact@9/loops=2", plain, "9 digits, trained on 1 to 6, 2 loops"),
        ("exact@6", nothing_kept, "6 digits by 1, none kept from training"),
        ("exact.train", nothing_kept, "1 to 6 digits mixed, each length as likely"),
        (
            "walk.+@100",
            nothing_kept,
            "100 digits, step by step, bookkeeping outside of the model",
        ),
    ):
        assert asked(figure, experiment) == words
