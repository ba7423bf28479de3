"""C for the cases of a step: functions that go on and on while a stretch is quiet.

`run` says token after token: every class of tokens has a label. It is left after the last token
that was asked for, after a stop token, or at a broken promise; or given up, for the general step to
do it. `take` takes tokens of a prompt in.
"""

from __future__ import annotations

from curta.engine.native.case import Case, Facts
from curta.engine.native.classes import TokenClass
from curta.engine.native.code_to_c import CodeWriter
from curta.engine.native.expressions import Scope, integer
from curta.engine.native.places import Exact, Places
from curta.engine.native.routine import Routine, Rule
from curta.engine.native.specialise import Plan
from curta.engine.native.tables import array_to_c
from curta.engine.native.values import Column


class CasesWriter(CodeWriter):
    def __init__(self, plan: Plan, stops: list[int], places: Places | None) -> None:
        super().__init__(plan.routine)
        self.places = places
        self.plan = plan
        self.stops = frozenset(stops)

    def class_tables(self) -> str:
        """The class of every token, from 1 on or 0, and its place in it; said, or given."""
        given = [] if self.plan.intake is None else self.plan.intake.classes
        return class_tables(self.routine, self.plan.classes) + class_tables(
            self.routine, given, "given_"
        )

    def functions(self) -> str:
        """All that the entry points call."""
        general = self.step()
        self.if_exhausted = "if (s->exhausted) end = next + 1;"
        others = [*self.ready(), *self.take(), *self.enquiries()]
        return self.with_parts([*general, *self.run(), *others])

    def before_choice(self, case: Case, scope: Scope) -> list[str]:
        return ["s->quiet = class_of[token] ? s->quiet + 1 : 0;"]

    def ready(self) -> list[str]:
        """Whether the next step is one of a quiet stretch."""
        tests = ["class_of[token]", f"s->quiet > {self.plan.quiet.window}"]
        tests += [self.finds(look_up) for look_up in self.plan.quiet.filed]
        return [
            "static inline int ready(State *s, int32_t token) {",
            f"    return {' && '.join(tests)};\n}}\n",
        ]

    def finds(self, number: int) -> str:
        """Whether a look-up that always asks the same finds something."""
        look_up = self.pool.look_ups[number]
        return f"fetch{look_up.rows}(s, {integer(look_up.query.constant or 0)}u)"

    def run(self) -> list[str]:
        """Says up to `count` tokens after `token`; returns how many before it ended or gave up."""
        lines = [f"    int64_t before{n} = total{n};" for n in self.totals]
        lines += [f"    (void)before{n};" for n in self.totals]
        lines += ["    int32_t *next = said, *end = said + count;"]
        lines += self.dispatch(";", "class", "place", len(self.plan.classes))
        before = [f"before{n} = total{n};" for n in self.totals]
        for number, block in enumerate(self.plan.entries):
            lines += [f"class{number}: {{", *before, *self.block(block, Scope()), "}"]
        for number, block in enumerate(self.plan.groups):
            lines += [f"group{number}: {{", *self.block(block, Scope()), "}"]
        if any("goto give_up;" in line for line in lines):
            lines += ["give_up:", *(f"    total{n} = before{n};" for n in self.totals)]
        return self.frame(
            "int64_t run(State *s, int32_t token, int32_t *said, int64_t count)",
            ["    int64_t digit = 0;", "    (void)digit;", "    if (!count) return 0;"],
            lines,
            ["    s->quiet += next - said;", "    return next - said;"],
        )

    def take(self) -> list[str]:
        """Takes up to `count` tokens that are never said; returns how many."""
        signature = "int64_t take(State *s, const int32_t *tokens, int64_t count)"
        plan = self.plan.intake
        if plan is None:
            unused = "    return (void)s, (void)tokens, (void)count, 0;"
            return [f"static inline {signature} {{", unused, "}"]
        tests = [f"s->position < {plan.window}", *(self.finds(number) for number in plan.unfiled)]
        tests += [f"s->total{total}" for total in plan.resting]
        lines = [
            "    const int32_t *next = tokens, *end = tokens + count;",
            "    int32_t token;",
            *self.dispatch("token = *next;", "given_class", "given_place", len(plan.classes)),
        ]
        for number, block in enumerate(plan.entries):
            lines += [f"given_class{number}: {{", *self.block(block, Scope()), "}"]
        return self.frame(
            signature,
            [
                "    int64_t digit = 0;",
                "    (void)digit;",
                f"    if (!count || {' || '.join(tests)}) return 0;",
            ],
            lines,
            ["    if (next > tokens) s->quiet = 0;", "    return next - tokens;"],
        )

    def dispatch(self, first: str, classes: str, places: str, count: int) -> list[str]:
        """Jump to the code of the token's class."""
        lines = [f"dispatch: {first}", f"    switch ({classes}_of[token]) {{"]
        for number in range(count):
            lines.append(
                f"    case {number + 1}: digit = {places}_of[token]; goto {classes}{number};"
            )
        return [*lines, "    default: goto leave;", "    }"]

    def enquiries(self) -> list[str]:
        """Functions that say where a run is, and what is known of a place."""
        places, case = self.places, Case(self.pool, Facts())
        if places is None:
            return []
        scope = Scope()
        lines = self.needed(case, [places.query], scope)
        text = self.expressions.text(places.query, 0, scope)
        lines = [
            *(f"int64_t total{n} = s->total{n}; (void)total{n};" for n in self.totals),
            *self.arrays(),
            *lines,
            f"return {text};",
        ]
        there, scope = Exact(self.pool, Facts()), Scope()
        fields = {name: value for value, name, _ in reversed(places.tables)}
        found = list[str]()
        for number, name in enumerate(places.fields):
            total = places.looked_up(fields[name])
            found += self.needed(there, [total], scope)
            found.append(f"fields[{number}] = {self.expressions.text(total, 0, scope)};")
        return [
            "#define PLACES\n",
            "static int64_t place_of_run(State *s, int32_t token) {",
            "const int64_t position = s->position; Track *const track = s->track;",
            "(void)position, (void)track, (void)token;",
            *lines,
            "}\n",
            f"enum {{ FIELDS = {len(places.fields)} }};",
            "static void fields_of(State *s, int64_t place, int64_t *fields) {",
            *self.arrays(),
            *found,
            "}\n",
        ]

    # -- what is said -------------------------------------------------------------------------

    def after_choice(self) -> list[str]:
        return [
            "*next++ = token; position++;",
            "if (next == end || is_stop(token)) goto leave;",
            "goto dispatch;",
        ]

    def say(self, case: Case, rule: Rule, scope: Scope) -> list[str]:
        tokens = rule.tokens
        number, place = self.class_and_place(tokens[0])
        lines, digit = list[str](), "0"
        if len(tokens) > 1:
            lines = self.needed(case, [rule.linear, rule.square], scope)
            digit = self.vertex(case, rule, scope)
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


def class_tables(routine: Routine, families: list[TokenClass], prefix: str = "") -> str:
    columns = [e.definition for e in routine.pool.entries if isinstance(e.definition, Column)]
    said = max((token for rule in routine.rules for token in rule.tokens), default=0)
    size = max([said + 1, *(len(column.entries) for column in columns)])
    classes, places = [0] * size, [0] * size
    for number, one in enumerate(families, start=1):
        for place, token in enumerate(one.tokens):
            classes[token], places[token] = number, place
    names = f"{prefix}class_of", f"{prefix}place_of"
    return "".join(
        f"{array_to_c(name, entries)}\n"
        for name, entries in zip(names, (classes, places), strict=True)
    )
