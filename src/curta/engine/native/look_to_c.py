"""C that looks at one step of a sequence which other C keeps: what its residual stream is.

The general step of `streams_to_c.py`, without what it says. It is a file of its own beside the C of
the same weights, as fast as that is without it, and works on the same state.
"""

from __future__ import annotations

import re

from curta.compiler.model import Model
from curta.engine.native.case import Case, Facts
from curta.engine.native.emit import deep_recursion, functions_of_tables, sequence, state
from curta.engine.native.expressions import Scope
from curta.engine.native.routine import Check
from curta.engine.native.streams_to_c import StreamsWriter
from curta.engine.native.symbolic import weights_to_routine

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
        writer = StreamsWriter(routine)
        look = look_at_step(writer)
        tables = writer.expressions.table_definitions()
        return "\n".join([*sequence(model, routine), ONCE, tables, *look, LOOK])


def without_numbers(source: str) -> str:
    """Values have other numbers in streams, in which nothing is simplified."""
    return re.sub(r"\btotal\d+", "total", source)


def look_at_step(writer: StreamsWriter) -> list[str]:
    """What is left of a step of which it is known that promises hold, and what is said."""
    case, scope, lines = Case(writer.pool, Facts()), Scope(), list[str]()
    for event in writer.routine.events:
        if not isinstance(event, Check):
            lines += writer.act(case, event, scope)
    return writer.frame(
        "ONCE void look(State *s, int32_t token, double *stream)",
        ["    if (!RING && s->position >= s->capacity && !grow(s)) return;"],
        [*lines, *writer.reported(case, scope), "position++;"],
        [],
    )
