"""Straight-line program in, C out: one function that takes a token and returns the next.

A value v that is a multiple of 2**step is an int64_t holding v / 2**step. The certificate bounds
every sum below 2**53 steps, so nothing overflows; intermediate wrap-around would not matter.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction

from curta.compiler.model import Model
from curta.compiler.numbers import MANTISSA_BITS, power_of_two, simplify, step_of
from curta.engine.native.cases_to_c import CasesWriter
from curta.engine.native.events import program_to_events
from curta.engine.native.expressions import CannotSpecialiseError
from curta.engine.native.liveness import live_values
from curta.engine.native.specialise import NotWorthItError, specialised
from curta.engine.native.sums import Sums, integer
from curta.engine.native.symbolic import (
    CONSTANT,
    Column,
    Fetched,
    Held,
    MeanValue,
    PositionValue,
    Product,
    Program,
    Promise,
    Rule,
    Shape,
    Sum,
    Total,
    Value,
)
from curta.engine.native.tables import (
    BITMAP_FUNCTIONS,
    TRACK_FUNCTIONS,
    comment,
    integer_type,
    lay_out,
    position_expression,
    position_shift,
    storage_type,
    track_type,
)
from curta.engine.native.text import (
    ENTRY_POINTS,
    GENERAL_INTAKE,
    GENERAL_RUN,
    MEMORY,
    PRELUDE,
    QUICK_INTAKE,
    QUIET_RUN,
    RESIDUALS,
    ROOM,
)

DEEPEST = 20_000
"""Nested calls that specialising may need."""


def program_to_c(
    model: Model, program: Program, *, residuals: bool = False, specialise: bool = True
) -> str:
    """The C source. With `residuals` it also reports the residual stream, and is slower.

    With `specialise`, runs are said by code for the cases of a step; the general code then takes in
    prompts only, and is the definition of what the cases have to do.
    """
    emitter = Emitter(model, program, residuals)
    if specialise and not residuals:
        emitter.cases = written_cases(emitter)
    return emitter.source()


def written_cases(emitter: Emitter) -> Cases | None:
    """C for the cases of a step, if the program has any that are worth it."""
    steady = program_to_events(
        emitter.program, emitter.live, emitter.layout, emitter.model.certificate.max_tokens
    )
    steps = [emitter.promise_step(promise) for promise in emitter.program.promises]
    with suppress(CannotSpecialiseError, NotWorthItError), deep_recursion():
        plan = specialised(steady)
        writer = CasesWriter(plan, emitter.layout, steps, emitter.model.plan["stops"])
        return Cases(writer.class_tables(), writer.functions())
    return None


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Values are followed to their operands by recursion: as deep as a model has layers."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEPEST))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


@dataclass(frozen=True, slots=True)
class Cases:
    """The C of a specialised step: tables of the tokens' classes, and functions."""

    tables: str
    functions: str


