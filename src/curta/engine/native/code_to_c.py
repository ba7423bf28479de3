"""C for what a step does: acts as statements, and the general step, which knows nothing.

What a block needs is computed where it is needed, in the block. Totals and the position are kept in
locals, and written back when a function is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from curta.compiler.numbers import Number, power_of_two, simplify
from curta.engine.native.case import Case, Facts
from curta.engine.native.choice import score_range, whole_vertex
from curta.engine.native.classes import are_in_a_row
from curta.engine.native.expressions import Expressions, Scope, literal
from curta.engine.native.routine import (
    Act,
    Acts,
    Check,
    Divide,
    Filing,
    Growth,
    Next,
    Routine,
    Rule,
    Say,
)
from curta.engine.native.tables import comment, storage_type
from curta.engine.native.values import CONSTANT, Sum, ValueId
from curta.engine.native.values_to_c import ValuesWriter

FEWEST_FOR_SWITCH = 4


class CodeWriter(ValuesWriter):
    """A routine's acts, and its general step."""

    def __init__(self, routine: Routine, expressions: Expressions | None = None) -> None:
        super().__init__(routine.pool, expressions)
        self.routine = routine
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
        owners = [rows.number for rows in self.routine.rows if not rows.by_position]
        return [
            f"static {signature} {{",
            *first,
            "    int64_t position = s->position;",
            "    Track *const track = s->track;",
            "    (void)track;",
            *(f"    int64_t total{n} = s->total{n};" for n in self.totals),
            *(f"    Row{o} *filed{o} = 0;\n    (void)filed{o};" for o in owners),
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

    def before_choice(self, case: Case, scope: Scope) -> list[str]:
        """What else the general step does."""
        return []

    def after_choice(self) -> list[str]:
        raise NotImplementedError

    def say(self, case: Case, rule: Rule, scope: Scope) -> list[str]:
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
            case Say((rule,)):
                return self.say(case, rule, scope)
            case Say(rules):
                return [*self.compare(case, rules, scope), *self.after_choice()]
            case Divide():
                return self.divide(case, act, scope)
            case Next():
                return ["position++;", "if (++next == end) goto leave;", "goto dispatch;"]

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
            mark = f"position = {self.here}" if rows.kind == "nearest" else "filed = 1"
            lines.append(f"{row}{mark};")
        for name, total in act.members:
            member = rows.members[name]
            text = self.expressions.in_step(total, member.step, scope)
            lines.append(f"{row}{name} = ({storage_type(member)})({text});")
        return lines

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
        terms: list[tuple[ValueId, Number]] = []
        for value, coefficient in above.terms:
            quotient = Fraction(coefficient) / unit / width
            if value == CONSTANT:
                terms.append((value, quotient.numerator // quotient.denominator))
                continue
            step = power_of_two(self.pool.entries[value].step)
            if (quotient * step).denominator != 1:
                return None
            terms.append((value, simplify(quotient)))
        return Sum(tuple((v, c) for v, c in terms if c))

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
