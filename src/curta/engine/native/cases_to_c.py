"""C for the cases of a step: one function that says token after token while a stretch is quiet.

Every class of tokens has a label. What a block needs is computed where it is needed, in the block;
totals and the position are kept in locals, and written back when the function is left: after the
last token that was asked for, after a stop token, or at a broken promise.
"""

from __future__ import annotations

from fractions import Fraction

from curta.compiler.numbers import Number, power_of_two, simplify
from curta.engine.native.acts import (
    Act,
    Block,
    Compare,
    Divide,
    File,
    GiveUp,
    Grow,
    Insist,
    Next,
    Proceed,
    Say,
    Test,
)
from curta.engine.native.case import Case
from curta.engine.native.choice import score_range
from curta.engine.native.classes import TokenClass
from curta.engine.native.expressions import Scope, integer
from curta.engine.native.pool import Input
from curta.engine.native.specialise import Plan
from curta.engine.native.symbolic import (
    CONSTANT,
    Column,
    Sum,
    Total,
    ValueId,
)
from curta.engine.native.tables import (
    Tables,
    comment,
    integer_type,
    storage_type,
)
from curta.engine.native.values_to_c import ValuesWriter

NO_CLASS = 255
FEWEST_FOR_SWITCH = 4


class CasesWriter(ValuesWriter):
    def __init__(self, plan: Plan, layout: Tables, promise_steps: list[int], stops: list[int]):
        super().__init__(plan.steady.pool, layout)
        self.plan = plan
        self.promise_steps = promise_steps
        self.stops = frozenset(stops)
        self.totals = [
            n for n, v in enumerate(self.program.values) if isinstance(v.definition, Total)
        ]
        self.totals = [n for n in self.totals if Input(n) in self.pool.known]

    # -- the parts ----------------------------------------------------------------------------

    def class_tables(self) -> str:
        """The class of every token, and its place in it."""
        given = [] if self.plan.intake is None else self.plan.intake.classes
        return self.tables_of("class", "place", self.plan.classes) + self.tables_of(
            "given_class", "given_place", given
        )

    def tables_of(self, class_name: str, place_name: str, families: list[TokenClass]) -> str:
        classes, places = [NO_CLASS] * len(self.tokens), [0] * len(self.tokens)
        for number, one in enumerate(families):
            for place, token in enumerate(one.tokens):
                classes[token], places[token] = number, place
        kind = integer_type(0, max(places))
        return (
            f"static const uint8_t {class_name}_of[] = {{{', '.join(map(str, classes))}}};\n"
            f"static const {kind} {place_name}_of[] = {{{', '.join(map(str, places))}}};\n"
        )

    @property
    def tokens(self) -> range:
        column = next(
            (v.definition for v in self.program.values if isinstance(v.definition, Column)), None
        )
        said = max(token for one in self.plan.classes for token in one.tokens) + 1
        return range(max(said, len(column.entries) if column else 0))

    def functions(self) -> str:
        """All that the entry points call, and what that calls itself."""
        lines = [*self.run(), *self.ready(), *self.take()]
        parts = [f"static int64_t part{number}{text}" for text, number in self.parts.items()]
        return "\n".join([self.expressions.table_definitions(), *parts, *lines]) + "\n"

    def ready(self) -> list[str]:
        """Whether the next step is one of a quiet stretch."""
        tests = [f"class_of[token] != {NO_CLASS}", f"s->quiet > {self.plan.quiet.window}"]
        tests += [self.finds(table) for table in self.plan.quiet.filed]
        return [
            "static inline int ready(State *s, int32_t token) {",
            f"    return {' && '.join(tests)};\n}}\n",
        ]

    def finds(self, table: int) -> str:
        """Whether a table that is always asked the same finds something."""
        query = integer(self.pool.queries[table].constant or 0)
        return f"fetch{self.layout.codes[table].number}(s, {query}u)"

    def frame(self, name: str, arguments: str, body: list[str], leaving: list[str]) -> list[str]:
        """A function that works through tokens, with the state in locals."""
        owners = {code.number: code for code in self.layout.different if code.kind != "by position"}
        return [
            f"static int64_t {name}(State *s, {arguments}, int64_t count) {{",
            "    int64_t position = s->position, digit = 0;",
            "    if (!count) return 0;",
            "    Track *const track = s->track;",
            "    (void)track, (void)digit;",
            *(f"    int64_t total{n} = s->total{n}, before{n} = total{n};" for n in self.totals),
            *(f"    (void)before{n};" for n in self.totals),
            *(f"    Row{o} *filed{o} = 0;\n    (void)filed{o};" for o in owners),
            *body,
            "leave:",
            *(f"    s->total{n} = total{n};" for n in self.totals),
            *leaving,
            "}",
        ]

    def run(self) -> list[str]:
        """Says up to `count` tokens after `token`; returns how many before it ended or gave up."""
        lines = ["    int32_t *next = said, *end = said + count;"]
        lines += self.dispatch(";", "class", "place", len(self.plan.classes))
        before = [f"before{n} = total{n};" for n in self.totals]
        for number, block in enumerate(self.plan.entries):
            lines += [f"class{number}: {{", *before, *self.block(block, Scope()), "}"]
        for number, block in enumerate(self.plan.groups):
            lines += [f"group{number}: {{", *self.block(block, Scope()), "}"]
        gives_up = ["give_up:", *(f"    total{n} = before{n};" for n in self.totals)]
        if not any("goto give_up;" in line for line in lines):
            gives_up = []
        leaving = ["    s->quiet += position - s->position;"]
        leaving += ["    s->position = position;", "    return next - said;"]
        return self.frame("run", "int32_t token, int32_t *said", [*lines, *gives_up], leaving)

    def take(self) -> list[str]:
        """Takes up to `count` tokens that are never said; returns how many."""
        plan = self.plan.intake
        if plan is None:
            return [
                "static inline int64_t take(State *s, const int32_t *tokens, int64_t count) {",
                "    (void)s, (void)tokens, (void)count;\n    return 0;\n}",
            ]
        tests = [f"s->position < {plan.window}", *(self.finds(table) for table in plan.unfiled)]
        tests += [f"s->total{total}" for total in plan.resting]
        lines = [
            "    const int32_t *next = tokens, *end = tokens + count;",
            f"    if ({' || '.join(tests)}) return 0;",
            "    int32_t token;",
            *self.dispatch("token = *next;", "given_class", "given_place", len(plan.classes)),
        ]
        for number, block in enumerate(plan.entries):
            lines += [f"given_class{number}: {{", *self.block(block, Scope()), "}"]
        leaving = ["    if (next > tokens) s->quiet = 0;"]
        leaving += ["    s->position = position;", "    return next - tokens;"]
        return self.frame("take", "const int32_t *tokens", lines, leaving)

    def dispatch(self, first: str, classes: str, places: str, count: int) -> list[str]:
        """Jump to the code of the token's class."""
        lines = [f"dispatch: {first}", f"    switch ({classes}_of[token]) {{"]
        for number in range(count):
            lines.append(f"    case {number}: digit = {places}_of[token]; goto {classes}{number};")
        return [*lines, "    default: goto leave;", "    }"]

    # -- blocks -------------------------------------------------------------------------------

    def block(self, block: Block, scope: Scope) -> list[str]:
        lines: list[str] = []
        for case, act in block.acts:
            lines += self.act(case, act, scope)
        return lines

    def act(self, case: Case, act: Act, scope: Scope) -> list[str]:
        match act:
            case Grow(total, addend):
                lines = self.needed(case, [addend], scope)
                text = self.expressions.in_step(addend, self.program.values[total].step, scope)
                return [*lines, f"total{total} += {text};"]
            case File():
                return self.file(case, act, scope)
            case Test():
                return self.test(case, act, scope)
            case Say():
                return self.say(case, act, scope)
            case Compare():
                return self.compare(case, act, scope)
            case Divide():
                return self.divide(case, act, scope)
            case Proceed(group):
                return [f"goto group{group};"]
            case Insist(table):
                lines = list[str]()
                self.find(case, table, scope, lines)
                return [*lines, f"if (!row{table}) goto give_up;"]
            case GiveUp():
                return ["goto give_up;"]
            case Next():
                return ["position++;", "if (++next == end) goto leave;", "goto dispatch;"]

    def file(self, case: Case, act: File, scope: Scope) -> list[str]:
        code = self.layout.codes[act.owner]
        lines = self.needed(case, [total for _, _, total in act.members], scope)
        if code.kind == "by position":
            row = "track[ROW(position)]."
        else:
            row = f"filed{act.owner}->"
            if act.opens:
                lines += self.needed(case, [act.key], scope)
                key = self.expressions.text(act.key, 0, scope)
                lines.append(f"filed{act.owner} = store{act.owner}(s, (uint64_t)({key}));")
                if code.kind in ("paged", "hashed"):
                    lines.append("if (s->exhausted) end = next + 1;")
                mark = "position = position" if code.table.nearest else "filed = 1"
                lines.append(f"{row}{mark};")
        for name, stored, total in act.members:
            text = self.expressions.in_step(total, stored.step, scope)
            lines.append(f"{row}{name} = ({storage_type(stored)})({text});")
        return lines

    def test(self, case: Case, act: Test, scope: Scope) -> list[str]:
        step = self.promise_steps[act.number]
        unit = power_of_two(step)
        low, high = int(Fraction(act.low) / unit), int(Fraction(act.high) / unit)
        ends = case.range(act.total)
        tests = []
        if ends[0] < act.low:
            tests.append(f"promised < INT64_C({low})")
        if ends[1] > act.high:
            tests.append(f"promised > INT64_C({high})")
        name = comment(self.program.promises[act.number].name)
        lines = self.outlined(case, act.total, scope)
        text = self.expressions.in_step(act.total, step, scope)
        return [
            *lines,
            f"{{ const int64_t promised = {text}; /* {name} */",
            f"if ({' || '.join(tests) or '0'}) {{",
            f"stop(s, {act.number}, promised); goto leave; }} }}",
        ]

    def divide(self, case: Case, act: Divide, scope: Scope) -> list[str]:
        lines = self.outlined(case, act.on, scope)
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

    def say(self, case: Case, act: Say, scope: Scope) -> list[str]:
        tokens = self.program.rules[act.rule].tokens
        number, place = self.class_and_place(tokens[0])
        if len(tokens) == 1:
            lines, digit = [], "0"
        else:
            lines = self.needed(case, [act.linear, act.square], scope)
            digit = self.vertex(case, act, len(tokens) - 1, scope)
        one = self.plan.classes[number]
        shifted = digit if not place else f"{digit} + {place}"
        lines.append(f"digit = {shifted};")
        if one.is_run:
            lines.append(f"token = {one.tokens[0]} + (int32_t)digit;")
        elif len(tokens) == 1:
            lines.append(f"token = {tokens[0]};")
        else:
            names = ", ".join(map(str, tokens))
            lines.append(f"{{ static const int32_t tokens[] = {{{names}}};")
            lines.append(f"token = tokens[{digit}]; }}")
            if [self.class_and_place(t)[1] for t in tokens] != list(
                range(place, place + len(tokens))
            ):
                lines.append("digit = place_of[token];")
        stops = [token in self.stops for token in tokens]
        ends = "1" if all(stops) else "next == end"
        if any(stops) and not all(stops):
            ends += " || is_stop(token)"
        lines.append("*next++ = token; position++;")
        if all(stops):
            return [*lines, "goto leave;"]
        return [*lines, f"if ({ends}) goto leave;", f"goto class{number};"]

    def class_and_place(self, token: int) -> tuple[int, int]:
        return next(
            (number, one.tokens.index(token))
            for number, one in enumerate(self.plan.classes)
            if token in one.tokens
        )

    def vertex(self, case: Case, act: Say, most: int, scope: Scope) -> str:
        """The d in 0..most with the largest d * linear - d * d * square."""
        linear, square = act.linear, act.square
        step = min(self.pool.step(linear), self.pool.step(square))
        unit = power_of_two(step)
        ends = [Fraction(end) / unit for end in case.range(linear)]
        fixed = square.constant
        if fixed is None or fixed <= 0:
            texts = (self.expressions.text(total, step, scope) for total in (linear, square))
            return f"vertex({', '.join(texts)}, {most})"
        width = 2 * integer(Fraction(fixed) / unit)
        above = linear.plus(Sum(((CONSTANT, unit),)), width // 2 - 1)
        low, high = ((end + width // 2 - 1) // width for end in ends)
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

    def compare(self, case: Case, act: Compare, scope: Scope) -> list[str]:
        """The best token of several rules.

        Scores that may be too large for int64_t in a common unit are compared as doubles, which
        hold each of them exactly.
        """
        totals = [t for s in act.scores for t in (s.base, s.linear, s.square)]
        lines = self.needed(case, totals, scope)
        common = min((self.pool.step(total) for total in totals if total.terms), default=0)
        most = power_of_two(62 + common)
        ends = [end for score in act.scores for end in score_range(case, score)]
        whole = all(-most < end < most for end in ends)
        kind, least = ("int64_t", "INT64_MIN") if whole else ("double", "-INFINITY")
        lines.append(f"{{ {kind} best = {least}; token = 0;")
        for number, score in enumerate(act.scores):
            parts = (score.base, score.linear, score.square)
            own = min((self.pool.step(total) for total in parts if total.terms), default=0)
            step = common if whole else own
            unit = "" if whole else f"{float(power_of_two(step)).hex()} * (double)"
            base, linear, square = (self.expressions.text(t, step, scope) for t in parts)
            first, size = score.tokens[0], len(score.tokens)
            earlier = [t for s in act.scores[:number] for t in s.tokens]
            rising = all(t < first for t in earlier)
            beats = "score > best" + ("" if rising else " || (score == best && other < token)")
            if size == 1:
                lines.append(f"{{ const {kind} score = {unit}({base});")
                lines.append(f"const int32_t other = {first};")
            else:
                whole_family = score.tokens == tuple(range(first, first + size))
                names = ", ".join(map(str, score.tokens))
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
        return [
            *lines,
            "}",
            "*next++ = token; position++;",
            "if (next == end || is_stop(token)) goto leave;",
            "goto dispatch;",
        ]


def literal(number: int) -> str:
    return str(number) if abs(number) < 2**31 else f"INT64_C({number})"
