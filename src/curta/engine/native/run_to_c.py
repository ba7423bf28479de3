"""C for a model that executes programs: besides the general step, functions that go on and on.

`run` says the tokens of whole instructions: of each it looks up the fields of the place, and does
what the template for its selector says. It ends where that is not known, or room is short, and may
say nothing; the general step does the rest. `take` takes tokens of a prompt in. Both hold once a
run is `ready`, out of what a prompt left behind.

Behind each template stands the way to all others, not once for all of them: what comes next depends
on what came before, and a processor foresees where a jump leads by where it stands.

Long templates are divided among units. Without UNIT a compiler is given all of them; else unit 0 is
a library that needs no other, and each of the others one that it can be given (`units.py`).

What is between `/// name` and `///` is read by others: see kit.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from curta.dyadic import Number
from curta.engine.native.case import Case, Facts
from curta.engine.native.classes import TokenClass
from curta.engine.native.code_to_c import CodeWriter
from curta.engine.native.expressions import Scope, integer
from curta.engine.native.following import Intake, columns, intake
from curta.engine.native.outline import functions_to_c
from curta.engine.native.places import Exact, Places
from curta.engine.native.places_to_c import PlacesWriter
from curta.engine.native.routine import NotWorthItError, Routine
from curta.engine.native.tables import array_to_c

UNITS = 2
LONG = 1_000_000
"""Characters of templates from which on a compiler is given them in units, side by side."""
MOST_WAYS = 1 << 12
"""Larger selectors have no template."""

BEGINS = ("//@if", "//@may", "//@say")
"""How lines begin that one with //@end belongs to."""

MACROS = """\
#define PLACES
#define ARRIVE(place) to = (place)
enum { GIVES_UP, LEAVES = -1 }; /* or the number of the unit that goes on */
enum { BETWEEN = 4 }; /* tokens, at least, before code for places is tried again */

/* Whether there is code for a place. */
INLINE int is_hot(const Places *places, int64_t place) {
    const uint64_t number = (uint64_t)(place - places->first);
    return number < (uint64_t)places->count && places->here[number];
}

#define NEXT { \\
    if (s->exhausted || next > end || !is_here(s, to)) goto give_up; \\
    if (s->places && next > said + BETWEEN && is_hot(s->places, to)) goto give_up; \\
    const uint64_t selector = (uint64_t)selector_at(s, to); \\
    if (selector >= sizeof ways / sizeof *ways) goto give_up; \\
    goto *ways[selector]; }

"""


