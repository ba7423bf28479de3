"""What the trainer asks of a benchmark: batches, a loss, and the two errors that judge a network.

A problem covers several operations at once. They are trained side by side, so that one compiled
step serves all of them; every array of targets has the operations as its first axis.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from curta.learn.units.layers import Scalar

Inputs = Float[Array, "... examples features"]
Targets = Float[Array, "operations examples"]
Answers = Float[Array, " examples"]
PerOperation = Float[Array, " operations"]


class Examples(NamedTuple):
    """Inputs, shared by all operations or with an axis of their own, and the targets of each."""

    inputs: Inputs
    targets: Targets


class Problem(Protocol):
    """A family of operations to learn, and how success is measured.

    Problems are hashable: a training is compiled once for a problem, whatever its keys.
    """

    @property
    def operations(self) -> tuple[str, ...]: ...

    @property
    def input_size(self) -> int: ...

    @property
    def shares_inputs(self) -> bool:
        """Whether `Examples.inputs` has no axis of operations."""
        ...

    def prepare(self, key: PRNGKeyArray) -> PyTree:
        """What stays fixed during the training of one seed."""
        ...

    def batch(self, fixed: PyTree, key: PRNGKeyArray) -> Examples:
        """One batch of training, from the interpolation range."""
        ...

    def loss(self, answers: Answers, targets: Answers) -> Scalar:
        """What training minimises; on `validation` it chooses the step to judge."""
        ...

    def error(self, answers: Answers, targets: Answers) -> Scalar:
        """On `test`: below the threshold, the rule was found."""
        ...

    def validation(self, fixed: PyTree) -> Examples:
        """Fixed examples from the interpolation range."""
        ...

    def test(self, fixed: PyTree) -> Examples:
        """Fixed examples from the extrapolation range."""
        ...
