"""The arithmetic units: layers whose weights, once discrete, are an exact formula.

A linear layer interpolates a sum; it has no reason to find the weights 1, 0 and −1 that make the
sum exact, so it drifts as soon as inputs leave the training range. Each unit here restricts what
its weights can be, so that an exact rule is the nearest thing to learn. `weights()` gives the
matrices that should end up discrete, `regulariser()` pulls them there, `constrained()` clips them
after an update: each layer owns what its paper says about it.

NAC, NALU    Trask et al. 2018, "Neural Arithmetic Logic Units"
NAU, NMU     Madsen & Johansen 2020, "Neural Arithmetic Units"
NSR          Faber & Wattenhofer 2023, "Neural Status Registers"
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Self

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

Scalar = Float[Array, ""]
Vector = Float[Array, " features"]
Matrix = Float[Array, "outputs inputs"]

LOGARITHM_EPSILON = 1e-7
"""Added to |x| before its logarithm in the NALU papers: a product is exact only up to this."""


class Unit(eqx.Module):
    """One layer, applied to one vector. `vmap` it over a batch."""

    @abstractmethod
    def __call__(self, x: Vector) -> Vector: ...

    def weights(self) -> tuple[Matrix, ...]:
        """The matrices whose entries an exact rule would have in {−1, 0, 1}."""
        return ()

    def regulariser(self) -> Scalar:
        """R(W), before its strength λ. Zero for units that their paper does not regularise."""
        return jnp.zeros(())

    def constrained(self) -> Self:
        """The same layer with its parameters inside their allowed range."""
        return self


class Linear(Unit):
    """y = f(W x + b), the baseline; f is the identity, ReLU, ReLU6 or the sigmoid."""

    weight: Matrix
    bias: Vector
    activation: Callable[[Vector], Vector] = eqx.field(static=True)

    @classmethod
    def initialise(
        cls,
        inputs: int,
        outputs: int,
        activation: Callable[[Vector], Vector] | None = None,
        *,
        key: PRNGKeyArray,
    ) -> Self:
        """Glorot's uniform range, or He's before a rectifier; no bias at first."""
        rectified = activation in (jax.nn.relu, jax.nn.relu6)
        limit = math.sqrt(6 / inputs) if rectified else _glorot_range(inputs, outputs)
        weight = jax.random.uniform(key, (outputs, inputs), minval=-limit, maxval=limit)
        return cls(weight, jnp.zeros(outputs), activation or _identity)

    def __call__(self, x: Vector) -> Vector:
        return self.activation(_product(self.weight, x) + self.bias)

    def weights(self) -> tuple[Matrix, ...]:
        return (self.weight,)


class NAC(Unit):
    """Neural accumulator, NAC₊: y = W x with W = tanh(Ŵ) ⊙ σ(M̂).

    Both factors saturate, so that large parameters give W entries of −1, 0 or 1: y adds,
    ignores or subtracts each input.
    """

    w_hat: Matrix
    m_hat: Matrix

    @classmethod
    def initialise(cls, inputs: int, outputs: int, *, key: PRNGKeyArray) -> Self:
        """Ŵ, M̂ ~ U[−r, r], with r such that Var[W] = 2/(inputs + outputs), Glorot's variance."""
        limit = _accumulator_range(inputs, outputs)
        w_key, m_key = jax.random.split(key)
        shape = (outputs, inputs)
        return cls(
            jax.random.uniform(w_key, shape, minval=-limit, maxval=limit),
            jax.random.uniform(m_key, shape, minval=-limit, maxval=limit),
        )

    def matrix(self) -> Matrix:
        return jnp.tanh(self.w_hat) * jax.nn.sigmoid(self.m_hat)

    def __call__(self, x: Vector) -> Vector:
        return _product(self.matrix(), x)

    def weights(self) -> tuple[Matrix, ...]:
        return (self.matrix(),)