class RunWriter(CodeWriter):
    def __init__(self, places: Places, stops: list[int]) -> None:
        super().__init__(places.routine)
        self.places = places
        self.templates = PlacesWriter(places, stops, self.expressions)
        said = {token for one in places.classes for token in one}
        self.intake = intake(places.follower, said)

    def functions(self) -> str:
        templates = self.written()
        if not templates:
            raise NotWorthItError
        others = [*self.step(), *self.ready(), *self.take(), *self.where()]
        units = units_of(templates)
        code = [*self.known(list(templates)), *self.frame_of_units(len(units))]
        code += [line for number in range(len(units)) for line in self.unit(number + 1, units)]
        code += within(0, [*others, *self.run(len(units))])
        given = [] if self.intake is None else self.intake.classes
        return "\n".join(
            [
                class_tables(self.routine, self.places.classes),
                self.expressions.table_definitions(),
                functions_to_c(self.templates.parts),
                *section("facts", [f"/* {json.dumps(self.facts())} */"]),
                class_tables(self.routine, given, "given_"),
                MACROS,
                *code,
            ]
        )

    def written(self) -> dict[Number, str]:
        """What is done at a place, by its selector; left out where that cannot be written."""
        found = dict[Number, str]()
        for value in self.places.selectors():
            if value not in range(MOST_WAYS):
                continue
            with suppress(NotWorthItError):
                found[value] = self.templates.template(value)
        return found

    def facts(self) -> dict[str, object]:
        """What a kit has to know besides."""
        places = self.places
        names = [name for value, name, _ in places.tables if value == places.selector]
        return {
            "classes": places.classes,
            "ending": places.ending,
            "selector": list(places.fields).index(names[0]),
        }

    # -- what is said -------------------------------------------------------------------------

    def run(self, units: int) -> list[str]:
        kept = list(self.kept())
        return [
            *self.units_to_begin_with(units),
            "static int64_t run(State *s, int32_t first, int32_t *said, int64_t count) {",
            *section("begin", self.templates.begin()),
            f"Run run = {{said, next, end, {', '.join([*kept, *self.open()])}}};",
            "int how = 1;",
            "while (how > 0) how = units[how - 1](s, &run);",
            "next = run.next;",
            *(f"{name} = run.{name};" for name in kept),
            "if (how == LEAVES) goto leave;",
            *section("leave", self.templates.leave()),
        ]

    def kept(self) -> Iterator[str]:
        """What is passed on from one template to the next."""
        yield "to"
        yield from (f"total{n}" for n in self.totals)
        yield from (f"before{n}" for n in self.places.uncounted)

    def open(self) -> dict[str, str]:
        """The rows that a token begins before the border and fills behind it, and their types."""
        return {f"filed{number}": f"Row{number}" for number in self.places.open}

    def frame_of_units(self, units: int) -> list[str]:
        shared = ["#define SHARED static"]
        if units > 1:
            count = f"#define UNITS {units + 1}"
            shared = [count, "#ifdef UNIT", "#define SHARED", "#else", *shared, "#endif"]
        members = [
            f"int32_t *said, *next, *end; int64_t {', '.join(self.kept())};",
            *(f"{kind} *{name};" for name, kind in self.open().items()),
        ]
        return [
            *shared,
            f"typedef struct {{ {' '.join(members)} }} Run;",
            "typedef int Unit(State *s, Run *run);",
            self.macro_of_fields(),
        ]

    def units_to_begin_with(self, units: int) -> list[str]:
        """All that there are, or none of them until they are given."""
        there = ", ".join(f"curta_unit{number}" for number in range(1, units + 1))
        if units == 1:
            return [f"static Unit *const units[] = {{{there}}};"]
        return [
            "#ifdef UNIT",
            "static int no_unit(State *s, Run *run) { return (void)s, (void)run, GIVES_UP; }",
            f"static Unit *_Atomic units[] = {{{', '.join(['no_unit'] * units)}}};",
            "void curta_set_unit(int32_t number, Unit *unit) { units[number - 1] = unit; }",
            "#else",
            f"static Unit *const units[] = {{{there}}};",
            "#endif",
        ]

    def macro_of_fields(self) -> str:
        """What a template knows of the place."""
        fields = "".join(f", field{n} = fields[{n}]" for n in range(len(self.places.fields)))
        found = "int64_t fields[FIELDS]; fields_of(s, to, fields);"
        return f"#define FIELDS_HERE {found} const int64_t place = to{fields};"

    def unit(self, number: int, units: Sequence[Mapping[Number, str]]) -> list[str]:
        """What is done at places with the templates of one unit."""
        kept, templates = list(self.kept()), units[number - 1]
        goes_on = {value: n for n, unit in enumerate(units, start=1) for value in unit}
        ways = [
            "give_up" if n not in goes_on else f"on{n}" if n in templates else f"unit{goes_on[n]}"
            for n in range(int(max(goes_on)) + 1)
        ]
        lines = [
            f"SHARED int curta_unit{number}(State *s, Run *run) {{",
            f"static const void *const ways[] = {{{', '.join(f'&&{way}' for way in ways)}}};",
            "int how;",
            "const int64_t position = s->position;",
            "int32_t token, *const said = run->said, *next = run->next, *const end = run->end;",
            "(void)token, (void)said, (void)position;",
            *(f"int64_t {name} = run->{name};" for name in kept),
            *self.arrays(),
            *self.latest(),
            *(f"{name} = run->{name};" for name in self.open()),
            "NEXT",
            *(line for value, text in templates.items() for line in self.at(value, text)),
            *(f"unit{n}: how = {n}; goto out;" for n in set(goes_on.values()) - {number}),
            "give_up: how = GIVES_UP; goto out;",
            "leave: how = LEAVES;",
            "out: run->next = next;",
            *(f"run->{name} = {name};" for name in [*kept, *self.open()]),
            "return how;",
            "}\n",
        ]
        return within(number, lines)

    def at(self, value: Number, template: str) -> list[str]:
        """What is done at places with one template."""
        lines = section(f"template{value}", ["{", template, "}"])
        lines = [f"on{value}: {{ FIELDS_HERE", *lines, "}"]
        if "GO;" in template.split("\n"):
            lines = [f"#define GO goto after{value}", *lines, "#undef GO", f"after{value}: NEXT"]
        return lines

    # -- prompts ------------------------------------------------------------------------------

    def before_choice(self, case: Case, scope: Scope) -> list[str]:
        return ["s->quiet = class_of[token] ? s->quiet + 1 : 0;"]

    def ready(self) -> list[str]:
        """Whether the next step is one of a quiet stretch."""
        quiet = self.places.quiet
        tests = ["class_of[token]", f"s->quiet > {quiet.window}"]
        tests += [self.finds(look_up) for look_up in quiet.filed]
        return [
            "static inline int ready(State *s, int32_t token) {",
            f"    return {' && '.join(tests)};\n}}\n",
        ]

    def finds(self, number: int) -> str:
        """Whether a look-up that always asks the same finds something."""
        look_up = self.pool.look_ups[number]
        return f"fetch{look_up.rows}(s, {integer(look_up.query.constant or 0)}u)"

    def take(self) -> list[str]:
        """Takes up to `count` tokens that are never said; returns how many."""
        signature = "int64_t take(State *s, const int32_t *tokens, int64_t count)"
        if self.intake is None:
            unused = "    return (void)s, (void)tokens, (void)count, 0;"
            return [f"static inline {signature} {{", unused, "}"]
        self.if_exhausted = "if (s->exhausted) end = next + 1;"
        refused = [f"s->position < {self.intake.window}", *map(self.finds, self.intake.unfiled)]
        refused += [f"s->total{total}" for total in self.intake.resting]
        return self.frame(
            signature,
            [
                "    int64_t digit = 0;",
                "    (void)digit;",
                f"    if (!count || {' || '.join(refused)}) return 0;",
            ],
            self.taking(self.intake),
            ["    if (next > tokens) s->quiet = 0;", "    return next - tokens;"],
        )

    def taking(self, plan: Intake) -> list[str]:
        lines = [
            "    const int32_t *next = tokens, *end = tokens + count;",
            "    int32_t token;",
            "dispatch: token = *next;",
            "    digit = given_place_of[token];",
            "    switch (given_class_of[token]) {",
            "    default: goto leave;",
        ]
        after = ["position++;", "if (++next == end) goto leave;", "goto dispatch;", "}"]
        for number, block in enumerate(plan.entries, start=1):
            lines += [f"case {number}: {{", *self.block(block, Scope()), *after]
        return [*lines, "    }"]

    # -- where a run is -----------------------------------------------------------------------

    def where(self) -> list[str]:
        places, case, scope = self.places, Case(self.pool, Facts()), Scope()
        lines = self.needed(case, [places.query], scope)
        return [
            "static int64_t place_of_run(State *s, int32_t token) {",
            "const int64_t position = s->position; Track *const track = s->track;",
            "(void)position, (void)track, (void)token;",
            *(f"int64_t total{n} = s->total{n}; (void)total{n};" for n in self.totals),
            *self.arrays(),
            *lines,
            f"return {self.expressions.text(places.query, 0, scope)};",
            "}\n",
        ]

    def known(self, selectors: Sequence[Number]) -> list[str]:
        """Functions that say what is known of a place."""
        places, there, scope, lines = self.places, Exact(self.pool, Facts()), Scope(), list[str]()
        found = {name: value for value, name, _ in reversed(places.tables)}
        for number, name in enumerate(places.fields):
            total = places.looked_up(found[name])
            lines += self.needed(there, [total], scope)
            lines.append(f"fields[{number}] = {self.expressions.text(total, 0, scope)};")
        return [
            f"enum {{ FIELDS = {len(places.fields)} }};",
            "INLINE void fields_of(State *s, int64_t place, int64_t *fields) {",
            "(void)s;",
            *self.arrays(),
            *lines,
            "}\n",
            *self.is_here(selectors),
            "INLINE int64_t selector_at(State *s, int64_t place) {",
            "int64_t fields[FIELDS];",
            "fields_of(s, place, fields);",
            f"return fields[{self.facts()['selector']}];",
            "}\n",
        ]

    def is_here(self, selectors: Sequence[Number]) -> list[str]:
        """Whether there is a place of this number, and a template for it."""
        places = self.places
        low, high = integer(places.low), integer(places.high)
        there = f"place >= {low} && place <= {high}"
        if places.selecting is not None:
            there = f"fetch{self.pool.look_ups[places.selecting].rows}(s, (uint64_t)place) != 0"
        lines = [f"return {there};"]
        if missing := set(places.selectors()) - set(selectors):
            tests = [f"fields[{self.facts()['selector']}] != {integer(n)}" for n in sorted(missing)]
            lines = [
                f"if (!({there})) return 0;",
                "int64_t fields[FIELDS];",
                "fields_of(s, place, fields);",
                f"return {' && '.join(tests)};",
            ]
        return ["INLINE int is_here(State *s, int64_t place) {", "(void)s;", *lines, "}\n"]


