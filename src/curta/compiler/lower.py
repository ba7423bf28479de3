"""Lower: the user's graph in, a circuit out: a graph of what attention and gates do directly.

    lookup       Retrieve the value; with missing="stop" promise that the retrieved key is the
                 query; with a default d also retrieve the key, and let z = retrieved key - query:
                 d + [z == 0] * (value - d), three gates; or, if their products are too large,
                 d + relu(1 - |z|) * (value - d), three gates in two layers
    running sum  Mean, then Restore (times the count, rounded)
    gates        of token features alone are features themselves; gates that never open vanish;
                 relu of what is never negative is the thing itself

Heads. Keys and queries are shifted and scaled to integers k and q. The score of a key is

    2 q . k - |k|^2 + recency * position   =   |q|^2 - |k - q|^2 + recency * position

so the nearest key wins, and among equally near ones the latest, if recency * T <= 1. Everything
is a multiple of the recency; a float64 holds all partial sums exactly if they stay below
2**53 * recency, a float32 if they stay below 2**24 * recency. If that fails for one digit, keys and
queries are split into two digits, then three and four, each half, a third and a quarter as long:
the sum of squares shrinks.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from curta.compiler.derived import STAGE_BITS, absolute, clamp, split_top
from curta.compiler.graph import Family, Graph, Node
from curta.compiler.nodes import (
    Assume,
    Gate,
    Linear,
    Lookup,
    Operation,
    Piecewise,
    PositionFeature,
    Retrieve,
    RunningSum,
    TokenFeature,
)
from curta.compiler.ranges import RangeAnalysis
from curta.compiler.resolve import copy_operation
from curta.dyadic import (
    FLOAT64,
    Arithmetic,
    Number,
    ceil_log2,
    exact,
    power_of_two,
    simplify,
)
from curta.errors import CertificateError

MOST_DIGITS = 4


@dataclass(frozen=True, slots=True)
class Circuit:
    """A lowered program: the graph, the ranges of its nodes, its promises, its output rules."""

    graph: Graph
    ranges: RangeAnalysis
    max_tokens: int
    arithmetic: Arithmetic
    guards: tuple[int, ...]
    source_of: dict[int, int]


def lower(graph: Graph, max_tokens: int, arithmetic: Arithmetic = FLOAT64) -> Circuit:
    """The circuit that computes the same as a resolved graph."""
    lowering = Lowering(graph, max_tokens, arithmetic)
    for index in range(len(graph.operations)):
        lowering.lower_node(index)
    return lowering.finish()


class CircuitGraph(Graph):
    """The graph of a circuit. It knows ranges, and makes no gate that something simpler equals."""

    def __init__(self, tokens: Iterable[str], max_tokens: int, arithmetic: Arithmetic) -> None:
        super().__init__(tokens)
        self.arithmetic = arithmetic
        self.ranges = RangeAnalysis(self, max_tokens)
        self.owner: str | None = None
        self.owners: dict[int, str] = {}

    def intern(self, operation: Operation) -> Node:
        """The node of an operation; a new one is said to belong to the look-up being lowered."""
        node = super().intern(operation)
        if self.owner is not None and node.index == len(self.operations) - 1:
            self.owners.setdefault(node.index, self.owner)
        return node

    def name_of(self, index: int) -> str:
        name = super().name_of(index)
        owned = index in self.owners and index not in self.names
        return f"{name} of {self.owners[index]}" if owned else name

    def gate(self, condition: object, value: object) -> Node:
        condition, value = self.node(condition), self.node(value)
        opening, amount = self.ranges[condition.index], self.ranges[value.index]
        if opening.high <= 0 or amount == amount.constant(0):
            return self.constant(0)
        if opening.is_constant:
            return value * opening.low
        if opening.low >= 0 and amount.is_constant:
            return condition * amount.low
        openings, amounts = self.token_table(condition), self.token_table(value)
        if openings is not None and amounts is not None:
            products = (simplify(max(b, 0) * a) for b, a in zip(openings, amounts, strict=True))
            return self.intern(TokenFeature(tuple(products)))
        return super().gate(condition, value)

    def piecewise(self, argument: object, bends: Iterable[tuple[object, object]]) -> Node:
        argument = self.node(argument)
        span, table = self.ranges[argument.index], self.token_table(argument)
        turns = [(exact(place), exact(weight)) for place, weight in bends]
        function = Piecewise(argument.index, tuple(turns))
        if span.is_constant:
            return self.constant(function.at(span.low))
        if table is not None:
            return self.intern(TokenFeature(tuple(simplify(function.at(x)) for x in table)))
        return super().piecewise(argument, turns)

    def folded(self, node: Node) -> Node:
        """A sum of token features as one token feature; other nodes as they are."""
        table = self.token_table(node)
        return node if table is None else self.intern(TokenFeature(tuple(map(simplify, table))))

    def token_table(self, node: Node) -> list[Number] | None:
        """The node's value for every token, if it depends on nothing but the token."""
        match node.operation:
            case TokenFeature(values):
                return list(values)
            case Linear(terms, constant):
                table: list[Number] = [constant] * len(self.tokens)
                for index, coefficient in terms:
                    operation = self.operations[index]
                    if not isinstance(operation, TokenFeature):
                        return None
                    table = [
                        t + coefficient * v for t, v in zip(table, operation.values, strict=True)
                    ]
                return table
            case _:
                return None


