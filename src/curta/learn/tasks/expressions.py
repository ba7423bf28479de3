"""Arithmetic expressions: random trees of sums, differences and products."""

from __future__ import annotations

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from curta.errors import ExperimentError
from curta.learn.numbers import (
    Number,
    carried,
    convolved,
    number,
    places_of,
    signed_sum,
    significant,
    widened,
)
from curta.learn.problem import Piece, Problem, Symbol, operand, repeated, symbol
from curta.learn.tasks.base import Task, check_at_least

OPERATORS = ("+", "-", "*")
PLUS, MINUS, TIMES, LEAF = 0, 1, 2, 3
"""What stands at the top of a part of the expression."""


@dataclass(frozen=True)
class Expression(Task):
    """Sums, differences and products of several numbers, in a random order.

    The tree grows from its leaves: neighbouring parts are joined by an operator, pairs drawn at
    random, until one part is left. Parentheses stand where the tree needs them, and nowhere else.

    numbers:      how many at most; `operands` of the sampling may narrow it
    operations:   those that occur, of + - *, with + among them
    parentheses:  if not, + stands wherever another operator would need them
    value_digits: digits that a product may have, 0 for twice those of the operands; + stands
                  instead of a product with more
    """

    name = "expression"
    about = "2*(3+4)-5: random trees of numbers=4 at most; operations='+-*', parentheses=True"
    symbols = (*OPERATORS, "(", ")", "=")
    numbers: int = 4
    operations: str = "+-*"
    parentheses: bool = True
    value_digits: int = 0

    def __post_init__(self) -> None:
        check_at_least(self, 2, "numbers")
        check_at_least(self, 0, "value_digits")
        if "+" not in self.operations or set(self.operations) - set(OPERATORS):
            raise ExperimentError(
                f"task expression: operations = {self.operations!r}: write those of + - * that are "
                "wanted, + among them"
            )

    @property
    def operands(self) -> tuple[int, int]:
        return (2, self.numbers)

    def problem(self, operands: Number, *, base: int, key: Array) -> Problem:
        count, places = operands.digits.shape
        most = max(self.value_digits or 2 * places, places)
        tree = Tree.of_leaves(operands, places_of(count * (base**most - 1), base))
        present = (operands.length > 0).sum()

        def join(tree: Tree, at: tuple[Array, Array]) -> tuple[Tree, None]:
            step, key = at
            joined = self.joined(tree, present, most, base, key)
            going_on = step < present - 1
            return jax.tree.map(lambda new, old: jnp.where(going_on, new, old), joined, tree), None

        steps = (jnp.arange(count - 1), jax.random.split(key, count - 1))
        tree, _ = jax.lax.scan(join, tree, steps)
        negative = (tree.values[0] < 0).any() if "-" in self.operations else None
        answer = number(jnp.abs(tree.values[0]), negative=negative)
        return Problem(self.question(operands, tree), (answer,))

    def joined(self, tree: Tree, present: Int[Array, ""], most: int, base: int, key: Array) -> Tree:
        """Two neighbouring parts of the expression become one."""
        pair_key, operator_key = jax.random.split(key)
        has_next = tree.alive & (tree.last + 1 < present)
        drawn = jax.random.uniform(pair_key, has_next.shape)
        left = jnp.argmax(jnp.where(has_next, drawn, -1.0))
        right = tree.last[left] + 1
        codes = jnp.array([OPERATORS.index(each) for each in self.operations])
        wanted = codes[jax.random.randint(operator_key, (), 0, len(self.operations))]
        product, fits = product_of(tree.values[left], tree.values[right], most, base)
        wanted = jnp.where((wanted == TIMES) & ~fits, PLUS, wanted)
        if not self.parentheses:
            needed = needs_parentheses(wanted, tree.top[left], tree.top[right])
            wanted = jnp.where(needed[0] | needed[1], PLUS, wanted)
        around_left, around_right = needs_parentheses(wanted, tree.top[left], tree.top[right])
        sign = jnp.where(wanted == MINUS, -1, 1)
        digits, negative = signed_sum(tree.values[left], sign * tree.values[right], base)
        sums = jnp.where(negative, -digits, digits)
        end = tree.last[right]
        closes = tree.closes.at[tree.last[left]].add(around_left)
        return Tree(
            values=tree.values.at[left].set(jnp.where(wanted == TIMES, product, sums)),
            top=tree.top.at[left].set(wanted),
            last=tree.last.at[left].set(end),
            alive=tree.alive.at[right].set(False),
            operator=tree.operator.at[right].set(wanted),
            opens=tree.opens.at[left].add(around_left).at[right].add(around_right),
            closes=closes.at[end].add(around_right),
        )

    def question(self, operands: Number, tree: Tree) -> tuple[Piece, ...]:
        """The expression, leaf by leaf, with what stands around each."""
        count = operands.digits.shape[0]
        pieces: list[Piece] = []
        for leaf in range(count):
            given = operand(operands, leaf)
            if leaf:
                choice = jnp.where(given.length > 0, tree.operator[leaf], -1)
                pieces.append(Symbol(OPERATORS, choice))
            opens, closes = self.slots(leaf, count)
            pieces.append(repeated("(", tree.opens[leaf], opens))
            pieces.append(given)
            pieces.append(repeated(")", tree.closes[leaf], closes))
        return (*pieces, symbol("="))

    def slots(self, leaf: int, count: int) -> tuple[int, int]:
        """How many parentheses may open before a leaf, and close behind it.

        Those that open at one leaf close at different ones; the whole expression has none.
        """
        if not self.parentheses:
            return 0, 0
        return min(count - 1 - leaf, count - 2), min(leaf, count - 2)

    def slack(self, operands: int, places: int, base: int) -> int:
        # Every part but the whole may stand in parentheses; in sums of products, two of three.
        if not self.parentheses:
            return 0
        slots = sum(sum(self.slots(leaf, operands)) for leaf in range(operands))
        pairs = operands - 2 if "-" in self.operations else 2 * (operands - 1) // 3
        return slots - 2 * min(pairs, operands - 2)