class MultiplicativeNAC(NAC):
    """NAC•: y = exp(W log(|x| + ε)) = ∏ (|x_i| + ε)^W_i, so 1 multiplies and −1 divides.

    Blind to the sign of x; near x = 0 a negative weight makes the output explode.
    """

    def __call__(self, x: Vector) -> Vector:
        return jnp.exp(_product(self.matrix(), jnp.log(jnp.abs(x) + LOGARITHM_EPSILON)))


class NALU(Unit):
    """y = g ⊙ a + (1 − g) ⊙ m: a gate g = σ(G x) between NAC₊ (a) and NAC• (m).

    a = W x and m = exp(W log(|x| + ε)) share one W, as published.
    """

    accumulator: NAC
    gate: Matrix

    @classmethod
    def initialise(cls, inputs: int, outputs: int, *, key: PRNGKeyArray) -> Self:
        """The accumulator as NAC; the gate by Glorot's uniform range."""
        accumulator_key, gate_key = jax.random.split(key)
        limit = _glorot_range(inputs, outputs)
        return cls(
            NAC.initialise(inputs, outputs, key=accumulator_key),
            jax.random.uniform(gate_key, (outputs, inputs), minval=-limit, maxval=limit),
        )

    def __call__(self, x: Vector) -> Vector:
        gate = jax.nn.sigmoid(_product(self.gate, x))
        product = MultiplicativeNAC(self.accumulator.w_hat, self.accumulator.m_hat)
        return gate * self.accumulator(x) + (1 - gate) * product(x)

    def weights(self) -> tuple[Matrix, ...]:
        return self.accumulator.weights()


class NAU(Unit):
    """Neural addition unit: y = W x, W clipped to [−1, 1] after each update.

    R(W) = mean of min(|W_ij|, 1 − |W_ij|): the distance to the nearest of −1, 0, 1.
    """

    weight: Matrix

    @classmethod
    def initialise(cls, inputs: int, outputs: int, *, key: PRNGKeyArray) -> Self:
        """Glorot's uniform range, at most 1/2 so that no weight starts nearer to ±1 than to 0."""
        limit = min(0.5, _glorot_range(inputs, outputs))
        return cls(jax.random.uniform(key, (outputs, inputs), minval=-limit, maxval=limit))

    def __call__(self, x: Vector) -> Vector:
        return _product(self.weight, x)

    def weights(self) -> tuple[Matrix, ...]:
        return (self.weight,)

    def regulariser(self) -> Scalar:
        return jnp.mean(distance_to_discrete(self.weight))

    def constrained(self) -> Self:
        return type(self)(jnp.clip(self.weight, -1.0, 1.0))


class NMU(Unit):
    """Neural multiplication unit: y_j = ∏_i (W_ji x_i + 1 − W_ji), W clipped to [0, 1].

    A weight of 1 multiplies by x_i, a weight of 0 by 1. No logarithm: negative numbers keep
    their sign and nothing explodes near zero; division is out of reach by design.
    R(W) = mean of min(W_ij, 1 − W_ij).
    """

    weight: Matrix

    @classmethod
    def initialise(cls, inputs: int, outputs: int, *, key: PRNGKeyArray) -> Self:
        """W ~ U[1/4, 3/4]: mean 1/2, undecided between multiplying and ignoring."""
        return cls(jax.random.uniform(key, (outputs, inputs), minval=0.25, maxval=0.75))

    def __call__(self, x: Vector) -> Vector:
        return jnp.prod(self.weight * x[None, :] + 1 - self.weight, axis=1)

    def weights(self) -> tuple[Matrix, ...]:
        return (self.weight,)

    def regulariser(self) -> Scalar:
        return jnp.mean(distance_to_discrete(self.weight))

    def constrained(self) -> Self:
        return type(self)(jnp.clip(self.weight, 0.0, 1.0))


