"""C for what a step does: values and acts as statements, and the general step, which knows nothing.

What a block needs is computed where it is needed, in the block. Totals and the position are kept in
locals, and written back when a function is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import floor

from curta.dyadic import Number, power_of_two
from curta.engine.native.case import Case, Facts
from curta.engine.native.choice import score_range, whole_vertex
from curta.engine.native.classes import are_in_a_row
from curta.engine.native.expressions import Expressions, Scope, literal, multiples_in
from curta.engine.native.routine import (
    Act,
    Acts,
    Check,
    Divide,
    Filing,
    Growth,
    Routine,
    Rule,
    Say,
)
from curta.engine.native.tables import comment, position_expression, storage_type
from curta.engine.native.values import (
    CONSTANT,
    Column,
    Digit,
    FetchedKey,
    FetchedValue,
    Held,
    Parameter,
    PositionValue,
    Sum,
    Total,
    ValueId,
    constant,
)

FEWEST_FOR_NAME = 3
"""Values whose sum gets a name where it is read."""
FEWEST_FOR_SWITCH = 4


class CodeWriter:
    """A routine's values and acts as statements, and its general step. What is computed already is
    kept in a scope.
    """

    def __init__(self, routine: Routine, expressions: Expressions | None = None) -> None:
        self.routine, self.pool = routine, routine.pool
        self.expressions = expressions or Expressions(self.pool)
        """With the tables of all functions of a file."""
        self.name_numbers: dict[Sum, int] = {}
        self.totals = routine.totals
        self.here = "position"
        """Where the token is that a step takes in."""
        self.if_exhausted = ""
        """What a function of many steps does if there was no memory for a row."""

    def functions(self) -> str:
        """The general step, and all that it calls."""
        step = self.step()
        return "\n".join([self.expressions.table_definitions(), *step]) + "\n"

    def step(self) -> list[str]:
        """Takes a token, and returns what is said after it; -1 at a broken promise."""
        case, scope = Case(self.pool, Facts()), Scope()
        lines = ["int32_t said = -1;"]
        for event in self.routine.events:
            lines += self.act(case, event, scope)
        lines += self.before_choice(case, scope)
        lines += self.compare(case, self.routine.rules, scope)
        lines += ["said = token;", "position++;"]
        return self.frame(
            "inline int32_t step(State *s, int32_t token)",
            ["    if (!RING && s->position >= s->capacity && !grow(s)) return -1;"],
            lines,
            ["    return said;"],
        )

    def frame(
        self, signature: str, first: list[str], body: list[str], last: list[str]
    ) -> list[str]:
        """A function that works with the state in locals."""
        return [
            f"static {signature} {{",
            *first,
            "    int64_t position = s->position;",
            "    Track *const track = s->track;",
            "    (void)track;",
            *(f"    int64_t total{n} = s->total{n};" for n in self.totals),
            *self.latest(),
            *self.arrays(),
            *body,
            *(["leave:"] if any("goto leave;" in line for line in body) else []),
            *(f"    s->total{n} = total{n};" for n in self.totals),
            "    s->position = position;",
            *last,
            "}",
        ]

    def arrays(self) -> list[str]:
        direct = [rows.number for rows in self.routine.rows if rows.kind == "direct"]
        return [f"    Row{o} *const rows{o} = s->rows{o};\n    (void)rows{o};" for o in direct]

    def latest(self) -> list[str]:
        """The rows in which something is filed."""
        owners = [rows.number for rows in self.routine.rows if not rows.by_position]
        return [f"    Row{o} *filed{o} = 0;\n    (void)filed{o};" for o in owners]

    def before_choice(self, case: Case, scope: Scope) -> list[str]:
        """What else the general step does."""
        return []

    def say(self, case: Case, rules: Sequence[Rule], scope: Scope) -> list[str]:
        raise NotImplementedError

    # -- blocks -------------------------------------------------------------------------------

    def block(self, block: Acts, scope: Scope) -> list[str]:
        return [line for case, act in block for line in self.act(case, act, scope)]

    def act(self, case: Case, act: Act, scope: Scope) -> list[str]:
        match act:
            case Growth(total, addend):
                lines = self.needed(case, [addend], scope)
                text = self.expressions.in_step(addend, self.pool.entries[total].step, scope)
                return [*lines, f"total{total} += {text};"]
            case Filing():
                return self.file(case, act, scope)
            case Check():
                return self.check(case, act, scope)
            case Say(rules):
                return self.say(case, rules, scope)
            case Divide():
                return self.divide(case, act, scope)

    def file(self, case: Case, act: Filing, scope: Scope) -> list[str]:
        rows = self.pool.rows[act.rows]
        lines = self.needed(case, [total for _, total in act.members], scope)
        row = "track[ROW(position)]." if rows.by_position else f"filed{act.rows}->"
        if act.opens and not rows.by_position:
            lines += self.needed(case, [act.key], scope)
            key = self.expressions.text(act.key, 0, scope)
            if rows.kind == "direct":
                lines.append(f"filed{act.rows} = &rows{act.rows}[{key}];")
            else:
                lines.append(f"filed{act.rows} = store{act.rows}(s, (uint64_t)({key}));")
            if rows.kind in ("paged", "hashed"):
                lines.append(self.if_exhausted)
            if rows.kind == "nearest":
                lines.append(f"{row}position = {self.here};")
            else:
                lines.append(f"FILED{act.rows}")
        return [*lines, *self.members(act, row, scope)]

    def members(self, act: Filing, row: str, scope: Scope) -> Iterator[str]:
        """What is written to a row."""
        for name, total in act.members:
            member = self.pool.rows[act.rows].members[name]
            text = self.expressions.in_step(total, member.step, scope)
            yield f"{row}{name} = ({storage_type(member)})({text});"

    def check(self, case: Case, act: Check, scope: Scope) -> list[str]:
        unit = power_of_two(act.step)
        low, high = int(Fraction(act.low) / unit), int(Fraction(act.high) / unit)
        ends = case.range(act.total)
        tests = []
        if ends[0] < act.low:
            tests.append(f"promised < {literal(low)}")
        if ends[1] > act.high:
            tests.append(f"promised > {literal(high)}")
        lines = self.named(case, act.total, scope)
        text = self.expressions.in_step(act.total, act.step, scope)
        return [
            *lines,
            f"{{ const int64_t promised = {text}; /* {comment(act.name)} */",
            f"if ({' || '.join(tests) or '0'}) {{",
            f"stop(s, {act.number}, promised, {act.step}); goto leave; }} }}",
        ]

    def divide(self, case: Case, act: Divide, scope: Scope) -> list[str]:
        lines = self.named(case, act.on, scope)
        step = self.pool.step(act.on)
        on = self.expressions.text(act.on, step, scope)
        bodies: dict[str, list[int]] = {}
        points = all(low == high for (low, high), _ in act.branches)
        for (low, _), block in act.branches:
            start = -int(-Fraction(low) // power_of_two(step))
            body = "\n".join(self.block(block, scope.inner()))
            bodies.setdefault(body, []).append(start)
        if len(bodies) == 1:
            return [*lines, *bodies]
        if points and len(act.branches) >= FEWEST_FOR_SWITCH:
            lines.append(f"switch ({on}) {{")
            for number, (body, starts) in enumerate(bodies.items(), start=1):
                labels = " ".join(f"case {start}:" for start in starts)
                default = " default:" if number == len(bodies) else ""
                lines += [f"{labels}{default} {{", body, "}"]
            return [*lines, "}"]
        lines.append(f"{{ const int64_t on = {on};")
        flat = [(start, body) for body, starts in bodies.items() for start in starts]
        for start, body in sorted(flat, reverse=True)[:-1]:
            lines += [f"if (on >= {literal(start)}) {{", body, "}"]
        return [*lines, min(flat)[1], "}"]

    # -- what is said -------------------------------------------------------------------------

    def vertex(self, case: Case, rule: Rule, scope: Scope) -> str:
        """The d in 0..most with the largest d * linear - d * d * square."""
        linear, square, most = rule.linear, rule.square, len(rule.tokens) - 1
        step = min(self.pool.step(linear), self.pool.step(square))
        found = whole_vertex(case, rule)
        if found is None:
            texts = (self.expressions.text(total, step, scope) for total in (linear, square))
            return f"vertex({', '.join(texts)}, {most})"
        unit, width, (low, high) = found
        above = linear.plus(Sum(((CONSTANT, unit),)), width // 2 - 1)
        whole = self.divided(above, unit, width)
        if whole is not None:
            text = self.expressions.text(whole, 0, scope)
        elif width & (width - 1):
            return f"vertex({self.expressions.text(linear, step, scope)}, {width // 2}, {most})"
        else:
            text = f"({self.expressions.text(above, step, scope)}) >> {width.bit_length() - 1}"
        return text if low >= 0 and high <= most else f"clamped({text}, {most})"

    def divided(self, above: Sum, unit: Number, width: int) -> Sum | None:
        """The floor of above / (unit * width) as a sum, if its terms are whole."""
        quotient = above.scaled(1 / (Fraction(unit) * width))
        rest = quotient.without_constant
        for value, coefficient in rest.terms:
            if Fraction(coefficient * power_of_two(self.pool.entries[value].step)).denominator != 1:
                return None
        return rest.plus(constant(floor(quotient.added)))

    def compare(self, case: Case, rules: Sequence[Rule], scope: Scope) -> list[str]:
        """The best token of several rules.

        Scores that may be too large for int64_t in a common unit are compared as doubles, which
        hold each of them exactly.
        """
        totals = [part for rule in rules for part in rule.parts]
        lines = self.needed(case, totals, scope)
        common = min((self.pool.step(total) for total in totals if total.terms), default=0)
        most = power_of_two(62 + common)
        ends = [end for rule in rules for end in score_range(case, rule)]
        whole = all(-most < end < most for end in ends)
        kind, least = ("int64_t", "INT64_MIN") if whole else ("double", "-INFINITY")
        lines.append(f"{{ {kind} best = {least}; token = 0;")
        for number, rule in enumerate(rules):
            own = min((self.pool.step(total) for total in rule.parts if total.terms), default=0)
            step = common if whole else own
            unit = "" if whole else f"{float(power_of_two(step)).hex()} * (double)"
            base, linear, square = (self.expressions.text(t, step, scope) for t in rule.parts)
            first, size = rule.tokens[0], len(rule.tokens)
            earlier = [t for earlier in rules[:number] for t in earlier.tokens]
            rising = all(t < first for t in earlier)
            beats = "score > best" + ("" if rising else " || (score == best && other < token)")
            if size == 1:
                lines.append(f"{{ const {kind} score = {unit}({base});")
                lines.append(f"const int32_t other = {first};")
            else:
                whole_family = are_in_a_row(rule.tokens)
                names = ", ".join(map(str, rule.tokens))
                table = "" if whole_family else f" static const int32_t tokens[] = {{{names}}};"
                spoken = f"{first} + (int32_t)best_digit" if whole_family else "tokens[best_digit]"
                rise = "best_digit * (linear - best_digit * square)"
                lines += [
                    "{" + table,
                    f"const int64_t linear = {linear}, square = {square};",
                    f"const int64_t best_digit = vertex(linear, square, {size - 1});",
                    f"const {kind} score = {unit}({base} + {rise});",
                    f"const int32_t other = {spoken};",
                ]
            lines.append(f"if ({beats}) best = score, token = other; }}")
        return [*lines, "}"]

    # -- values -------------------------------------------------------------------------------

    def needed(self, case: Case, totals: list[Sum], scope: Scope) -> list[str]:
        """The definitions of all values that these sums read, if they are not there yet.

        What has been defined may change how a sum is written, and so what it reads.
        """
        lines: list[str] = []
        before = -1
        while before != len(scope.defined):
            before = len(scope.defined)
            for total in totals:
                for value in self.expressions.read(total, scope):
                    if value not in scope.defined:
                        self.define(case, value, scope, lines)
        return lines

    def named(self, case: Case, total: Sum, scope: Scope) -> list[str]:
        """The same, and a name for the sum if it is one of several values."""
        rest = total.without_constant
        lines = self.needed(case, [rest], scope)
        if len(rest.terms) >= FEWEST_FOR_NAME and rest not in scope.names:
            step = self.pool.step(rest)
            name = f"sum{self.name_numbers.setdefault(rest, len(self.name_numbers))}"
            lines.append(f"const int64_t {name} = {self.expressions.text(rest, step, scope)};")
            scope.names[rest] = name, step
        return lines

    def define(self, case: Case, value: ValueId, scope: Scope, lines: list[str]) -> None:
        entry = self.pool.entries[value]
        scope.defined.add(value)
        match entry.definition:
            case Digit():
                text = "digit"
            case Parameter(text):
                pass
            case Column():
                text = f"column{value}[token]"
            case PositionValue(divisor, modulus, power, offset):
                text = position_expression(divisor, modulus, power, offset)
            case Total():
                text = f"total{value}"
            case FetchedValue(look_up, member):
                self.find(case, look_up, scope, lines)
                certain = self.pool.look_ups[look_up].nearest or case.facts.hits.get(look_up)
                found = f"row{look_up}->{member}"
                certain = certain or self.lies_within(case, look_up)
                text = found if certain else f"row{look_up} ? {found} : 0"
            case FetchedKey(look_up, unit):
                self.filed(case, look_up, scope, lines)
                query = f"query{look_up}"
                text = (
                    f"filed_row{look_up} ? (int64_t){query} : (int64_t)!{query} * INT64_C({unit})"
                )
            case Held(total) if (counted := multiples_in(case, total)) is not None:
                lines += self.named(case, counted.of, scope)
                lines += self.named(case, counted.up_to, scope)
                text = self.expressions.multiples(counted, entry.step, scope)
            case _:
                for total in self.pool.reads(value):
                    lines += self.named(case, total, scope)
                text = self.expressions.definition(case, value, scope)
        note = f" /* {comment(entry.name)} */" if entry.name else ""
        lines.append(f"const int64_t v{value} = {text};{note}")

    def lies_within(self, case: Case, number: int) -> bool:
        """Whether a row lies in an array: what was not filed there is zero."""
        look_up = self.pool.look_ups[number]
        low, high = case.range(case.sum(look_up.query))
        rows = self.pool.rows[look_up.rows]
        return rows.kind == "direct" and low >= 0 and high < rows.size

    def filed(self, case: Case, number: int, scope: Scope, lines: list[str]) -> None:
        """The row that a look-up finds, if it was filed."""
        self.find(case, number, scope, lines)
        if number in scope.found:
            return
        scope.found.add(number)
        row, kind = f"row{number}", self.pool.rows_behind(number).kind
        is_row = row if kind in ("nearest", "by position") else f"{row} && {row}->filed ? {row} : 0"
        type_name = "Track" if kind == "by position" else f"Row{self.pool.look_ups[number].rows}"
        lines.append(f"const {type_name} *filed_row{number} = {is_row};")

    def find(self, case: Case, number: int, scope: Scope, lines: list[str]) -> None:
        """Where the row that a look-up finds lies; what was not filed is zero."""
        if number in scope.rows:
            return
        scope.rows.add(number)
        look_up = self.pool.look_ups[number]
        query = case.sum(look_up.query)
        lines += self.needed(case, [query], scope)
        text, rows = self.expressions.text(query, 0, scope), look_up.rows
        if not self.pool.rows[rows].by_position:
            lines.append(f"const uint64_t query{number} = (uint64_t)({text});")
            place = f"at{rows}(s, query{number})"
            if self.lies_within(case, number):
                place = f"&rows{rows}[query{number}]"
            lines.append(f"const Row{rows} *row{number} = {place};")
            return
        lines.append(f"const int64_t query{number} = {text};")
        row = f"&track[ROW(query{number})]"
        if case.facts.hits.get(number):
            found = row
        elif look_up.nearest:
            within = f"query{number} > position ? position : query{number}"
            found = f"&track[ROW(query{number} < 0 ? 0 : {within})]"
        else:
            found = f"(uint64_t)query{number} <= (uint64_t)position ? {row} : 0"
        lines.append(f"const Track *row{number} = {found};")
