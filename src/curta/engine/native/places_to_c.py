"""C for the instructions of a program: what is done at a place, by its selector.

A *template* is what the steps of an instruction do at all places with the same selector; what it
needs to know of the place has names (`place`, `field0`, ...). All templates together, in a few
functions that look the fields up, are `run`. The C of one program (`kit.py`) is made of the same
text, with a copy for each hot place, whose fields are constants. Some lines tell how:

    //@if NUMBER field3   what follows, up to its //@end, is for places whose field 3 is at least
                          that, and what follows the //@end for others
    //@may NUMBER ...     what follows up to its //@end says a token of one of those classes
    //@say NUMBER         what follows up to its //@end says a token of that class
    //@done               what was said at the place before cannot be taken back any more
    ARRIVE(number);       the place that comes next; before anything is filed, code for hot places
                          leaves if it has none for that place, or if room is short
    GO;                   on to that place; code for all programs leaves only here
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from curta.dyadic import Number
from curta.engine.native.bits import Cut
from curta.engine.native.case import Case, Facts
from curta.engine.native.changes import Change
from curta.engine.native.classes import are_in_a_row
from curta.engine.native.code_to_c import CodeWriter
from curta.engine.native.expressions import Expressions, Scope, integer
from curta.engine.native.outline import outlined
from curta.engine.native.places import MOST_TOKENS, Moment, Places
from curta.engine.native.routine import (
    Act,
    Acts,
    Check,
    Divide,
    Filing,
    Growth,
    NotWorthItError,
    Rule,
)
from curta.engine.native.values import (
    Column,
    Conjunction,
    Digit,
    FetchedKey,
    FetchedValue,
    Parameter,
    PositionValue,
    Sum,
    ValueId,
)


class PlacesWriter(CodeWriter):
    def __init__(self, places: Places, stops: list[int], expressions: Expressions) -> None:
        super().__init__(places.routine, expressions)
        self.here = "position + (next - said)"
        self.places = places
        self.stops = frozenset(stops)
        self.parameters = [
            self.pool.definition(total.terms[0][0]) for total in places.fields.values()
        ]
        self.moment: Moment | None = None
        self.back: int | None = None
        """Tokens of the instruction that can be taken back, for others to say them: as long as
        nothing else was done; None from then on.
        """
        self.parts: dict[str, str] = {}
        """Functions that templates call, by what they do."""
        self.filled = set[int]()
        """Rows that a template files in behind the border."""
        self.read_from = set[int]()
        """Rows that it looks things up in."""

    def template(self, value: Number) -> str:
        """What is done from the border of a step on, at a place whose selector is this.

        None that looks up what it files behind the border: there, what was found is not forgotten.
        """
        self.filled.clear()
        self.read_from.clear()
        self.back = 0
        try:
            lines = self.speaks(self.places.beginning(value), Scope())
        finally:
            self.moment = None
        if self.filled & self.read_from:
            raise NotWorthItError
        return "\n".join(outlined(without_unused(lines), self.parts))

    def begin(self) -> list[str]:
        """Takes in the token that is there, up to the border."""
        places = self.places
        lines = [
            f"    if (count <= {MOST_TOKENS}) return 0;",
            "    const int64_t position = s->position;",
            "    Track *const track = s->track;",
            "    int32_t token = first;",
            "    int64_t digit = 0, to = 0;",
            f"    int32_t *next = said, *const end = said + count - {MOST_TOKENS} - 1;",
            "    (void)digit, (void)track;",
            *(f"    int64_t total{n} = s->total{n};" for n in self.totals),
            *(f"    int64_t before{n} = total{n};" for n in places.uncounted),
            *self.arrays(),
            *self.latest(),
            "    switch (class_of[token]) {",
        ]
        for number in places.ending:
            lines += [f"    case {number + 1}: {{ digit = place_of[token];"]
            scope = Scope()
            acts, after = places.taken[number]
            for case, act in self.growing_first(acts):
                lines += self.act(case, act, scope)
            lines += self.needed(after, [target := after.sum(places.query)], scope)
            lines += [f"to = {self.expressions.text(target, 0, scope)};", "break; }"]
        return [*lines, "    default: return 0;", "    }", "if (!is_here(s, to)) goto give_up;"]

    def leave(self) -> list[str]:
        """Leaves: a step that was begun is left to the general code."""
        case, scope, lines = Case(self.pool, Facts()), Scope(), list[str]()
        for event in self.routine.events:
            if isinstance(event, Growth) and event.total not in self.places.uncounted:
                lines += self.needed(case, [event.addend], scope)
                step = self.pool.entries[event.total].step
                text = self.expressions.in_step(event.addend, step, scope)
                lines.append(f"total{event.total} -= {text};")
        lines = [
            "give_up: {",
            "if (next > said) token = next[-1];",
            *lines,
            *(f"total{n} = before{n};" for n in self.places.uncounted),
            "}",
            "leave:",
            *(f"s->total{n} = total{n};" for n in self.totals),
            "for (int64_t i = next - said > RING ? next - said - RING : 0; i < next - said; i++) {",
            "const int32_t token = i ? said[i - 1] : first;",
            "Track *const row = &track[ROW(position + i)];",
        ]
        scope = Scope()
        for event in self.routine.events:
            if isinstance(event, Filing) and self.pool.rows[event.rows].by_position:
                lines += self.needed(case, [total for _, total in event.members], scope)
                lines += self.members(event, "row->", scope)
        return [
            *lines,
            "}",
            "s->position += next - said;",
            "s->quiet += next - said;",
            "return next - said;",
            "}",
            "",
        ]

    # -- a place --------------------------------------------------------------------------------

    def speaks(self, moment: Moment, scope: Scope) -> list[str]:
        before, self.moment = self.moment, moment
        lines = self.block(self.places.speaks(moment), scope)
        self.moment = before
        return lines

    def divide(self, case: Case, act: Divide, scope: Scope) -> list[str]:
        """By a field: that is decided when the code of a program is put together."""
        shape = self.pool.definition(act.on.terms[0][0]) if len(act.on.terms) == 1 else None
        if not isinstance(shape, Parameter) or shape not in self.parameters or act.on.added:
            return super().divide(case, act, scope)
        bodies = [
            (low, self.block(block, scope.inner()))
            for (low, _), block in sorted(act.branches, key=lambda b: b[0], reverse=True)
        ]
        lines = list[str]()
        for (low, body), (_, next_body) in zip_longest(bodies, bodies[1:], fillvalue=(0, [])):
            if body == next_body:
                continue  # the field tells nothing apart
            least = integer(low)
            lines += [f"//@if {least} {shape.name}", f"if ({shape.name} >= {least}) {{", *body]
            lines += ["}", "//@end"]
        return lines

    def block(self, block: Acts, scope: Scope) -> list[str]:
        said, back = " ".join(map(str, sorted(self.places.says(block)))), self.back
        self.filled |= {act.rows for _, act in block if isinstance(act, Filing)}
        lines = super().block(block, scope)
        self.back = back
        return [f"//@may {said}", *lines, "//@end"] if said else lines

    # -- what is said ---------------------------------------------------------------------------

    def say(self, case: Case, rules: Sequence[Rule], scope: Scope) -> list[str]:
        """Where scores have to be compared, the general code goes on."""
        if len(rules) > 1:
            return [*self.compare(case, rules, scope), "*next++ = token;", "goto leave;"]
        (rule,) = rules
        lines, digit = list[str](), "0"
        if (bits := self.places.cut(case, rule)) is not None:
            lines = self.needed(case, self.numbers(bits.number), scope)
            digit = self.expressions.bits(bits, scope)
        elif len(rule.tokens) > 1:
            lines = self.needed(case, [rule.linear, rule.square], scope)
            digit = self.vertex(case, rule, scope)
        place = self.places.classes[self.places.class_of[rule.number]].index(rule.tokens[0])
        return lines + self.said(case, rule, scope, f"{digit} + {place}" if place else digit)

    def said(self, case: Case, rule: Rule, scope: Scope, digit: str) -> list[str]:
        """A token of this rule is said: its place in its class is that."""
        assert self.moment is not None
        number = self.places.class_of[rule.number]
        tokens = self.places.classes[number]
        depth = len(self.moment.taken)
        name = f"said{depth}"
        lines = [f"//@say {number}", "{", f"const int64_t {name} = {digit};"]
        if are_in_a_row(tokens):
            lines.append(f"*next++ = {tokens[0]} + (int32_t){name};")
        else:
            names = ", ".join(map(str, tokens))
            lines.append(f"static const int32_t tokens[] = {{{names}}};")
            lines.append(f"*next++ = tokens[{name}];")
        stops = [token in self.stops for token in rule.tokens]
        if all(stops) or depth >= MOST_TOKENS:
            return [*lines, "goto leave; }", "//@end"]
        if any(stops):
            lines.append("if (is_stop(next[-1])) goto leave;")
        moment = self.places.said(self.moment, case, rule)
        inner, back = self.staying(scope, Change(token=True)), self.back
        lines += self.cut(moment, inner)
        lines += self.take_in(moment, number, inner)
        self.back = back
        return [*lines, "}", "//@end"]

    def cut(self, moment: Moment, scope: Scope) -> list[str]:
        """Note of what was said that it is some of the bits of a number."""
        lines = list[str]()
        for value, _ in moment.case.facts.equal[self.pool.define(Digit(), 0)].terms:
            shape = self.pool.definition(value)
            if isinstance(shape, Cut):
                lines += self.needed(moment.case, self.numbers(shape.bits.number), scope)
                scope.bits[value] = shape.bits
        return lines

    def numbers(self, number: Sum) -> list[Sum]:
        """What bits of a number are computed from."""
        shape = self.pool.definition(number.terms[0][0]) if len(number.terms) == 1 else None
        if isinstance(shape, Conjunction):
            return [*self.numbers(shape.one), *self.numbers(shape.other)]
        return [number]

    # -- what is taken in -----------------------------------------------------------------------

    def take_in(self, moment: Moment, number: int, scope: Scope) -> list[str]:
        places, acts, still = self.places, Acts(), set[ValueId]()
        arrives = number in places.ending
        guarded = frozenset[int]() if arrives else frozenset(scope.rows)
        for event in places.before:
            found, moment = places.follow(moment, event, still, guarded)
            acts += found
        if not arrives and moment.case.sum(places.query) != places.place:
            raise NotWorthItError
        lines, blocks = list[str](), 0
        if arrives:
            target = moment.case.sum(places.query)
            lines += self.needed(moment.case, [target], scope)
            lines.append(f"ARRIVE({self.expressions.text(target, 0, scope)});")
        if self.back is not None and not arrives and not any(map(self.lasts, acts)):
            self.back += 1
        else:
            lines += self.done()
            self.back = None
        kept = self.guarded(acts, scope, lines) if not arrives else set[int]()
        for case, act in self.growing_first(acts):
            stays = isinstance(act, Filing) and act.rows in kept
            change = Change() if stays else places.changes.of(act)
            lines += self.act(case, act, scope)
            if change != Change():
                scope, blocks = self.staying(scope, change), blocks + 1
                lines.append("{")
        rest = ["GO;"] if arrives else self.speaks(moment, scope)
        return [*lines, *rest, "}" * blocks]

    def done(self) -> list[str]:
        """The token that was said last is the first to be taken back."""
        return ["//@done", *(f"before{n} = total{n};" for n in self.places.uncounted)]

    def lasts(self, one: tuple[Case, Act]) -> bool:
        """Whether it changes what is not computed from the tokens alone."""
        act = one[1]
        return isinstance(act, Growth) or (
            isinstance(act, Filing) and not self.pool.rows[act.rows].by_position
        )

    def growing_first(self, acts: Acts) -> Acts:
        """With what the token adds to totals before all else: so a step can be taken back."""
        uncounted = self.places.uncounted

        def later(one: tuple[Case, Act]) -> bool:
            return not isinstance(one[1], Growth) or one[1].total in uncounted

        return sorted(acts, key=later)

    def guarded(self, acts: Acts, scope: Scope, lines: list[str]) -> set[int]:
        """Rows of which what was fetched stays what it is, because it is left if it does not.

        That is done before anything is, if what is filed is filed under a number.
        """
        kept = set[int]()
        for _, act in acts:
            if not isinstance(act, Filing) or not self.places.can_be_guarded(act):
                continue
            kept.add(act.rows)
            key = integer(act.key.constant or 0)
            asked = [n for n in sorted(scope.rows) if self.pool.look_ups[n].rows == act.rows]
            lines += [f"if (query{n} == {key}u) goto leave;" for n in asked if act.opens]
        return kept

    def staying(self, scope: Scope, change: Change) -> Scope:
        """What is still there behind a change."""
        changes = self.places.changes
        return Scope(
            {value for value in scope.defined if changes.stays_as_it_was(value, change)},
            {number for number in scope.rows if changes.finds_the_same(number, change)},
            {number for number in scope.found if changes.finds_the_same(number, change, key=True)},
            {t: name for t, name in scope.names.items() if changes.stay(t.terms, change)},
            {v: one for v, one in scope.bits.items() if changes.stay(one.number.terms, change)},
        )

    def define(self, case: Case, value: ValueId, scope: Scope, lines: list[str]) -> None:
        if self.moment is not None:
            match self.pool.entries[value].definition:
                case PositionValue() | Column() | Digit():
                    raise NotWorthItError
                case FetchedValue(number) | FetchedKey(number):
                    if self.pool.rows_behind(number).by_position:
                        raise NotWorthItError
        super().define(case, value, scope, lines)

    def find(self, case: Case, number: int, scope: Scope, lines: list[str]) -> None:
        self.read_from.add(self.pool.look_ups[number].rows)
        super().find(case, number, scope, lines)

    def file(self, case: Case, act: Filing, scope: Scope) -> list[str]:
        """The track is filed again when the code is left."""
        if not self.lasts((case, act)):
            return []
        done = self.done() if self.back else []
        self.back = None
        return [*done, *super().file(case, act, scope)]

    def check(self, case: Case, act: Check, scope: Scope) -> list[str]:
        """A broken promise is left to the general code, which says so."""
        lines = super().check(case, act, scope)
        back = f"next -= {self.back}; " if self.back else ""
        return [*lines[:-1], f"{back}goto give_up; }} }}"]


DEFINED = re.compile(r"(?:static )?const [^=(]*?\*?(\w+) = ")
NAME = re.compile(r"[A-Za-z_]\w*")


def without_unused(lines: list[str]) -> list[str]:
    """Without what is computed and not read: the C compiler would only throw it away."""
    pieces = [piece for line in lines for piece in line.split("\n")]
    while True:
        defined = [found[1] if (found := DEFINED.match(piece)) else "" for piece in pieces]
        uses = Counter(name for piece in pieces for name in NAME.findall(piece))
        uses.subtract(defined)
        left = [p for p, name in zip(pieces, defined, strict=True) if not name or uses[name]]
        if len(left) == len(pieces):
            return pieces
        pieces = left