class Lowering:
    def __init__(self, graph: Graph, max_tokens: int, arithmetic: Arithmetic) -> None:
        self.source = graph
        self.arithmetic = arithmetic
        self.circuit = CircuitGraph(graph.tokens, max_tokens, arithmetic)
        self.ranges = self.circuit.ranges
        self.position = self.circuit.position  # restored sums and recency read it
        self.max_tokens = max_tokens
        self.mapping: dict[int, Node] = {}
        self.guards: list[int] = []

    def lower_node(self, index: int) -> None:
        operation = self.source.operations[index]
        name = self.source.names.get(index)
        self.circuit.owner = self.source.name_of(index) if isinstance(operation, Lookup) else None
        match operation:
            case Gate(condition, value):
                node = self.circuit.gate(self.mapping[condition], self.mapping[value])
            case Lookup():
                node = self.lookup(index, operation)
            case RunningSum(value):
                node = self.running_sum(self.mapping[value], self.source.name_of(index))
            case Assume(value, low, high):
                node = self.assume(self.mapping[value], low, high, self.source.name_of(index))
            case _:
                node = copy_operation(self.circuit, operation, lambda i: self.mapping[i])
        self.mapping[index] = node if name is None else node.named(name)

    def check_conditions(self) -> None:
        """Conditions of output rules are 0 or 1: in [0, 1] by a promise, and whole numbers."""
        for family in self.source.families:
            if family.when is not None:
                condition = self.ranges[self.mapping[family.when].index]
                if not condition.is_integer:
                    raise CertificateError(
                        f"{self.source.name_of(family.when)}: `when` has to be 0 or 1, and this is "
                        f"in {condition}; make it a step, with at_least or equals"
                    )

    def finish(self) -> Circuit:
        self.check_conditions()
        circuit = self.circuit
        circuit.families = [
            Family(
                family.tokens,
                self.mapping[family.linear].index,
                self.mapping[family.square].index,
                self.mapping[family.base].index,
                None if family.when is None else self.mapping[family.when].index,
            )
            for family in self.source.families
        ]
        circuit.stops = set(self.source.stops)
        return Circuit(
            circuit,
            self.ranges,
            self.max_tokens,
            self.arithmetic,
            tuple(dict.fromkeys(self.guards)),
            {index: node.index for index, node in self.mapping.items()},
        )

    def square(self, node: Node) -> Node:
        """node * node, from the embedding where that can hold it."""
        terms, constant = self.flat(node)
        if len(terms) == 1:
            factor, operation = terms[0][1], self.circuit.operations[terms[0][0]]
            if isinstance(operation, PositionFeature) and operation.power == 1:
                shift = Fraction(constant) / factor
                if shift.denominator == 1 and operation.offset == 0:
                    squared = replace(operation, power=2, offset=-shift.numerator)
                    return self.circuit.intern(squared) * factor**2
        return self.circuit.gate(node, node) + self.circuit.gate(-node, -node)

    def flat(self, node: Node) -> tuple[tuple[tuple[int, Number], ...], Number]:
        operation = node.operation
        if isinstance(operation, Linear):
            return operation.terms, operation.constant
        return ((node.index, 1),), 0

    # -- sums and promises --------------------------------------------------------------------

    def running_sum(self, value: Node, name: str) -> Node:
        amount = self.ranges[value.index]
        if amount.is_constant:
            return (self.position + 1) * amount.low
        largest = amount.magnitude * self.max_tokens
        # The rounding constant is 1.5 * 2**52 steps: half of that is left for the sum itself.
        bits = self.arithmetic.mantissa_bits - 2
        if largest > power_of_two(bits + amount.step):
            raise CertificateError(
                f"{name}: over {self.max_tokens} tokens the sum of values in {amount} may reach "
                f"{largest}, and must stay within 2**{bits} steps; promise a smaller value with "
                "assume, or compile for fewer tokens"
            )
        mean = self.circuit.mean(value)
        return self.circuit.restore(mean, amount.step).named(name)

    def assume(self, value: Node, low: Number, high: Number, name: str) -> Node:
        proved = self.ranges[value.index]
        if low <= proved.low and proved.high <= high:
            return value
        least, most = proved.inside(low, high)
        if least > most:
            raise CertificateError(
                f"{name} is assumed in [{low}, {high}], but it is proved to lie in {proved}: "
                "every run would be stopped"
            )
        node = self.circuit.assume(value, least, most).named(name)
        self.guards.append(node.index)
        return node

    # -- lookups ------------------------------------------------------------------------------

    def lookup(self, index: int, operation: Lookup) -> Node:
        name = self.source.name_of(index)
        query = tuple(self.mapping[i] for i in operation.query)
        key = tuple(self.mapping[i] for i in operation.key)
        value = self.mapping[operation.value]
        heads = Heads(self, name, query, key, nearest=operation.missing == "nearest")
        fetched = heads.retrieve(value, is_key=False).named(name)
        if operation.missing == "nearest":
            return fetched
        away = heads.retrieve(heads.code, is_key=True) - heads.code_of_query
        if operation.missing == "stop":
            self.assume(away, 0, 0, f"distance from the query of {name} to the nearest key")
            return fetched
        default = operation.missing
        assert not isinstance(default, str)
        gate = self.circuit.gate
        change = fetched - default
        amount, distance = self.ranges[change.index], self.ranges[away.index]
        product = 4 * (distance.magnitude + 1) * amount.magnitude
        if self.arithmetic.holds(product, amount.step):
            gates = gate(away + 1, change) - 2 * gate(away, change) + gate(away - 1, change)
        else:
            gates = gate(1 - absolute(away), change)
        return default + gates