class Emitter:
    def __init__(self, model: Model, program: Program, residuals: bool) -> None:
        self.model = model
        self.program = program
        self.residuals = residuals
        self.cases: Cases | None = None
        self.sums = Sums(program)
        self.live = live_values(program, residuals)
        stored: dict[int, set[int]] = {}
        for value in self.live:
            definition = program.values[value].definition
            if isinstance(definition, Fetched):
                used = stored.setdefault(definition.table, set())
                if not program.tables[definition.table].stored[definition.place].is_key:
                    used.add(definition.place)
        frozen = {table: frozenset(used) for table, used in stored.items()}
        self.layout = lay_out(program, frozen)
        self.tables = self.layout.codes
        self.different = self.layout.different

    # -- the parts of the file ----------------------------------------------------------------

    def source(self) -> str:
        parts = [self.title(), PRELUDE]
        parts += [self.token_table(v) for v in sorted(self.live) if self.is_column(v)]
        parts += [text for v in sorted(self.live) if (text := self.sums.shape_table(v))]
        parts += [code.row_type for code in self.different]
        parts += [track_type(self.different), self.state(), MEMORY]
        ring = self.layout.ring
        parts += [f"#define ROW(n) ((n) & {ring - 1})\n" if ring else "#define ROW(n) (n)\n"]
        if self.has_track:
            parts += [TRACK_FUNCTIONS]
        if any(code.kind == "nearest" for code in self.different):
            parts += [BITMAP_FUNCTIONS]
        for code in self.different:
            parts += [code.helpers, code.store, code.fetch]
        parts += [self.memory(), self.cases.tables if self.cases else "", self.step(), self.stops()]
        if self.cases:
            grows = str(int(self.track_grows))
            texts = (ROOM.replace("TRACK_GROWS", grows), QUIET_RUN, QUICK_INTAKE)
            parts += [self.cases.functions, *texts]
        else:
            parts += [GENERAL_RUN, GENERAL_INTAKE]
        parts += [ENTRY_POINTS.replace("DIRECTORIES", str(self.directories))]
        if self.residuals:
            parts += [RESIDUALS.replace("STREAM_SIZE", str(self.stream_size))]
        return "\n".join(part for part in parts if part)

    @property
    def has_track(self) -> bool:
        return any(code.kind == "by position" for code in self.tables.values())

    @property
    def track_grows(self) -> bool:
        return self.has_track and not self.layout.ring

    @property
    def directories(self) -> int:
        """Bytes of the state that hold where pages are."""
        return sum(8 * code.pages for code in self.different if code.kind == "paged")

    @property
    def stream_size(self) -> int:
        return len(self.program.streams) * len(self.program.streams[0])

    def title(self) -> str:
        certificate, plan = self.model.certificate, self.model.plan
        return (
            f"/* A transformer of {len(plan['layers'])} layers and width {plan['width']}, as C.\n"
            "   Generated by curta from its weights: zero weights are gone, heads with exact keys\n"
            "   are tables, means times the count are running sums.\n"
            f"   {certificate}. */\n"
        )

    def is_column(self, value: int) -> bool:
        return isinstance(self.program.values[value].definition, Column)

    def token_table(self, value: int) -> str:
        described = self.program.values[value]
        assert isinstance(described.definition, Column)
        unit = power_of_two(-described.step)
        entries = [integer(simplify(entry * unit)) for entry in described.definition.entries]
        kind = integer_type(min(entries), max(entries))
        return (
            f"static const {kind} column{value}[{len(entries)}] = "
            f"{{{', '.join(map(str, entries))}}}; /* {comment(described.name)} */"
        )

    def state(self) -> str:
        totals = "".join(
            f"    int64_t total{v}; /* {comment(self.program.values[v].name)} */\n"
            for v in sorted(self.live)
            if isinstance(self.program.values[v].definition, Total)
        )
        rows = "".join(code.rows for code in self.different)
        stream = f"    double stream[{self.stream_size}];\n" if self.residuals else ""
        return (
            "typedef struct Block Block;\n"
            "struct Block { _Alignas(16) Block *before; };\n\n"
            "typedef struct {\n"
            "    Block *blocks; /* of memory */\n"
            "    int64_t position, capacity, bytes, broken_value;\n"
            "    int64_t quiet; /* tokens since the last that no rule says */\n"
            "    int32_t broken; /* the promise that was broken, or -1 */\n"
            "    int32_t exhausted; /* no memory left */\n"
            "    Track *track;\n"
            f"{totals}{rows}{stream}}} State;\n"
        )

    def memory(self) -> str:
        codes, ring = self.different, self.layout.ring
        track = f"    s->track = allocate(s, sizeof(Track) * {ring});\n" if ring else ""
        return (
            "static inline int grow(State *s) {\n"
            "    const int64_t capacity = s->capacity ? s->capacity * 2 : 4096;\n"
            "    s->track = resize(s, s->track, sizeof(Track), capacity);\n"
            "    if (!s->exhausted) s->capacity = capacity;\n"
            "    return !s->exhausted;\n"
            "}\n\n"
            "static void create_tables(State *s) {\n"
            "    (void)s;\n"
            f"{track}{''.join(code.create for code in codes)}"
            "}\n\n"
            "static void free_tables(State *s) {\n"
            f"    {'(void)s;' if ring else 'free(s->track);'}\n"
            f"{''.join(code.release for code in codes)}"
            "}\n"
        )

    def stops(self) -> str:
        stops = self.model.plan["stops"]
        test = " || ".join(f"token == {stop}" for stop in stops) or "0"
        return f"static inline int is_stop(int32_t token) {{ (void)token; return {test}; }}\n"

    # -- one step -----------------------------------------------------------------------------

    def step(self) -> str:
        lines = ["    const int64_t position = s->position;", "    (void)token;"]
        if self.track_grows:
            lines.append("    if (position >= s->capacity && !grow(s)) return -1;")
        done: set[object] = set()
        promises = self.promises_after()
        lines += promises.get(CONSTANT, [])
        for number, value in enumerate(self.program.values):
            if number in self.live:
                lines += self.value(number, value, done) + promises.get(number, [])
        if self.residuals:
            lines += self.stream()
        if self.cases:
            lines.append("    s->quiet = class_of[token] != 255 ? s->quiet + 1 : 0;")
        lines += ["    s->position = position + 1;", *self.choice()]
        body = "\n".join(lines)
        return f"static inline int32_t step(State *s, int32_t token) {{\n{body}\n}}\n"

    def promises_after(self) -> dict[int, list[str]]:
        """Promises under the last value they read: before anything can rely on them."""
        found: dict[int, list[str]] = {}
        for number, promise in enumerate(self.program.promises):
            last = max((v for v, _ in promise.total.terms), default=CONSTANT)
            found.setdefault(last, []).append(self.promise(number, promise))
        return found

    def value(self, number: int, value: Value, done: set[object]) -> list[str]:
        """The statements that compute one value."""
        note = f" /* {comment(value.name)} */"
        match value.definition:
            case Column():
                text = f"column{number}[token]"
            case PositionValue(divisor, modulus, power, offset):
                text = position_expression(divisor, modulus, power, offset)
            case Product(gate, factor):
                opening = self.sums.text(gate, self.sums.step(gate))
                text = f"rectified({opening})"
                if factor != Sum(((CONSTANT, 1),)):
                    text += f" * ({self.sums.text(factor, self.sums.step(factor))})"
            case Shape():
                text = self.sums.shape(number, value.definition, value.step)
            case Held(total):
                text = self.sums.text(total, value.step)
            case Total(addend):
                text = f"s->total{number} += {self.sums.text(addend, value.step)}"
            case MeanValue():
                return []
            case Fetched(table, place):
                before = [] if ("table", table) in done else self.visit(table, done)
                done.add(("table", table))
                return [
                    *before,
                    f"    const int64_t v{number} = {self.fetched(table, place)};{note}",
                ]
        return [f"    const int64_t v{number} = {text};{note}"]

    def visit(self, number: int, done: set[object]) -> list[str]:
        """File this position's values, then look the query up."""
        table, code = self.program.tables[number], self.tables[number]
        if code.kind == "by position":
            return self.visit_track(number, done)
        t, lines = code.number, list[str]()
        if t == number:
            lines = [
                f"    const uint64_t key{t} = (uint64_t)({self.sums.text(table.key, 0)});"
                f" /* key of {comment(table.name)} */",
                f"    Row{t} *filed{t} = store{t}(s, key{t});",
                f"    filed{t}->" + ("position = position;" if table.nearest else "filed = 1;"),
            ]
        lines += [f"    filed{t}->{text}" for text in self.filing(number, done)]
        query = f"(uint64_t)({self.sums.text(table.query, 0)})"
        lines.append(f"    const uint64_t query{number} = {query};")
        return [*lines, f"    const Row{t} *row{number} = fetch{t}(s, query{number});"]

    def visit_track(self, number: int, done: set[object]) -> list[str]:
        """The same where the key is the position: the row of this token, and that of another."""
        table = self.program.tables[number]
        shift = position_shift(self.program, table.key)
        query = self.sums.text(table.query.plus(Sum(((CONSTANT, shift or 0),)), -1), 0)
        where = "near_position" if table.nearest else "at_position"
        return [
            *(f"    s->track[ROW(position)].{text}" for text in self.filing(number, done)),
            f"    const int64_t query{number} = {query}; /* position for {comment(table.name)} */",
            f"    const Track *row{number} = {where}(s, query{number});",
        ]

    def filing(self, number: int, done: set[object]) -> list[str]:
        """Assignments of this table's values to members of the row that no other table files."""
        lines = []
        for place, stored in enumerate(self.program.tables[number].stored):
            name = self.layout.names.get((number, place))
            field = (self.tables[number].number, name)
            if name is not None and field not in done:
                done.add(field)
                value = self.sums.text(stored.total, stored.step)
                lines.append(f"{name} = ({storage_type(stored)})({value});")
        return lines

    def fetched(self, table: int, place: int) -> str:
        """A value of the row that was found. If there is none: a key that is not the query.

        That key has to be one that is possible, since gates may rely on it: the lowest, or the
        next if the query is the lowest.
        """
        described, code = self.program.tables[table], self.tables[table]
        stored = described.stored[place]
        if not stored.is_key:
            found = f"row{table}->{self.layout.names[table, place]}"
            return found if described.nearest else f"row{table} ? {found} : 0"
        shift = stored.total.plus(described.key, -1).constant
        if shift is None:
            raise AssertionError(f"{described.name}: the key that is fetched is not the key")
        if code.kind == "by position":
            shift += position_shift(self.program, described.key) or 0
        unit = int(power_of_two(max(stored.step, 0)))
        other = f"!query{table}" + (f" * {unit}" if unit > 1 else "")
        key = f"(int64_t)(row{table} ? query{table} : {other})"
        if shift:
            key = f"{key} + {int(shift)}".replace("+ -", "- ")
        return f"({key}) / {unit}" if unit > 1 else key

    def promise(self, number: int, promise: Promise) -> str:
        step = self.promise_step(promise)
        unit = power_of_two(step)
        low, high = int(Fraction(promise.low) / unit), int(Fraction(promise.high) / unit)
        return (
            f"    const int64_t promise{number} = {self.sums.text(promise.total, step)};"
            f" /* {comment(promise.name)} */\n"
            f"    if (promise{number} < INT64_C({low}) || promise{number} > INT64_C({high}))\n"
            f"        return stop(s, {number}, promise{number});"
        )

    def promise_step(self, promise: Promise) -> int:
        """The unit in which a promise is checked."""
        return min(self.sums.step(promise.total), step_of(promise.low), step_of(promise.high))

    def choice(self) -> list[str]:
        """Compare the best token of every rule.

        Scores are below 2**53 steps of their rule. In a common step they may be too large for
        int64_t; then they are compared as doubles, which hold each of them exactly.
        """
        rules = self.program.rules
        steps = [min(map(self.sums.step, (r.base, r.linear, r.square))) for r in rules]
        common = max(steps) - min(steps) + MANTISSA_BITS < 63
        lines = ["    int64_t best = INT64_MIN;" if common else "    double best = -INFINITY;"]
        lines.append("    int32_t said = 0;")
        for number, (rule, step) in enumerate(zip(rules, steps, strict=True)):
            lines += self.rule(number, rule, min(steps) if common else step, exact=common)
        return [*lines, "    return said;"]

    def rule(self, number: int, rule: Rule, step: int, *, exact: bool) -> list[str]:
        base = self.sums.text(rule.base, step)
        kind = "int64_t" if exact else "double"

        def in_unit(score: str) -> str:
            return score if exact else f"(double)({score}) * {float(power_of_two(step)).hex()}"

        earlier = [t for r in self.program.rules[:number] for t in r.tokens]
        rising = all(token < rule.tokens[0] for token in earlier)
        first, size = rule.tokens[0], len(rule.tokens)
        if size == 1:
            beats = (
                "score > best" if rising else f"score > best || (score == best && {first} < said)"
            )
            return [
                f"    {{ const {kind} score = {in_unit(base)};",
                f"      if ({beats}) best = score, said = {first}; }}",
            ]
        linear, square = self.sums.text(rule.linear, step), self.sums.text(rule.square, step)
        whole = rule.tokens == tuple(range(first, first + size))
        names = ", ".join(map(str, rule.tokens))
        token = f"{first} + (int32_t)digit" if whole else "tokens[digit]"
        beats = "score > best" if rising else "score > best || (score == best && token < said)"
        return [
            "    {" + ("" if whole else f" static const int32_t tokens[] = {{{names}}};"),
            f"      const int64_t linear = {linear}, square = {square};",
            f"      const int64_t digit = vertex(linear, square, {size - 1});",
            f"      const {kind} score = {in_unit(f'{base} + digit * (linear - digit * square)')};",
            f"      const int32_t token = {token};",
            f"      if ({beats}) best = score, said = token; }}",
        ]

    # -- residual streams ---------------------------------------------------------------------

    def stream(self) -> list[str]:
        """Every slot in every period, as the float64 that the transformer would hold."""
        lines, place = [], 0
        for slots in self.program.streams:
            for total in slots:
                lines.append(f"    s->stream[{place}] = {self.as_double(total)};")
                place += 1
        return lines

    def as_double(self, total: Sum) -> str:
        values = [(v, self.program.values[v]) for v, _ in total.terms if v != CONSTANT]
        for number, value in values:
            if isinstance(value.definition, MeanValue) and len(total.terms) == 1:
                owner = self.program.values[value.definition.total]
                scale = float(total.terms[0][1] * power_of_two(owner.step)).hex()
                return f"{scale} * (double)v{value.definition.total} / (double)(position + 1)"
            assert not isinstance(value.definition, MeanValue), f"v{number} shares a slot"
        step = self.sums.step(total)
        text = f"(double)({self.sums.text(total, step)}) * {float(power_of_two(step)).hex()}"
        found = " && ".join(f"row{table}" for table in sorted(self.tables_behind(total)))
        return f"({found}) ? {text} : (double)NAN" if found else text

    def tables_behind(self, total: Sum) -> set[int]:
        """Tables whose rows a sum shows: after a miss it is not what attention would show.

        Those are fetched values and their distance from the query, before either is masked.
        """
        tables: set[int] = set()
        for value in (self.program.values[v].definition for v, _ in total.terms if v != CONSTANT):
            match value:
                case Fetched(table) if not self.program.tables[table].nearest:
                    tables.add(table)
                case Held(held):
                    tables |= self.tables_behind(held)
                case Product(gate, factor) | Shape(gate, _, factor) if factor.constant is not None:
                    tables |= self.tables_behind(
                        Sum(tuple(t for t in gate.terms if self.is_key(t[0])))
                    )
        return tables

    def is_key(self, value: int) -> bool:
        """Whether a value is the key that a table found."""
        if value == CONSTANT:
            return False
        definition = self.program.values[value].definition
        if not isinstance(definition, Fetched):
            return False
        return self.program.tables[definition.table].stored[definition.place].is_key
