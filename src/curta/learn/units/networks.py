"""The networks of the benchmark: which units in which order, and how strongly regularised."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from curta.errors import ExperimentError
from curta.learn.units.layers import (
    NAC,
    NALU,
    NAU,
    NMU,
    NSR,
    Decision,
    Linear,
    MultiplicativeNAC,
    Scalar,
    Unit,
    Vector,
    distance_to_discrete,
)

ArrayOrFloat = Float[Array, ""] | float


class Network(eqx.Module):
    """Units one after the other."""

    layers: tuple[Unit, ...]

    def __call__(self, x: Vector) -> Vector:
        for layer in self.layers:
            x = layer(x)
        return x

    def regulariser(self) -> Scalar:
        """The sum of the layers' regularisers."""
        return sum((layer.regulariser() for layer in self.layers), start=jnp.zeros(()))

    def constrained(self) -> Self:
        return type(self)(tuple(layer.constrained() for layer in self.layers))

    def sparsity_error(self) -> Scalar:
        """The largest distance of any weight to −1, 0 or 1; 0 is an exact rule."""
        distances = [distance_to_discrete(w) for layer in self.layers for w in layer.weights()]
        return jnp.max(jnp.concatenate([jnp.ravel(distance) for distance in distances]))


class Build(Protocol):
    """Makes a network with one output from an input size, a hidden size and a key."""

    def __call__(self, inputs: int, hidden: int, *, key: PRNGKeyArray) -> Network: ...


@dataclass(frozen=True)
class Schedule:
    """λ(t) = strength · clip((t − start)/(end − start), 0, 1), t in steps of training.

    The units first find which weights matter, unhindered; then the regulariser makes them exact.
    """

    strength: float = 0.0
    start: float = 0.0
    end: float = 1.0

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise ExperimentError(
                f"regulariser schedule: start {self.start:g} is not before end {self.end:g}; "
                "choose a later end"
            )

    def at(self, step: ArrayOrFloat) -> Scalar:
        return self.strength * jnp.clip((step - self.start) / (self.end - self.start), 0.0, 1.0)


@dataclass(frozen=True)
class Design:
    """A row of the benchmark: a network and its published regularisation."""

    name: str
    description: str
    build: Build
    schedule: Schedule = Schedule()


Initialise = Callable[..., Unit]


def _pair(first: Initialise, second: Initialise) -> Build:
    def build(inputs: int, hidden: int, *, key: PRNGKeyArray) -> Network:
        first_key, second_key = jax.random.split(key)
        return Network((first(inputs, hidden, key=first_key), second(hidden, 1, key=second_key)))

    return build


def _perceptron(activation: Callable[[Vector], Vector], width: int | None = None) -> Build:
    def build(inputs: int, hidden: int, *, key: PRNGKeyArray) -> Network:
        first_key, second_key = jax.random.split(key)
        first = Linear.initialise(inputs, width or hidden, activation, key=first_key)
        return Network((first, Linear.initialise(width or hidden, 1, key=second_key)))

    return build


def _deciding(build: Build, width: int) -> Build:
    def deciding(inputs: int, hidden: int, *, key: PRNGKeyArray) -> Network:
        return Network((*build(inputs, width, key=key).layers, Decision.initialise(1)))

    return deciding


def _register(inputs: int, hidden: int, *, key: PRNGKeyArray) -> Network:
    return Network((NSR.initialise(inputs, 1, key=key),))


MLP_WIDTH = 16
COMPARATOR_WIDTH = 20
"""Hidden units of everything that NSR is compared with, as in its paper's code (2 × 10)."""


def _table(*designs: Design) -> Mapping[str, Design]:
    return MappingProxyType({design.name: design for design in designs})


ARITHMETIC_DESIGNS = _table(
    Design("linear", "two linear layers", _pair(Linear.initialise, Linear.initialise)),
    Design("relu6", "ReLU6 layer, then linear", _perceptron(jax.nn.relu6)),
    Design("mlp", f"{MLP_WIDTH} ReLU units, then linear", _perceptron(jax.nn.relu, MLP_WIDTH)),
    Design("nac", "NAC₊ twice", _pair(NAC.initialise, NAC.initialise)),
    Design("nac-mul", "NAC₊, then NAC•", _pair(NAC.initialise, MultiplicativeNAC.initialise)),
    Design("nalu", "NALU twice", _pair(NALU.initialise, NALU.initialise)),
    Design(
        "nau",
        "NAU twice",
        _pair(NAU.initialise, NAU.initialise),
        Schedule(strength=0.01, start=5e3, end=5e4),
    ),
    Design(
        "nmu",
        "NAU, then NMU",
        _pair(NAU.initialise, NMU.initialise),
        Schedule(strength=10.0, start=1e6, end=2e6),
    ),
)

COMPARISON_DESIGNS = _table(
    Design("nsr", "neural status register", _register),
    Design(
        "linear",
        "logistic regression on two linear layers",
        _deciding(_pair(Linear.initialise, Linear.initialise), COMPARATOR_WIDTH),
    ),
    Design(
        "mlp",
        f"{COMPARATOR_WIDTH} sigmoid units, then a sigmoid",
        _deciding(_perceptron(jax.nn.sigmoid, COMPARATOR_WIDTH), COMPARATOR_WIDTH),
    ),
    Design(
        "nac",
        "NAC₊ twice, then a sigmoid",
        _deciding(_pair(NAC.initialise, NAC.initialise), COMPARATOR_WIDTH),
    ),
    Design(
        "nau",
        "NAU twice, then a sigmoid",
        _deciding(_pair(NAU.initialise, NAU.initialise), COMPARATOR_WIDTH),
    ),
)


def select_designs(table: Mapping[str, Design], names: tuple[str, ...] | None) -> list[Design]:
    """The designs of those names, in the order of the table; all of them for None."""
    for name in names or ():
        if name not in table:
            raise ExperimentError(
                f"units: there is no unit {name!r}; choose from {', '.join(table)}"
            )
    return [design for name, design in table.items() if names is None or name in names]
