"""C that looks at one step of a sequence which other C keeps: what its residual stream is.

It is a file of its own beside the C of the same weights, as fast as that is without it, and works
on the same state.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from curta.compiler.model import Model
from curta.dyadic import power_of_two
from curta.engine.native.case import Case, Facts
from curta.engine.native.code_to_c import CodeWriter
from curta.engine.native.emit import deep_recursion, functions_of_tables, sequence, state
from curta.engine.native.expressions import Scope
from curta.engine.native.routine import Check, Routine
from curta.engine.native.symbolic import weights_to_routine
from curta.engine.native.values import FetchedKey, FetchedValue, Product, Sum

ONCE = """\
#ifdef __clang__
#define ONCE __attribute__((optnone, noinline)) /* seconds of compiling, not minutes */
#else
#define ONCE
#endif
"""
LOOK = """\
/* Take a token that was said before: the residual stream of all periods goes to `stream`. */
void curta_look(State *s, int32_t token, double *stream) {
    look(s, token, stream);
    s->quiet = 0;
}
"""


def look_to_c(model: Model, source: str) -> str | None:
    """The C to be compiled beside `source`, that of the model, both of them with FLAGS 1; None if
    that keeps a sequence in another way than streams ask for it (what nothing depends on is not
    filed).
    """
    with deep_recursion():
        routine = weights_to_routine(model, streams=True)
        known = without_numbers(source)
        kept = [state(routine), *functions_of_tables(routine)]
        if any(without_numbers(part) not in known for part in kept):
            return None
        return looks(model, routine)


def looks(model: Model, routine: Routine) -> str:
    """The C, of a routine with streams."""
    writer = StreamsWriter(routine)
    look = writer.look()
    tables = writer.expressions.table_definitions()
    return "\n".join([*sequence(model, routine), ONCE, tables, *look, LOOK])


def without_numbers(source: str) -> str:
    """Values have other numbers in streams, in which nothing is simplified."""
    return re.sub(r"\btotal\d+", "total", source)


class StreamsWriter(CodeWriter):
    """Every slot in every period, as the float64 that the transformer would hold."""

    def look(self) -> list[str]:
        """What is left of a step of which it is known that promises hold, and what is said."""
        case, scope, lines = Case(self.pool, Facts()), Scope(), list[str]()
        for event in self.routine.events:
            if not isinstance(event, Check):
                lines += self.act(case, event, scope)
        return self.frame(
            "ONCE void look(State *s, int32_t token, double *stream)",
            ["    if (!RING && s->position >= s->capacity && !grow(s)) return;"],
            [*lines, *self.reported(case, scope), "position++;"],
            [],
        )

    def reported(self, case: Case, scope: Scope) -> list[str]:
        """What no head and no unit wrote to is what it was."""
        lines, width = list[str](), len(self.routine.streams[0])
        before: Sequence[Sum | None] = [None] * width
        for period, slots in enumerate(self.routine.streams):
            first = period * width
            if period:
                earlier = f"stream + {first - width}, sizeof(double) * {width}"
                lines.append(f"memcpy(stream + {first}, {earlier});")
            for slot, total in enumerate(slots):
                if total != before[slot]:
                    computed = self.pool.total_behind(total) or total
                    lines += self.needed(case, [computed], scope)
                    lines.append(f"stream[{first + slot}] = {self.as_double(total, scope)};")
            before = slots
        return lines

    def as_double(self, total: Sum, scope: Scope) -> str:
        summed = self.pool.total_behind(total) or total
        step = self.pool.step(summed)
        unit = float(power_of_two(step)).hex()
        text = f"(double)({self.expressions.text(summed, step, scope)}) * {unit}"
        if summed != total:
            return f"{text} / (double)(position + 1)"
        found = " && ".join(self.shown(number) for number in sorted(self.look_ups_behind(total)))
        return f"({found}) ? {text} : (double)NAN" if found else text

    def shown(self, number: int) -> str:
        """Whether a look-up finds a row that was filed."""
        filed = "" if self.pool.rows_behind(number).by_position else f" && row{number}->filed"
        return f"row{number}{filed}"

    def look_ups_behind(self, total: Sum) -> set[int]:
        """Look-ups whose rows a sum shows: after a miss it is not what attention would show.

        Those are fetched values and their distance from the query, before either is masked.
        """
        found: set[int] = set()
        for value, _ in total.without_constant.terms:
            match self.pool.definition(value):
                case FetchedValue(number) | FetchedKey(number):
                    if not self.pool.look_ups[number].nearest:
                        found.add(number)
                case Product(gate, factor) if factor.constant is not None:
                    keys = [
                        term
                        for term in gate.without_constant.terms
                        if isinstance(self.pool.definition(term[0]), FetchedKey)
                    ]
                    found |= self.look_ups_behind(Sum(tuple(keys)))
        return found
