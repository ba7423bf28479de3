"""Which questions a figure is of, in words: how long they are, how weighted, whether trained."""

from __future__ import annotations

from curta.learn import catalogue
from curta.learn.config import Experiment, Sampling
from curta.learn.evaluation.problems import lengths_asked


def asked(figure: str, experiment: Experiment) -> str:
    """For the figures that claims are made of, which are those of answers, losses and walks."""
    figure, _, loops = figure.partition("/loops=")
    behind = f", {loops} loops" if loops else ""
    name, at, length = figure.partition("@")
    if name in ("steps", "reached"):
        chunk = experiment.training.chunk
        return f"until {length} of the answers in {chunk} steps of training are right"
    if name.startswith("walk."):
        return f"{length} digits, step by step, bookkeeping outside of the model{behind}"
    if at:
        second = getattr(catalogue.task(experiment.task), "second", 0)
        by = f" by {second}" if second else ""
        return f"{length} digits{by}{whether_trained(int(length), experiment.sampling)}{behind}"
    if name.endswith(".test"):
        return f"{as_trained(experiment.sampling)}, kept from training{behind}"
    if name.endswith(".longer"):
        return longer(experiment) + behind
    if name.endswith(".ood"):
        low, high = experiment.evaluation.values or (0, 0)
        beyond = f"one of them outside of {trained(experiment.sampling)}"
        return f"operands {low} to {high}, {beyond}{behind}"
    return as_trained(experiment.sampling) + behind


def trained(sampling: Sampling) -> str:
    """What operands training draws."""
    if sampling.values is not None:
        return f"operands {sampling.values[0]} to {sampling.values[1]}"
    low, high = sampling.digits
    return f"{high} digits" if low == high else f"{low} to {high} digits"


def as_trained(sampling: Sampling) -> str:
    """What training draws, and how that is weighted."""
    if sampling.values is not None:
        return f"{trained(sampling)}, each as likely"
    if sampling.digits[0] == sampling.digits[1]:
        return trained(sampling)
    carries = " and number of carries" if sampling.carries else ""
    return f"{trained(sampling)} mixed, each length{carries} as likely"


def whether_trained(length: int, sampling: Sampling) -> str:
    """Whether questions of a length were kept from training, or are longer than all of it."""
    low, high = sampling.digits
    if low <= length <= high:
        return ", kept from training" if sampling.test_share else ", none kept from training"
    primed = sampling.priming is not None and sampling.priming[0] <= length <= sampling.priming[1]
    few = f" and {sampling.priming_examples} of {length}" if primed else ""
    return f", trained on {low} to {high}{few}"


def longer(experiment: Experiment) -> str:
    """Lengths that were not trained."""
    config, sampling = experiment.evaluation, experiment.sampling
    asked_for = lengths_asked(config, sampling.digits)
    lengths = [str(n) for n in asked_for if not sampling.digits[0] <= n <= sampling.digits[1]]
    return f"{', '.join(lengths)} digits, each as heavy, trained on {trained(sampling)}"