class Tree(eqx.Module):
    """The parts of an expression; each is known by its first leaf."""

    values: Int[Array, "leaves digits"]
    """All digits of a value have its sign."""
    top: Int[Array, " leaves"]
    last: Int[Array, " leaves"]
    """The last leaf of the part."""
    alive: Bool[Array, " leaves"]
    """Whether a part begins here."""
    operator: Int[Array, " leaves"]
    """What stands before the leaf."""
    opens: Int[Array, " leaves"]
    closes: Int[Array, " leaves"]

    @staticmethod
    def of_leaves(operands: Number, room: int) -> Tree:
        """Nothing joined yet."""
        index = jnp.arange(operands.digits.shape[0])
        none = jnp.zeros_like(index)
        return Tree(
            values=widened(operands.digits, room)
            if operands.places >= room
            else jnp.pad(operands.digits, ((0, 0), (0, room - operands.places))),
            top=none + LEAF,
            last=index,
            alive=index >= 0,
            operator=none,
            opens=none,
            closes=none,
        )


def needs_parentheses(
    operator: Int[Array, ""], left: Int[Array, ""], right: Int[Array, ""]
) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Around the parts on both sides: sums in products, and sums that are taken away."""
    is_sum = [(top == PLUS) | (top == MINUS) for top in (left, right)]
    around_left = (operator == TIMES) & is_sum[0]
    around_right = ((operator == TIMES) | (operator == MINUS)) & is_sum[1]
    return around_left.astype(jnp.int32), around_right.astype(jnp.int32)


def product_of(
    a: Int[Array, " digits"], b: Int[Array, " digits"], most: int, base: int
) -> tuple[Int[Array, " digits"], Bool[Array, ""]]:
    """The product in the same room; and whether it has at most so many digits."""
    digits, _ = carried(convolved(jnp.abs(a), jnp.abs(b)), base)
    sign = jnp.where((a < 0).any() ^ (b < 0).any(), -1, 1)
    return sign * digits[: a.shape[0]], significant(digits) <= most
