"""Words as terms: what two programs compute is the same if it is the same term.

A term is an integer. ~k is the constant k; others are numbers of nodes, each of which is an
operation and its arguments and is there only once: equal terms have equal numbers. Operations are
those of the machine. Building one brings it to a normal form:

- sums: add, sub, add3, sub3, products with constants and shifts to the left by constants are one
  node, a constant and summands with coefficients, modulo 2^32
- comparisons: eq, lt_u and lt_s, with constants on the right, and `not` of them
- select is `ite` of a truth value; funnels and rotations by constants turn to the left
- what is known of constants: 0, 1, all ones

Every such step is a theorem about words of 32 bits; tests/machine/theorems proves them.

`facts` are truth values that are known on the way that is being followed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from curta.machine.instructions import CORE, DIVISIONS, VALUES, WORD

Term = int
Key = tuple[object, ...]

ZERO: Term = ~0
ONE: Term = ~1
_ONES = WORD - 1
_SIGN = WORD >> 1
_HALF = 32
_MOST_SUMMANDS = 16
_LEAVES = frozenset(("symbol", "parameter", "world", "junk", "return address", "shared at start"))
_TRUTHS = frozenset(("eq", "lt_u", "lt_s", "not", "carry"))


def constant(word: int) -> Term:
    return ~(word % WORD)


def located(base: Term, offset: Term) -> tuple[Term, Term]:
    """Where an access is, and a constant offset to it; a constant base is part of that."""
    return (ZERO, ~(~base + ~offset)) if base < 0 else (base, offset)


def word_of(term: Term) -> int | None:
    """The word that a constant is."""
    return ~term if term < 0 else None


class Terms:
    """All nodes of a proof, and how to build them."""

    def __init__(self) -> None:
        self.nodes: list[Key] = []
        self.truth: list[bool] = []
        """Which nodes are 0 or 1."""
        self.facts: dict[Term, bool] = {}
        self.is_replacing = False
        """Whether what equals a constant is replaced by it where facts are taken in mind."""
        self._numbers: dict[Key, Term] = {}
        self._build: dict[str, Callable[[Term, Term, Term], Term]] = {
            "copy": lambda a, b, c: b,
            "add": lambda a, b, c: self._add(a, b),
            "sub": lambda a, b, c: self._add(a, self._scaled(b, _ONES)),
            "add3": lambda a, b, c: self._add(self._add(a, b), c),
            "sub3": lambda a, b, c: self._add(
                self._add(a, self._scaled(b, _ONES)), self._scaled(c, _ONES)
            ),
            "mul": lambda a, b, c: self._product(a, b),
            "mul_high": lambda a, b, c: self._commuting("mul_high", a, b),
            "carry": lambda a, b, c: self._commuting("carry", a, b),
            "and": lambda a, b, c: self._commuting("and", a, b),
            "or": lambda a, b, c: self._commuting("or", a, b),
            "xor": lambda a, b, c: self._commuting("xor", a, b),
            "shl": lambda a, b, c: self._shift("shl", a, b),
            "shr_u": lambda a, b, c: self._shift("shr_u", a, b),
            "shr_s": lambda a, b, c: self._shift("shr_s", a, b),
            "rotl": lambda a, b, c: self._shift("rotl", a, b),
            "rotr": lambda a, b, c: self._rotated_right(a, b),
            "funnel_shl": self._funnel_left,
            "funnel_shr": self._funnel_right,
            "select": lambda a, b, c: self.choose(self.is_true(c), a, b),
            "eq": lambda a, b, c: self.equal(a, b),
            "ne": lambda a, b, c: self.negate(self.equal(a, b)),
        }
        for sign in "us":
            self._add_comparisons(sign)
        for name in (n for n, one in CORE.items() if one.kind == "value" and one.operands == "ad"):
            self._build[name] = lambda a, b, c, name=name: self._unary(name, a)  # type: ignore[misc]
        self.pure = frozenset((*self._build, "ite", "not"))

    def _add_comparisons(self, sign: str) -> None:
        less = f"lt_{sign}"
        self._build[less] = lambda a, b, c: self._less(less, a, b)
        self._build[f"gt_{sign}"] = lambda a, b, c: self._less(less, b, a)
        self._build[f"le_{sign}"] = lambda a, b, c: self.negate(self._less(less, b, a))
        self._build[f"ge_{sign}"] = lambda a, b, c: self.negate(self._less(less, a, b))

    # -- nodes ----------------------------------------------------------------------------------

    def node(self, *key: object) -> Term:
        """The node of these parts; the same one for the same parts."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.nodes)
            self.nodes.append(key)
            self.truth.append(key[0] in _TRUTHS)
        return number

    def value(self, operation: str, a: Term, b: Term = ZERO, c: Term = ZERO, *fourth: Term) -> Term:
        """The word that an operation gives; those of floats and extensions are only themselves."""
        sources = a, b, c, *fourth
        if max(sources) < 0 and operation in VALUES:
            return ~VALUES[operation](*(~source for source in sources))
        build = self._build.get(operation)
        return self.node("opaque", operation, *sources) if build is None else build(a, b, c)

    def is_truth(self, term: Term) -> bool:
        """Whether it is known to be 0 or 1."""
        return self.truth[term] if term >= 0 else ~term < 2

    def known(self, truth: Term) -> Term:
        """A truth value, or the constant that it is known to be."""
        if truth < 0:
            return truth
        node = self.nodes[truth]
        turned = node[0] == "not"
        atom: Term = node[1] if turned else truth  # type: ignore[assignment]
        fact = self.facts.get(atom)
        if fact is None:
            chosen = self.learned(atom) if self.nodes[atom][0] == "ite" else atom
            if chosen == atom:
                return truth
            return self.negate(chosen) if turned else chosen
        return ~int(fact != turned)

    def as_known(self, roots: Iterable[Term]) -> dict[Term, Term]:
        """Words as they are once the facts are known, built again from what they were made of.

        Both sides learn facts at different times; with all of them in mind they say the same.
        """
        found: set[Term] = set()
        waiting = [term for term in roots if term >= 0]
        while waiting:
            term = waiting.pop()
            if term not in found:
                found.add(term)
                waiting += [part for part in self._parts(term) if part >= 0]
        known = {atom: ~int(holds) for atom, holds in self.facts.items()}
        if self.is_replacing:
            known |= self._constants()
        done: dict[Term, Term] = {}
        for term in sorted(found):  # parts are older than what they are parts of
            again = term if term in known else self._again(term, done)
            done[term] = known.get(again, again)
        for term in roots:
            done.setdefault(term, self.learned(term))
        return done

    def _constants(self) -> dict[Term, Term]:
        """What is equal to a constant, as facts say."""
        equal = (self.nodes[atom] for atom, holds in self.facts.items() if holds)
        return {node[1]: node[2] for node in equal if node[0] == "eq" and node[2] < 0}  # type: ignore[misc,operator]

    def _parts(self, term: Term) -> Iterator[Term]:
        name, *parts = self.nodes[term]
        if name == "sum":
            yield from (one for one, _ in parts[1])  # type: ignore[attr-defined]
        elif name not in _LEAVES:
            for part in parts:
                if isinstance(part, int):
                    yield part
                elif isinstance(part, tuple) and part and not isinstance(part[0], str):
                    yield from (one for one in part if isinstance(one, int))

    def learned(self, term: Term) -> Term:
        """A word, or what it is chosen to be if that is known, or the constant that it is."""
        while term >= 0:
            node = self.nodes[term]
            if node[0] != "ite":
                return self.known(term) if self.truth[term] else term
            truth = self.known(node[1])  # type: ignore[arg-type]
            if truth >= 0:
                one, other = self.learned(node[2]), self.learned(node[3])  # type: ignore[arg-type]
                return one if one == other else term
            term = node[2] if truth == ONE else node[3]  # type: ignore[assignment]
        return term

    def _again(self, term: Term, done: dict[Term, Term]) -> Term:
        """A node with parts that were built again."""

        def new(part: object) -> Any:
            if isinstance(part, int):
                return done[part] if part in done else self.learned(part)
            if isinstance(part, tuple) and part and not isinstance(part[0], str):
                return tuple(map(new, part))
            return part

        name, *parts = self.nodes[term]
        if name in _LEAVES:
            return self.learned(term)
        if name == "sum":
            total, summands = parts
            return self.total(total, ((new(one), factor) for one, factor in summands))  # type: ignore[arg-type,attr-defined]
        words = [new(part) for part in parts]
        event, *others = self.nodes[parts[0] if name == "result" else term]  # type: ignore[call-overload]
        if event in DIVISIONS and len(others) > 2:  # that it may trap was not known to be wrong
            known = self.quotient(str(event), new(others[1]), new(others[2]))
            if known is not None:
                return known if name == "result" else words[0]
        if name in CORE and CORE[str(name)].size:
            words[1:3] = located(words[1], words[2])
        return self.rebuilt(str(name), words) if name in self.pure else self.node(name, *words)

    def rebuilt(self, name: str, words: list[Term]) -> Term:
        """An operation of other words."""
        if name == "ite":
            return self.choose(*words)
        return self.negate(*words) if name == "not" else self.value(name, *words)

    def total(self, constant: int, summands: Iterable[tuple[Term, int]]) -> Term:
        """A constant and words with their coefficients."""
        built = ~constant
        for term, factor in summands:
            built = self._add(built, self._scaled(term, factor))
        return built

    def fact(self, truth: Term) -> tuple[Term, bool]:
        """The fact that a truth value holds: an atom, and what it is."""
        node = self.nodes[truth]
        return (node[1], False) if node[0] == "not" else (truth, True)  # type: ignore[return-value]

    def undecided(self, truth: Term) -> Term:
        """The atom that has to be known first to know a truth value."""
        atom, _ = self.fact(truth)
        while self.nodes[atom][0] == "ite":
            condition = self.known(self.nodes[atom][1])  # type: ignore[arg-type]
            if condition < 0:
                condition = self.known(self.nodes[atom][2 if condition == ONE else 3])  # type: ignore[arg-type]
            atom, _ = self.fact(condition)
        return atom

    def past(self, world: Term) -> list[Term]:
        """A world, and those before it up to one that is nothing but a symbol."""
        worlds = [world]
        while world >= 0 and self.nodes[world][0] not in ("world", "symbol"):
            world = self.nodes[world][1]  # type: ignore[assignment]
            worlds.append(world)
        return worlds

    # -- sums -----------------------------------------------------------------------------------

    def _summands(self, term: Term) -> tuple[int, dict[Term, int]]:
        if term < 0:
            return ~term, {}
        node = self.nodes[term]
        if node[0] == "sum":
            return node[1], dict(node[2])  # type: ignore[call-overload,return-value]
        return 0, {term: 1}

    def _sum(self, total: int, summands: dict[Term, int]) -> Term:
        if not summands:
            return ~total
        if total == 0 and len(summands) == 1:
            ((term, coefficient),) = summands.items()
            if coefficient == 1:
                return term
        return self.node("sum", total, tuple(sorted(summands.items())))

    def _add(self, a: Term, b: Term) -> Term:
        if a == ZERO:
            return b
        if b == ZERO:
            return a
        total, summands = self._summands(a)
        more, others = self._summands(b)
        if len(summands) + len(others) > _MOST_SUMMANDS:
            total, more, summands, others = 0, 0, {a: 1}, {b: 1}
        for term, coefficient in others.items():
            together = (summands.get(term, 0) + coefficient) % WORD
            if together:
                summands[term] = together
            else:
                del summands[term]
        return self._sum((total + more) % WORD, summands)

    def _scaled(self, term: Term, factor: int) -> Term:
        total, summands = self._summands(term)
        scaled = {one: count * factor % WORD for one, count in summands.items()}
        return self._sum(total * factor % WORD, {one: n for one, n in scaled.items() if n})

    def _product(self, a: Term, b: Term) -> Term:
        if a < 0:
            a, b = b, a
        if b < 0:
            return self._scaled(a, ~b)
        return self.node("mul", *sorted((a, b)))

    def quotient(self, operation: str, a: Term, b: Term) -> Term | None:
        """A quotient or remainder that cannot trap: a shift or a mask for powers of two."""
        divisor, unsigned = word_of(b), operation.endswith("_u")
        if divisor and unsigned and not divisor & (divisor - 1):
            if operation == "rem_u":
                return self.value("and", a, constant(divisor - 1))
            return self.value("shr_u", a, constant(divisor.bit_length() - 1))
        if divisor == 1:
            return a if operation == "div_s" else ZERO
        if divisor and (unsigned or divisor != _ONES):
            return self.node(operation, a, b)
        return None

    # -- bits -----------------------------------------------------------------------------------

    def _unary(self, name: str, a: Term) -> Term:
        return self.node(name, a)

    def _commuting(self, name: str, a: Term, b: Term) -> Term:
        if a < 0:
            a, b = b, a
        if b < 0:
            simple = _BY_CONSTANT.get((name, ~b))
            if simple is not None:
                return a if simple == "itself" else ~int(simple)
            if b == ONE and self.is_truth(a) and name in ("and", "xor"):
                return a if name == "and" else self.negate(a)
        elif a == b and name in ("and", "or"):
            return a
        elif a == b and name == "xor":
            return ZERO
        elif a > b:
            a, b = b, a
        return self.known(self.node(name, a, b)) if name == "carry" else self.node(name, a, b)

    def _shift(self, name: str, a: Term, b: Term) -> Term:
        if a == ZERO:
            return ZERO
        if b >= 0:
            return self.node(name, a, b)
        count = ~b % _HALF
        if count == 0:
            return a
        if name.startswith("shr") and self.is_truth(a):
            return ZERO
        return self._scaled(a, 1 << count) if name == "shl" else self.node(name, a, ~count)

    def _rotated_right(self, a: Term, b: Term) -> Term:
        if b >= 0:
            return self.node("rotr", a, b)
        return self._shift("rotl", a, ~(-~b % _HALF))

    def _funnel_left(self, high: Term, amount: Term, low: Term) -> Term:
        if amount >= 0:
            return self.node("funnel_shl", high, amount, low)
        count = ~amount % _HALF
        if count == 0:
            return high
        if high == low:
            return self._shift("rotl", high, ~count)
        if low == ZERO:
            return self._shift("shl", high, ~count)
        if high == ZERO:
            return self._shift("shr_u", low, ~(_HALF - count))
        return self.node("funnel_shl", high, ~count, low)

    def _funnel_right(self, high: Term, amount: Term, low: Term) -> Term:
        if amount >= 0:
            return self.node("funnel_shr", high, amount, low)
        count = ~amount % _HALF
        return low if count == 0 else self._funnel_left(high, ~(_HALF - count), low)

    # -- truth ----------------------------------------------------------------------------------

    def is_true(self, term: Term) -> Term:
        """Whether a word is not 0."""
        return self.known(term) if self.is_truth(term) else self.negate(self.equal(term, ZERO))

    def negate(self, truth: Term) -> Term:
        if truth < 0:
            return ~(1 - ~truth)
        node = self.nodes[truth]
        return self.known(node[1] if node[0] == "not" else self.node("not", truth))  # type: ignore[arg-type]

    def equal(self, a: Term, b: Term) -> Term:
        if a == b:
            return ONE
        if a < 0:
            a, b = b, a
        if b < 0:
            if a < 0:
                return ZERO
            if self.truth[a]:
                return (
                    self.negate(self.known(a)) if b == ZERO else self.known(a) if b == ONE else ZERO
                )
        elif a > b:
            a, b = b, a
        return self.known(self.node("eq", a, b))

    def _less(self, name: str, a: Term, b: Term) -> Term:
        low, high = (0, _ONES) if name == "lt_u" else (_SIGN, _SIGN - 1)
        if a == b or b == ~low or a == ~high:
            return ZERO
        if a < 0:
            if b < 0:
                return ~VALUES[name](~a, ~b, 0)
            return self.negate(self._less(name, b, ~((~a + 1) % WORD)))
        if b == ~((low + 1) % WORD):
            return self.equal(a, ~low)
        return self.known(self.node(name, a, b))

    def choose(self, truth: Term, a: Term, b: Term) -> Term:
        """a if the truth value holds, else b."""
        truth = self.known(truth)
        if truth < 0:
            return a if truth == ONE else b
        if a == b:
            return a
        if self.nodes[truth][0] == "not":
            truth, a, b = self.nodes[truth][1], b, a  # type: ignore[assignment]
        if a == ONE and b == ZERO:
            return truth
        if a == ZERO and b == ONE:
            return self.negate(truth)
        chosen = self.node("ite", truth, a, b)
        self.truth[chosen] = self.is_truth(a) and self.is_truth(b)
        return chosen


_BY_CONSTANT: dict[tuple[str, int], int | str] = {
    ("and", 0): 0,
    ("and", _ONES): "itself",
    ("or", 0): "itself",
    ("or", _ONES): _ONES,
    ("xor", 0): "itself",
    ("mul_high", 0): 0,
    ("mul_high", 1): 0,
    ("carry", 0): 0,
}
"""What an operation is whose second argument is this constant."""
