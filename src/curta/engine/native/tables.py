"""C for the tables that stand in for attention heads.

A head that retrieves the latest value under an exact key is a table: the key is an index, and a
later value overwrites an earlier one. Which table depends on what is proved about the key:

    by position   keys are positions, shifted by a constant: one array for all such tables, the
                  track. It has a row for every token and grows with the sequence; if all look
                  back by fixed distances, it is a ring of as many rows
    direct        few keys: an array of rows; of a large one most is never written to, and takes no
                  memory
    paged         many keys: pages of rows, allocated when first written
    hashed        more keys than pages could be listed: open addressing
    nearest       a miss has a meaning: direct, with a tree of bitmaps that finds the neighbours

Values are stored in the narrowest integers that hold their proved bounds, and what was not filed is
0; a flag says that a row was, where something depends on that, and in all rows if FLAGS is 1. Heads
that file under the same key share their rows, and a value that several of them file is filed once:
what one instruction or one token consists of lies in one place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import groupby

from curta.dyadic import Number, power_of_two
from curta.engine.native.routine import Filing, Routine
from curta.engine.native.values import Member, Pool, Rows, Sum

DIRECT_LIMIT = 1 << 23
SMALL_ARRAY = 1 << 16
"""Entries of an array of which it does not matter how much is written to."""
PAGED_LIMIT = 1 << 36
LONGEST_RUN = 8
"""Equal entries of an array that are written one by one."""
INTEGER_TYPES = (
    ("uint8_t", 0, 2**8 - 1),
    ("int8_t", -(2**7), 2**7 - 1),
    ("uint16_t", 0, 2**16 - 1),
    ("int16_t", -(2**15), 2**15 - 1),
    ("uint32_t", 0, 2**32 - 1),
    ("int32_t", -(2**31), 2**31 - 1),
    ("int64_t", -(2**63), 2**63 - 1),
)


def integer_type(low: Number, high: Number) -> str:
    """The narrowest C type for the integers low..high."""
    return next(name for name, least, most in INTEGER_TYPES if least <= low and high <= most)


def array_to_c(name: str, entries: Sequence[int]) -> str:
    """A constant array in the narrowest type for its entries; long runs are written once, or left
    out if they are 0.
    """
    texts, place, at = list[str](), 0, 0
    for entry, run in groupby(entries):
        start, place = place, place + len(list(run))
        if place - start <= LONGEST_RUN:
            first = f"[{start}] = " if at < start else ""
            texts += [f"{first}{entry}", *(place - start - 1) * [str(entry)]]
        elif entry:
            texts.append(f"[{start} ... {place - 1}] = {entry}")
        else:
            continue
        at = place
    kind = integer_type(min(0, *entries), max(0, *entries))
    return f"static const {kind} {name}[{len(entries)}] = {{{', '.join(texts) or '0'}}};"


def storage_type(member: Member) -> str:
    unit = Fraction(power_of_two(member.step))
    return integer_type(member.low / unit, member.high / unit)


def kind_of(pool: Pool, key: Sum, size: int, *, nearest: bool) -> str:
    if pool.position_shift(key) is not None:
        return "by position"
    if nearest:
        return "nearest"
    if size <= DIRECT_LIMIT:
        return "direct"
    return "paged" if size <= PAGED_LIMIT else "hashed"


def tables_of(routine: Routine) -> dict[int, Table]:
    """The C of all rows that anything is filed in, with those of their members that are."""
    filed: dict[int, dict[str, Member]] = {}
    for event in routine.events:
        if isinstance(event, Filing):
            members = routine.pool.rows[event.rows].members
            row = filed.setdefault(event.rows, {})
            row.update((name, members[name]) for name, _ in event.members)
    return {number: table_of(routine.pool.rows[number], row) for number, row in filed.items()}


@dataclass(frozen=True, slots=True)
class Table:
    """The C of some rows: their part of the state, how they are filed, found, grown and freed."""

    rows: Rows
    fields: list[str]
    """The values that somebody reads, as members of a struct."""
    state: str = ""
    """The state's fields."""
    types: str = ""
    functions: str = ""
    """One that returns the row to write for a key; others that return where the row of a query
    lies, and the row if it was filed, where that is asked; or a null pointer.
    """
    create: str = ""
    """Statements that allocate what exists from the beginning."""


