"""An evaluation as JSON: what is written into run folders, and read by reports."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from curta.learn.evaluation.intervals import share
from curta.learn.evaluation.judging import Tally
from curta.learn.evaluation.measure import Errors, Evaluation
from curta.learn.evaluation.samples import samples
from curta.learn.evaluation.summary import as_json, summary
from curta.learn.experiment import EvaluationConfig, Setup
from curta.learn.keys import new_key
from curta.learn.models.transformer import Transformer, parameter_count
from curta.learn.training.state import picked


def record(
    setup: Setup, models: Transformer, config: EvaluationConfig, evaluation: Evaluation
) -> dict[str, Any]:
    """Everything that a report shows, as plain values. Sample answers are the first seed's."""
    answers = samples(picked(models, 0), setup, evaluation.sampled)
    return {
        "config": dataclasses.asdict(config),
        "seeds": list(evaluation.seeds),
        "loops": list(evaluation.loops),
        "own_loops": evaluation.own_loops,
        "parameters": parameter_count(picked(models, 0)),
        "summary": as_json(summary(evaluation, config.solved)),
        "cells": [
            {"sizes": cell.sizes, "trained": cell.trained, "part": cell.split, **of_tally(tally)}
            for cell, tally in evaluation.cells
        ],
        "walks": [
            {
                "operation": cells[0].operation,
                "digits": cells[0].digits,
                "samples": cells[0].samples,
                "steps": [cell.steps for cell in cells],
            }
            for cells in evaluation.walks
        ],
        "errors": {name: of_errors(errors) for name, errors in evaluation.errors.items()},
        "samples": [dataclasses.asdict(one) for one in answers],
        "data": evaluation.data,
    }


def of_tally(tally: Tally) -> dict[str, Any]:
    """Shares for each number of loops: mean, interval, and each seed."""
    if not tally.samples:
        return {"samples": 0, "exact": [], "logprob": []}
    loops = range(tally.exact.shape[1])
    figures = [
        share(list(tally.exact[:, index]), tally.samples, tally.independent) for index in loops
    ]
    return {
        "samples": tally.samples,
        "different": len(tally.questions),
        "exact": [
            {"value": one.value, "low": one.low, "high": one.high, "seeds": list(one.seeds)}
            for one in figures
        ],
        "token": (tally.right / tally.tokens).T.tolist(),
        "logprob": (tally.logprob / tally.samples).T.tolist(),
    }


def of_errors(errors: Errors) -> dict[str, Any]:
    """Rates of the bins that have anything in them, averaged over seeds, for each of the loops."""
    places = np.flatnonzero(errors.tokens_at)
    numbers = np.flatnonzero(errors.carries_samples)
    wrong = errors.wrong_at[..., places].mean(axis=0) / errors.tokens_at[places]
    right = errors.carries_exact[..., numbers].mean(axis=0) / errors.carries_samples[numbers]
    return {
        "place": places.tolist(),
        "place_tokens": errors.tokens_at[places].tolist(),
        "place_wrong": wrong.tolist(),
        "carries": numbers.tolist(),
        "carries_samples": errors.carries_samples[numbers].tolist(),
        "carries_exact": right.tolist(),
    }


def evaluation_key(setup: Setup) -> Array:
    """Questions depend on the experiment's first seed, and on nothing that training uses."""
    return jax.random.fold_in(new_key(setup.experiment.training.seed), 2**31 - 1)
