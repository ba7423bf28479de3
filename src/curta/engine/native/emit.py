"""A model in, C out: what it keeps of a sequence, one step, and what a run does besides.

A value v that is a multiple of 2**step is an int64_t holding v / 2**step. The certificate bounds
every sum below 2**53 steps, so nothing overflows; intermediate wrap-around would not matter.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from math import inf

from curta.compiler.model import Model
from curta.compiler.numbers import Number, power_of_two, simplify
from curta.engine.native.cases_to_c import CasesWriter, class_tables
from curta.engine.native.code_to_c import CodeWriter
from curta.engine.native.expressions import CannotSpecialiseError, integer
from curta.engine.native.following import Follower
from curta.engine.native.kit import Kit
from curta.engine.native.places import Places
from curta.engine.native.places_to_c import PlacesWriter
from curta.engine.native.routine import Routine
from curta.engine.native.specialise import NotWorthItError, Specialiser
from curta.engine.native.streams_to_c import StreamsWriter
from curta.engine.native.symbolic import weights_to_routine
from curta.engine.native.tables import array_to_c, comment, tables_of, track_type
from curta.engine.native.values import Column
from curta.engine.toolchain import zeros_source

DEEPEST = 20_000
"""Nested calls that following values to their operands may need."""


def model_to_c(model: Model, *, residuals: bool = False, specialise: bool = True) -> str:
    """The C source of a model. With `residuals` it also reports the residual stream, and is slower.

    With `specialise`, runs are said by code for the cases of a step; the general step then takes in
    prompts only, and is the definition of what the cases have to do.
    """
    with deep_recursion():
        routine = weights_to_routine(model, streams=residuals)
        parts = [title(model), *sequence(model, routine)]
        parts += steps(model, routine, specialise=specialise)
        return "\n".join([*parts, runtime("entry.c")])


def model_to_kit(
    model: Model,
    kit: Kit | None = None,
    wanted: Callable[[Kit], Iterable[Number]] | None = None,
    keep: Callable[[Kit], object] | None = None,
    seconds: float = inf,
) -> Kit | None:
    """What C that knows a program is put together from, if the model executes one.

    If it is said what is wanted, a kit grows by that much, in so many seconds of work, and is kept
    after each template.
    """
    with deep_recursion(), suppress(NotWorthItError):
        routine = weights_to_routine(model)
        writer = PlacesWriter(Places(Follower(routine)), model.plan["stops"])
        if kit is None:
            tables = class_tables(routine, writer.places.classes)
            kit = writer.bare_kit([*sequence(model, routine), tables])
        until = time.process_time() + seconds
        for value in wanted(kit) if wanted else writer.selectors:
            if time.process_time() > until:
                break
            kit = writer.extended(kit, value)
            if keep is not None:
                keep(kit)
        return kit
    return None


def sequence(model: Model, routine: Routine) -> list[str]:
    """What is kept of a sequence, and how."""
    parts = [zeros_source(), runtime("prelude.c"), *columns(routine), state(routine)]
    parts += [runtime("memory.c"), *functions_of_tables(routine)]
    return [*parts, is_stop(model.plan["stops"])]


@contextmanager
def deep_recursion() -> Iterator[None]:
    """Values are followed to their operands by recursion: as deep as a model has layers. What is
    made of them has few cycles, and is not searched for any.
    """
    limit, collects = sys.getrecursionlimit(), gc.isenabled()
    sys.setrecursionlimit(max(limit, DEEPEST))
    gc.disable()
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
        if collects:
            gc.enable()


def runtime(name: str) -> str:
    """The C that is the same for every model."""
    return (files("curta.engine.native") / name).read_text(encoding="utf-8")


def steps(model: Model, routine: Routine, *, specialise: bool) -> list[str]:
    """The step, and the cases if there are any that are worth it."""
    if routine.streams:
        return [StreamsWriter(routine).functions()]
    if specialise:
        with suppress(CannotSpecialiseError, NotWorthItError):
            places, follower = None, Follower(routine)
            plan = Specialiser(follower).plan()
            with suppress(NotWorthItError):
                places = Places(follower)
            writer = CasesWriter(plan, model.plan["stops"], places)
            return ["#define CASES\n", writer.class_tables(), writer.functions()]
    return [CodeWriter(routine).functions()]


def title(model: Model) -> str:
    certificate, plan = model.certificate, model.plan
    return (
        f"/* A transformer of {len(plan['layers'])} layers and width {plan['width']}, as C.\n"
        "   Generated by curta from its weights: zero weights are gone, heads with exact keys\n"
        "   are tables, means times the count are running sums.\n"
        f"   {certificate}. */\n"
    )


def columns(routine: Routine) -> Iterator[str]:
    """What the embedding says of every token."""
    for value in sorted(routine.pool.reachable(routine.sums())):
        entry = routine.pool.entries[value]
        if isinstance(entry.definition, Column):
            unit = power_of_two(-entry.step)
            entries = [integer(simplify(number * unit)) for number in entry.definition.entries]
            yield f"{array_to_c(f'column{value}', entries)} /* {comment(entry.name)} */"


def state(routine: Routine) -> str:
    """What is kept of a sequence."""
    tables = tables_of(routine).values()
    totals = "".join(
        f"    int64_t total{v}; /* {comment(routine.pool.entries[v].name)} */\n"
        for v in routine.totals
    )
    rows = "".join(table.state for table in tables)
    size = sum(map(len, routine.streams))
    defined = f"#define STREAM_SIZE {size}\n" if size else ""
    stream = "    double stream[STREAM_SIZE];\n" if size else ""
    pages = sum(8 * table.pages for table in tables if table.rows.kind == "paged")
    return (
        "".join(table.types for table in tables)
        + track_type(tables)
        + f"#define RING {routine.ring()} /* rows of the track; if 0 it grows */\n"
        + f"#define DIRECTORIES {pages} /* bytes that hold where pages are */\n"
        + defined
        + "typedef struct Block Block;\n"
        "struct Block { _Alignas(64) Block *before; uint64_t size, used; };\n\n"
        "typedef struct State State;\n"
        "typedef int64_t Places(State *s, int32_t first, int32_t *said, int64_t count);\n"
        "struct State {\n"
        "    Places *places; /* code for some places of a program, or none */\n"
        "    Block *blocks; /* of memory */\n"
        "    int64_t position, capacity, bytes, broken_value;\n"
        "    int64_t placed; /* tokens that code for places has said */\n"
        "    int64_t quiet; /* tokens since the last that no rule says */\n"
        "    int32_t broken, broken_step; /* the promise that was broken, or -1 */\n"
        "    int32_t exhausted; /* no memory left */\n"
        "    Track *track;\n"
        f"{totals}{rows}{stream}}};\n"
    )


def functions_of_tables(routine: Routine) -> Iterator[str]:
    tables = tables_of(routine).values()
    for table in tables:
        yield from (table.helpers, table.store, table.fetch)
    creates, releases = "".join(t.create for t in tables), "".join(t.release for t in tables)
    yield f"static void create_tables(State *s) {{\n    (void)s;\n{creates}}}\n"
    large = [f"touched(s->rows{t.rows.number}, {t.bytes})" for t in tables if t.is_large]
    touched = " + ".join(large) or "(void)s, 0"
    yield f"static int64_t bytes_of_arrays(const State *s) {{\n    return {touched};\n}}\n"
    yield f"static void free_tables(State *s) {{\n    (void)s;\n{releases}}}\n"


def is_stop(stops: list[int]) -> str:
    test = " || ".join(f"token == {stop}" for stop in stops) or "0"
    return f"static inline int is_stop(int32_t token) {{ (void)token; return {test}; }}\n"