def units_of(templates: Mapping[Number, str]) -> list[dict[Number, str]]:
    """The templates in units of one length, those with short ways through them first: who changes
    to a long one, and back, has more to do there than in changing.
    """
    size = sum(map(len, templates.values()))
    units = UNITS if size > LONG else 1
    found = [dict[Number, str]() for _ in range(units)]
    length = 0
    for value, text in sorted(templates.items(), key=lambda one: longest_way(one[1])):
        length += len(text)
        found[min((length - 1) * units // size, units - 1)][value] = text
    return found


def longest_way(template: str) -> int:
    """Characters of what is executed at most: what is between two lines that tell how is left at
    its end, so what follows it is another way.
    """
    outer, longest = [0], 0
    for line in template.split("\n"):
        if line == "//@end":
            longest = max(longest, outer.pop())
        elif line.startswith(BEGINS):
            outer.append(outer[-1])
        else:
            outer[-1] += len(line)
    return max(longest, outer[-1])


def within(unit: int, lines: list[str]) -> list[str]:
    """What a compiler sees if it is given all, or this unit."""
    return [f"#if !defined UNIT || UNIT == {unit}", *lines, "#endif"]


def section(name: str, lines: Iterable[str]) -> list[str]:
    return [f"/// {name}", *lines, "///"]


def class_tables(routine: Routine, families: list[TokenClass], prefix: str = "") -> str:
    """The class of every token, from 1 on or 0, and its place in it."""
    said = max((token for rule in routine.rules for token in rule.tokens), default=0)
    size = max([said + 1, *(len(column.entries) for column in columns(routine))])
    classes, places = [0] * size, [0] * size
    for number, one in enumerate(families, start=1):
        for place, token in enumerate(one):
            classes[token], places[token] = number, place
    tables = array_to_c(f"{prefix}class_of", classes), array_to_c(f"{prefix}place_of", places)
    return "".join(f"{table}\n" for table in tables)
