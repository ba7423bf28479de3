"""Every preset of every recipe can be set up, and claims speak of experiments that there are."""

from __future__ import annotations

import re

import pytest

from curta.learn.evaluation.problems import Problems
from curta.learn.experiment import Experiment, Setup
from curta.learn.recipes import recipes


@pytest.mark.parametrize("name", recipes())
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
        assert claim.measure.partition(":")[0] in names, claim.measure


FIGURE = re.compile(
    r"(?:(?:exact|loss)(?:\.(?P<suite>train|test|ood|trained|longer)|@(?P<digits>\d+))"
    r"|walk\.(?P<operation>.)@(?P<walked>\d+))(?:/loops=(?P<loops>\d+))?"
)


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
        cells = Problems(Setup(experiment), config).cells
        return any(set(cell.sizes) == {int(found["digits"])} for cell in cells)
    return found["suite"] != "ood" or config.values is not None


@pytest.mark.parametrize("name", recipes())
def test_claims_name_figures_that_are_measured(name: str) -> None:
    made = recipes()[name]
    for claim in made.claims:
        wanted, _, figure = claim.measure.partition(":")
        named = [e for p in ("small", "full") for e in made.presets[p] if e.name == wanted]
        assert any(is_measured(figure, experiment) for experiment in named), claim.measure