class Heads:
    """The head geometry that one lookup's query and key can be proved with.

    Keys are numbers in mixed radix: code = offset + sum of weights * digits.
    """

    def __init__(
        self,
        lowering: Lowering,
        name: str,
        query: tuple[Node, ...],
        key: tuple[Node, ...],
        nearest: bool,
    ) -> None:
        self.lowering = lowering
        self.ranges = lowering.ranges
        self.name = name
        self.nearest = nearest
        scaled = [self.to_integers(q, k) for q, k in zip(query, key, strict=True)]
        self.recency = not self.is_position(scaled, nearest)
        self.weights = self.mixed_radix(scaled)
        self.offset: Number = 0
        self.query, self.key = self.narrowest(scaled)
        self.code_of_query, self.code = self.combine(self.query), self.combine(self.key)
        total = lowering.circuit.constant(0)
        for digit in self.key:
            total = total + lowering.square(digit)
        self.square = total

    def retrieve(self, value: Node, *, is_key: bool) -> Node:
        amount = self.ranges[value.index]
        if amount.is_constant:
            return self.lowering.circuit.constant(amount.low)
        return self.lowering.circuit.retrieve(
            Retrieve(
                tuple(digit.index for digit in self.query),
                tuple(digit.index for digit in self.key),
                self.square.index,
                value.index,
                self.recency,
                self.nearest,
                is_key,
                self.code.index,
                self.weights,
                self.offset,
            )
        )

    def to_integers(self, query: Node, key: Node) -> tuple[Node, Node]:
        step = min(self.ranges[query.index].step, self.ranges[key.index].step)
        scale = power_of_two(-step) if step < 0 else 1
        return query * scale, key * scale

    def is_position(self, digits: list[tuple[Node, Node]], nearest: bool) -> bool:
        """Keys that differ at every position need no recency (integers: no ties either)."""
        terms, _ = self.lowering.flat(digits[0][1])
        graph = self.lowering.circuit
        alone = len(digits) == 1 and len(terms) == 1
        return (
            alone and graph.operations[terms[0][0]] == PositionFeature() and abs(terms[0][1]) == 1
        )

    def mixed_radix(self, digits: list[tuple[Node, Node]]) -> tuple[Number, ...]:
        """Weights under which codes are equal only if all digits are."""
        weights: list[Number] = [1]
        for query, key in digits[:0:-1]:
            both = self.ranges[query.index].union(self.ranges[key.index])
            weights.append(weights[-1] * power_of_two(ceil_log2(both.high - both.low + 1)))
        return tuple(reversed(weights))

    def combine(self, digits: tuple[Node, ...]) -> Node:
        return sum(
            (d * w for d, w in zip(digits, self.weights, strict=True)),
            self.lowering.circuit.constant(self.offset),
        )

    def narrowest(
        self, digits: list[tuple[Node, Node]]
    ) -> tuple[tuple[Node, ...], tuple[Node, ...]]:
        """The narrowest head that the arithmetic provably resolves."""
        bits = self.lowering.arithmetic.mantissa_bits
        for centre in (False, True):
            found = self.attempt(digits, self.weights, 0, centre)
            if found is not None:
                return found
        if len(digits) == 1 and self.nearest:
            found = self.attempt([self.within(*digits[0])], self.weights, 0, True)
            if found is not None:
                return found
        if len(digits) == 1 and not self.nearest and self.bits(*digits[0]) <= bits - STAGE_BITS:
            for count in range(2, MOST_DIGITS + 1):
                parts, weights, low = self.split(*digits[0], count)
                found = self.attempt(parts, weights, low, True)
                if found is not None:
                    return found
        raise CertificateError(self.refusal(digits))

    def attempt(
        self,
        digits: list[tuple[Node, Node]],
        weights: tuple[Number, ...],
        offset: Number,
        centre: bool,
    ) -> tuple[tuple[Node, ...], tuple[Node, ...]] | None:
        """Queries and keys of these digits, if their scores are exact."""
        shifted: list[tuple[Node, Node]] = []
        for (query, key), weight in zip(digits, weights, strict=True):
            middle = self.middle(key) if centre else 0
            shifted.append((query - middle, key - middle))
            offset += weight * middle
        if not self.is_exact(shifted):
            return None
        self.weights, self.offset = weights, simplify(offset)
        return tuple(q for q, _ in shifted), tuple(k for _, k in shifted)

    def within(self, query: Node, key: Node) -> tuple[Node, Node]:
        """The query moved to where keys are, and the key. What is nearest to it stays nearest."""
        span = self.ranges[key.index]
        return clamp(query, span.low, span.high), key

    def middle(self, key: Node) -> Number:
        span = self.ranges[key.index]
        return (span.low + span.high) // 2

    def bits(self, query: Node, key: Node) -> int:
        """How many bits tell all keys and queries apart."""
        both = self.ranges[query.index].union(self.ranges[key.index])
        return ceil_log2(both.high - both.low + 1)

    def split(
        self, query: Node, key: Node, count: int
    ) -> tuple[list[tuple[Node, Node]], tuple[Number, ...], Number]:
        """(digits, their weights, offset) of both numbers in at most `count` digits."""
        both = self.ranges[query.index].union(self.ranges[key.index])
        bits = self.bits(query, key)
        width = -(-bits // count)
        parts: list[tuple[Node, Node]] = []
        weights: list[Number] = []
        rest = (query - both.low, key - both.low)
        for place in range(count - 1, 0, -1):
            left = width * place
            if bits <= left:
                continue
            tops = [self.split_digit(x, bits, bits - left) for x in rest]
            parts.append((tops[0][0], tops[1][0]))
            weights.append(1 << left)
            rest, bits = (tops[0][1], tops[1][1]), left
        return [*parts, rest], (*weights, 1), both.low

    def split_digit(self, x: Node, bits: int, top: int) -> tuple[Node, Node]:
        if self.lowering.flat(x)[0] == ((self.lowering.position.index, 1),):
            shift = self.lowering.flat(x)[1]
            if shift == 0:
                unit = 1 << (bits - top)
                circuit = self.lowering.circuit
                return circuit.position_feature(unit), circuit.position_feature(1, unit)
        quotient, remainder = split_top(x, bits, top)
        return self.lowering.circuit.folded(quotient), self.lowering.circuit.folded(remainder)

    def bound(self, digits: list[tuple[Node, Node]]) -> Number:
        """The largest partial sum of a score."""
        total: Number = 1 if self.recency else 0
        for query, key in digits:
            q, k = self.ranges[query.index].magnitude, self.ranges[key.index].magnitude
            total += 2 * q * k + k * k
        return total

    @property
    def recency_exponent(self) -> int:
        return -ceil_log2(self.lowering.max_tokens) if self.recency else 0

    @property
    def score_bits(self) -> int:
        """What a score may reach is this power of two."""
        return self.lowering.arithmetic.mantissa_bits + self.recency_exponent

    def is_exact(self, digits: list[tuple[Node, Node]]) -> bool:
        integral = all(self.ranges[n.index].is_integer for pair in digits for n in pair)
        return integral and self.bound(digits) <= power_of_two(self.score_bits)

    def refusal(self, digits: list[tuple[Node, Node]]) -> str:
        middles = [self.middle(key) for _, key in digits]
        centred = [(q - m, k - m) for (q, k), m in zip(digits, middles, strict=True)]
        best = self.bound(centred)
        spans = " and ".join(str(self.ranges[k.index]) for _, k in digits)
        queries = " and ".join(str(self.ranges[q.index]) for q, _ in digits)
        remedy = (
            "give it missing='stop' or a default, so that its key can be split into digits, or "
            if self.nearest
            else ""
        )
        return (
            f"{self.name}: keys in {spans}, queries in {queries}: scores reach {best}, and with "
            f"{self.lowering.max_tokens} tokens they must stay within "
            f"2**{self.score_bits} to be exact in {self.lowering.arithmetic.name}; {remedy}"
            "promise smaller keys and queries with assume, or compile for fewer tokens"
        )