def table_of(rows: Rows, members: dict[str, Member]) -> Table:
    """Those of the rows' members that are given are read by somebody."""
    fields = [
        f"{storage_type(member)} {name}; /* {comment(member.label)} */"
        for name, member in members.items()
    ]
    kinds = {"direct": direct, "paged": paged, "hashed": hashed, "nearest": nearest}
    return kinds.get(rows.kind, Table)(rows, fields)


def direct(rows: Rows, fields: list[str]) -> Table:
    t, size = rows.number, rows.size
    created = f"    allocate(s, &s->rows{t}, sizeof(Row{t}) * {size}u);\n"
    if is_large(rows):
        created += f"    s->bytes -= (int64_t){bytes_of(rows)};\n"
    return Table(
        rows,
        fields,
        state=f"    Row{t} *rows{t}; /* {comment(rows.label)} */\n",
        types=row_type(t, fields),
        functions=store(t, f"    return &s->rows{t}[key];\n")
        + fetch(t, f"    return query < {size}u ? &s->rows{t}[query] : 0;\n"),
        create=created,
    )


def is_large(rows: Rows) -> bool:
    return rows.kind == "direct" and rows.size > SMALL_ARRAY


def bytes_of(rows: Rows) -> str:
    """What the state counts for a large array."""
    return f"((sizeof(Row{rows.number}) * {rows.size}u + 63) & ~UINT64_C(63))"


def paged(rows: Rows, fields: list[str]) -> Table:
    t, size = rows.number, rows.size
    stored = f"""\
    Of{size} **page = &s->pages.of{size}[key >> PAGE_BITS];
    if (!*page) allocate(s, page, sizeof(Of{size}) << PAGE_BITS);
    return *page ? &(*page)[key & LAST_OF_PAGE].row{t} : &s->spare{t};
"""
    found = f"""\
    if (query >= UINT64_C({size})) return 0;
    const Of{size} *page = s->pages.of{size}[query >> PAGE_BITS];
    return page ? &page[query & LAST_OF_PAGE].row{t} : 0;
"""
    return Table(
        rows,
        fields,
        state=f"    Row{t} spare{t}; /* {comment(rows.label)} */\n",
        types=row_type(t, fields),
        functions=store(t, stored) + fetch(t, found),
    )


def directory(tables: Iterable[Table]) -> str:
    """Where pages are. Tables of the same size share theirs, since what belongs together is mostly
    filed under the same key, as the bytes of a word.
    """
    sharing: dict[int, list[int]] = {}
    for rows in (table.rows for table in tables if table.rows.kind == "paged"):
        sharing.setdefault(rows.size, []).append(rows.number)
    types = pages = ""
    for size, numbers in sharing.items():
        types += f"typedef struct {{ {' '.join(f'Row{t} row{t};' for t in numbers)} }} Of{size};\n"
        pages += f"    Of{size} *of{size}[(UINT64_C({size - 1}) >> PAGE_BITS) + 1];\n"
    return f"{types}typedef struct {{\n{pages}}} Pages;\n"


def hashed(rows: Rows, fields: list[str]) -> Table:
    t = rows.number
    functions = f"""\
static Entry{t} *probe{t}(Entry{t} *entries, uint64_t room, uint64_t key) {{
    uint64_t at = (key * UINT64_C(0x9E3779B97F4A7C15)) >> 20;
    while (entries[at & (room - 1)].row.filed && entries[at & (room - 1)].key != key) at++;
    return &entries[at & (room - 1)];
}}

static int widen{t}(State *s) {{
    const uint64_t room = s->room{t} ? s->room{t} * 2 : 1024;
    const Entry{t} *const before = s->entries{t};
    allocate(s, &s->entries{t}, sizeof(Entry{t}) * room);
    if (s->exhausted) return 0;
    for (uint64_t i = 0; i < s->room{t}; i++)
        if (before[i].row.filed) *probe{t}(s->entries{t}, room, before[i].key) = before[i];
    s->room{t} = room;
    return 1;
}}
"""
    stored = f"""\
    if (s->used{t} * 2 >= s->room{t} && !widen{t}(s)) return &s->spare{t};
    Entry{t} *entry = probe{t}(s->entries{t}, s->room{t}, key);
    s->used{t} += !entry->row.filed;
    entry->key = key;
    return &entry->row;
"""
    found = f"&probe{t}(s->entries{t}, s->room{t}, query)->row"
    return Table(
        rows,
        fields,
        state=f"    Entry{t} *entries{t}; /* {comment(rows.label)} */\n"
        f"    Row{t} spare{t};\n    uint64_t used{t}, room{t};\n",
        types=row_type(t, fields) + f"typedef struct {{ uint64_t key; Row{t} row; }} Entry{t};\n",
        functions=functions
        + store(t, stored)
        + fetch(t, f"    return s->room{t} ? {found} : 0;\n"),
    )