class NSR(Unit):
    """Neural status register: a comparison from the sign and the zero bit of a difference.

    d    = λ (softmax(V¹)·x − softmax(V²)·x)      two operands chosen, and subtracted
    sign = tanh(d)                                → −1, 0, 1 for <, =, >
    zero = 1 − 2 tanh²(d)                         → 1 if equal, −1 if not
    y    = σ(W± sign + W⁰ zero + b)

    Both bits saturate, so a rule learnt on digits holds for differences of any size; the
    published resolution is |d| of about 1 (λ scales it). With redundancy r there are r
    differences, whose bits are summed.
    """

    first: Matrix
    second: Matrix
    sign_weight: Matrix
    zero_weight: Matrix
    bias: Vector
    scale: float = eqx.field(static=True)

    @classmethod
    def initialise(
        cls,
        inputs: int,
        outputs: int,
        *,
        key: PRNGKeyArray,
        redundancy: int = 1,
        scale: float = 1.0,
    ) -> Self:
        """Glorot's normal distribution everywhere; no bias at first."""
        first_key, second_key, sign_key, zero_key = jax.random.split(key, 4)
        select = math.sqrt(2 / (inputs + redundancy))
        combine = math.sqrt(2 / (redundancy + outputs))
        return cls(
            first=select * jax.random.normal(first_key, (redundancy, inputs)),
            second=select * jax.random.normal(second_key, (redundancy, inputs)),
            sign_weight=combine * jax.random.normal(sign_key, (outputs, redundancy)),
            zero_weight=combine * jax.random.normal(zero_key, (outputs, redundancy)),
            bias=jnp.zeros(outputs),
            scale=scale,
        )

    def __call__(self, x: Vector) -> Vector:
        sign, zero = self.bits(x)
        logits = _product(self.sign_weight, sign) + _product(self.zero_weight, zero) + self.bias
        return jax.nn.sigmoid(logits)

    def bits(self, x: Vector) -> tuple[Vector, Vector]:
        """The sign and the zero bit of each difference.

        The operands are subtracted as weights, before they meet x: with softmax weights that sum
        to one, equal inputs then cancel to the rounding of one product, however large they are.
        """
        difference = _product(jax.nn.softmax(self.first) - jax.nn.softmax(self.second), x)
        sign = jnp.tanh(self.scale * difference)
        return sign, 1 - 2 * sign**2

    def weights(self) -> tuple[Matrix, ...]:
        return (jax.nn.softmax(self.first), jax.nn.softmax(self.second))


class Decision(Unit):
    """y = σ(x + b): turns the output of any unit into the probability that a comparison holds."""

    bias: Vector

    @classmethod
    def initialise(cls, outputs: int) -> Self:
        return cls(jnp.zeros(outputs))

    def __call__(self, x: Vector) -> Vector:
        return jax.nn.sigmoid(x + self.bias)


def distance_to_discrete(weights: Matrix) -> Matrix:
    """min(|W|, |1 − |W||) entry by entry: how far each weight is from −1, 0 or 1."""
    magnitude = jnp.abs(weights)
    return jnp.minimum(magnitude, jnp.abs(1 - magnitude))


def _product(weight: Matrix, x: Vector) -> Vector:
    # Accelerators may multiply in a shorter format by default, which alone would miss a
    # threshold of 1e-5 on the weights.
    return jnp.matmul(weight, x, precision=jax.lax.Precision.HIGHEST)


def _identity(x: Vector) -> Vector:
    return x


def _glorot_range(inputs: int, outputs: int) -> float:
    """r of U[−r, r] with Glorot's variance, 2/(inputs + outputs)."""
    return math.sqrt(6 / (inputs + outputs))


def _accumulator_range(inputs: int, outputs: int) -> float:
    """r with Var[tanh(w) σ(m)] = 2/(inputs + outputs) for w, m ~ U[−r, r].

    Var = E[tanh²] E[σ²] = (1 − tanh(r)/r) · (r − tanh(r/2)) / (2r), which grows with r towards
    1/2; a fan below 5 asks for more than that, and is treated as 5.
    """
    target = 2 / max(inputs + outputs, 5)

    def variance(r: float) -> float:
        return (1 - math.tanh(r) / r) * (r - math.tanh(r / 2)) / (2 * r)

    low, high = 1e-6, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if variance(middle) < target else (low, middle)
    return (low + high) / 2
