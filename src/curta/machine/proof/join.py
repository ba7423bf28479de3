"""Where ways meet: one word for what a place holds on each of them.

A *column* is what a place (a local, an operand, a register, the world) holds on all ways that have
come. A column that is one term all along keeps it; places with the same column share a symbol. What
was a symbol stays one, and places that were told apart are never put together again: so every loop
comes to an end. A truth value that is the contrary of another stays that, and a comparison of
places on every way is the comparison of their words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from curta.machine.proof.terms import Term, Terms

Column = tuple[Term, ...]
_COMPARISONS = ("eq", "lt_u", "lt_s")
_MOST_FACTS = 16


@dataclass
class Joining:
    """`own` are the symbols that were made at this meeting; new ones are added."""

    terms: Terms
    at: int
    own: set[Term]
    symbols: dict[tuple[Term | None, Column], Term] = field(default_factory=dict)
    by_column: dict[Column, Term] = field(default_factory=dict)

    def words(self, columns: Sequence[Column], old: Sequence[Term]) -> list[Term]:
        """A word for each column; `old` is what they were, of which only symbols count."""
        held: dict[Term, Column | None] = {}
        cases = []
        for column, word in zip(columns, old, strict=True):
            symbol, turned = self._symbol_of(word, column)
            if turned:
                column = tuple(map(self.terms.negate, column))
            if symbol is not None and held.setdefault(symbol, column) != column:
                held[symbol] = None
            cases.append((column, symbol, turned))
        for symbol, found in held.items():
            if found is not None and (not self.terms.truth[symbol] or self._are_truths(found)):
                self.symbols[symbol, found] = symbol
                self.by_column[found] = symbol
        joined: dict[int, Term] = {}
        order = sorted(range(len(cases)), key=lambda number: max(cases[number][0]))
        for number in order:  # parts are older than what is made of them
            column, symbol, turned = cases[number]
            word = self._word(column, symbol)
            self.by_column.setdefault(column, word)
            joined[number] = self.terms.negate(word) if turned else word
        return [joined[number] for number in range(len(cases))]

    def _symbol_of(self, word: Term, column: Column) -> tuple[Term | None, bool]:
        """The symbol that a word was, or that it was the contrary of."""
        if word in self.own:
            return word, False
        node = self.terms.nodes[word] if word >= 0 else ("",)
        if node[0] == "not" and node[1] in self.own and self._are_truths(column):
            return node[1], True  # type: ignore[return-value]
        return None, False

    def _word(self, column: Column, symbol: Term | None) -> Term:
        if symbol is None and all(term == column[0] for term in column):
            return column[0]
        key = symbol, column
        if key not in self.symbols:
            self.symbols[key] = self._new(column, symbol)
        return self.symbols[key]

    def _new(self, column: Column, symbol: Term | None) -> Term:
        truths = self._are_truths(column)
        if truths:
            contrary = self.symbols.get((symbol, tuple(map(self.terms.negate, column))))
            if contrary is not None:
                return self.terms.negate(contrary)
        made = self._made(column) if symbol is None else None
        if made is not None:
            return made
        new = self.terms.node("symbol", self.at, len(self.own))
        self.terms.truth[new] = truths
        self.own.add(new)
        return new

    def _made(self, column: Column) -> Term | None:
        """The word that is made of others in the way in which each of these terms is."""
        if min(column) < 0:
            return None
        nodes = [self.terms.nodes[term] for term in column]
        name, *parts = nodes[0]
        if any(node[0] != name or len(node) != len(nodes[0]) for node in nodes):
            return None
        if name == "sum":
            return self._sum(nodes)
        if name not in self.terms.pure:
            return None
        words = []
        for place in range(1, 1 + len(parts)):
            word = self._part(tuple(node[place] for node in nodes))  # type: ignore[misc]
            if word is None:
                return None
            words.append(word)
        return self.terms.rebuilt(str(name), words)

    def _sum(self, nodes: Sequence[tuple[object, ...]]) -> Term | None:
        """A sum of as many words, with the same coefficients."""
        shapes = {(node[1], tuple(factor for _, factor in node[2])) for node in nodes}  # type: ignore[attr-defined]
        if len(shapes) != 1:
            return None
        ((total, factors),) = shapes
        columns = zip(*((term for term, _ in node[2]) for node in nodes), strict=True)  # type: ignore[attr-defined]
        words = [self._part(column) for column in columns]
        if None in words:
            return None
        return self.terms.total(total, zip(words, factors, strict=True))  # type: ignore[arg-type]

    def _part(self, column: Column) -> Term | None:
        if all(term == column[0] for term in column):
            return column[0]
        return self.by_column.get(column) or self._made(column)

    def facts(self, known: Sequence[dict[Term, bool]]) -> dict[Term, bool]:
        """What is known on every way, of the words that there are now."""
        first, *others = known
        places: dict[Term, list[Column]] = {}
        for column, word in self.by_column.items():
            if word != column[0]:
                places.setdefault(column[0], []).append(column)
        found = {}
        for atom, holds in list(first.items())[-_MOST_FACTS:]:
            if all(facts.get(atom) == holds for facts in others):
                found[atom] = holds
            if self.terms.nodes[atom][0] in _COMPARISONS:
                found.update(self._facts_like(atom, holds, places, others))
        return found

    def _facts_like(
        self,
        atom: Term,
        holds: bool,
        places: dict[Term, list[Column]],
        others: Sequence[dict[Term, bool]],
    ) -> dict[Term, bool]:
        """The same comparison of places, as far as it is known on the other ways."""
        terms = self.terms
        found: dict[Term, bool] = {}
        name, *sides = terms.nodes[atom]
        alone = [(side,) * (1 + len(others)) for side in sides]
        for one in (*places.get(sides[0], ()), alone[0]):  # type: ignore[call-overload]
            for other in (*places.get(sides[1], ()), alone[1]):  # type: ignore[call-overload]
                if all(
                    self._is_known(str(name), one[way], other[way], holds, facts)
                    for way, facts in enumerate(others, 1)
                ):
                    words = [self.by_column.get(column, column[0]) for column in (one, other)]
                    truth = terms.value(str(name), *words)
                    if truth >= 0:
                        fact, positive = terms.fact(truth)
                        found[fact] = holds == positive
        return found

    def _is_known(self, name: str, a: Term, b: Term, holds: bool, facts: dict[Term, bool]) -> bool:
        self.terms.facts = facts
        truth = self.terms.value(name, a, b)
        self.terms.facts = {}
        return truth == ~int(holds)

    def _are_truths(self, column: Column) -> bool:
        return all(map(self.terms.is_truth, column))