def nearest(rows: Rows, fields: list[str]) -> Table:
    """With a tree of bitmaps, its finest level first."""
    t, size = rows.number, rows.size
    words = [-(-size // 64)]
    while words[-1] > 1:
        words.append(-(-words[-1] // 64))
    levels = len(words)
    found = f"""\
    const int64_t at = (int64_t)query;
    const int64_t below = at < 0 ? -1 : find_below(s->marks{t}, {levels}, \
at < {size} ? at : {size - 1});
    const int64_t above = at >= {size} ? -1 : find_above(s->marks{t}, words{t}, \
{levels}, at > 0 ? at : 0);
    if (below < 0) return &s->rows{t}[above];
    if (above < 0) return &s->rows{t}[below];
    const int64_t down = at - below, up = above - at;
    const int later = s->rows{t}[above].position > s->rows{t}[below].position;
    return &s->rows{t}[up < down || (up == down && later) ? above : below];
"""
    return Table(
        rows,
        fields,
        state=f"    Row{t} *rows{t}; /* {comment(rows.label)} */\n"
        f"    uint64_t *marks{t}[{levels}];\n",
        types=row_type(t, [*fields, "int64_t position; /* when it was filed */"], flag="")
        + f"static const int64_t words{t}[] = {{{', '.join(map(str, words))}}};\n",
        functions=store(t, f"    mark(s->marks{t}, {levels}, key);\n    return &s->rows{t}[key];\n")
        + fetch(t, found),
        create=f"    allocate(s, &s->rows{t}, sizeof(Row{t}) * UINT64_C({size}));\n"
        + "".join(
            f"    allocate(s, &s->marks{t}[{n}], sizeof(uint64_t) * UINT64_C({count}));\n"
            for n, count in enumerate(words)
        ),
    )


def flags(routine: Routine) -> str:
    """Which rows have a flag, and how it is set."""
    asked, always = routine.flagged, int(bool(routine.streams))
    text = f"#ifndef FLAGS\n#define FLAGS {always}\n#endif\n"
    for t in (rows.number for rows in routine.rows if rows.kind in ("direct", "paged", "hashed")):
        text += (
            f"#if FLAGS || {int(t in asked)}\n"
            f"#define HAS_FLAG{t}\n#define FLAG{t} uint8_t filed;\n"
            f"#define FILED{t} filed{t}->filed = 1;\n"
            f"#else\n#define FLAG{t}\n#define FILED{t}\n#endif\n"
        )
    return text


def row_type(number: int, fields: Iterable[str], flag: str = "    FLAG{}\n") -> str:
    return f"typedef struct {{\n{lines_of(fields)}{flag.format(number)}}} Row{number};\n"


def store(number: int, body: str) -> str:
    return f"INLINE Row{number} *store{number}(State *s, uint64_t key) {{\n{body}}}\n"


def fetch(number: int, body: str) -> str:
    row = f"INLINE const Row{number}"
    return (
        f"{row} *at{number}(State *s, uint64_t query) {{\n{body}}}\n"
        f"#ifdef HAS_FLAG{number}\n"
        f"{row} *fetch{number}(State *s, uint64_t query) {{\n"
        f"    const Row{number} *at = at{number}(s, query);\n"
        "    return at && at->filed ? at : 0;\n}\n#endif\n"
    )


def position_expression(divisor: int, modulus: int, power: int, offset: int) -> str:
    text = "position"
    if divisor > 1 or modulus:
        text = f"(int64_t)((uint64_t)position / {divisor}u" + (
            f" % {modulus}u)" if modulus else ")"
        )
    if offset:
        text = f"({text} - {offset})"
    return f"{text} * {text}" if power == 2 else text


def comment(text: str) -> str:
    """Text that neither ends a comment nor begins one."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def track_type(tables: Iterable[Table]) -> str:
    """The row that every token has, if any table is by position."""
    fields = [f for table in tables if table.rows.by_position for f in table.fields]
    return f"typedef struct {{\n{lines_of(fields or ['uint8_t unused;'])}}} Track;\n"


def lines_of(fields: Iterable[str]) -> str:
    """Members of a struct, the widest first: nothing is left empty between them."""
    widest_first = sorted(fields, key=lambda field: -int(re.findall(r"\d+", field)[0]))
    return "".join(f"    {field}\n" for field in widest_first)
