"""An experiment's parts, put together."""

from __future__ import annotations

from functools import cached_property

import jax
import numpy as np

from curta.learn import catalogue
from curta.learn.config import EvaluationConfig, Experiment
from curta.learn.keys import new_key
from curta.learn.language import Language
from curta.learn.numbers import places_of
from curta.learn.positions.base import Positions
from curta.learn.positions.causal import check_causal
from curta.learn.sampling import Sampler
from curta.learn.statistics import check_split

__all__ = ["EvaluationConfig", "Experiment", "Setup"]


class Setup:
    """An experiment's parts, built and checked against each other."""

    def __init__(self, experiment: Experiment) -> None:
        self.experiment = experiment
        self.language = Language(
            catalogue.task(experiment.task),
            catalogue.format_(experiment.format),
            experiment.model.pauses,
        )
        self.positions: Positions = catalogue.positions(experiment.positions)
        self.positions.check(self.language)
        self.sampler = Sampler(self.language, experiment.sampling)
        check_split(self.sampler)
        if catalogue.is_own(experiment.positions):
            rows = self.sampler.rows(4, key=new_key(0), split="all")
            check_causal(self.positions, self.language, rows)

    @cached_property
    def question(self) -> str:
        """An example of the language."""
        rows = jax.jit(lambda key: self.sampler.rows(1, key=key, split="all"))(new_key(0))
        return self.language.alphabet.decode(np.asarray(rows.tokens[0, : rows.prompt_length[0]]))

    @cached_property
    def longest(self) -> int:
        """The longest row of training and evaluation: what tables of positions are made for."""
        evaluation, operands = self.experiment.evaluation, self.sampler.operand_range[1]
        places = [self.sampler.places]
        if evaluation.digits is not None:
            places.append(evaluation.digits[1])
        places.extend(evaluation.lengths)
        if evaluation.values is not None:
            places.append(places_of(evaluation.values[1], self.language.format.base))
        return max(self.sampler.width, self.language.width(operands, max(places)))
