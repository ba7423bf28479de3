"""Every preset of every recipe can be set up, and claims speak of experiments that there are."""

from __future__ import annotations

import pytest

from curta.learn.experiment import Setup
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
