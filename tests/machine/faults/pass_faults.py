"""Faults of passes, written by hand: what each of them is most likely to forget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import count

from curta.machine.instructions import kind_of
from curta.machine.lower import (
    beginning,
    conflicts,
    context,
    drop,
    emit,
    flat,
    inline,
    late,
    link,
    registers,
    simplify,
)
from curta.machine.lower.code import Call, Return, Step
from curta.machine.lower.conflicts import Conflicts
from curta.machine.lower.flat import Line
from curta.machine.lower.operations import GET, SET
from curta.machine.program import Segment
from tests.machine.faults.fault import Fault, replaced_attribute

TIMES = (0, 1, 5, 20)
"""Which time it goes wrong: at every one, at the first one, at the fifth."""


def pass_faults() -> Iterator[Fault]:
    """All of them."""
    for owner, name, told, wrong in HAND:
        for time in TIMES:
            often = f"time {time}" if time else "always"
            planted = partial(_planted, owner, name, wrong, time)
            short = getattr(owner, "__name__", str(owner)).rpartition(".")[2]
            yield Fault("pass, by hand", f"{short}.{name}: {told} ({often})", planted)


@contextmanager
def _planted(owner: object, name: str, wrong: Callable[..., object], time: int) -> Iterator[None]:
    """Another function, which is given the right one; at one of its calls, or at all of them."""
    inner = getattr(owner, name)
    calls = count(1)

    def instead(*given: object, **named: object) -> object:
        now = next(calls)
        if time in (0, now):
            return wrong(inner, *given, **named)
        return inner(*given, **named)

    instead.__name__ = getattr(inner, "__name__", name)
    with replaced_attribute(owner, name, instead):
        if inner in link.PASSES:
            passes = tuple(instead if improve is inner else improve for improve in link.PASSES)
            with replaced_attribute(link, "PASSES", passes):
                yield
        else:
            yield


# -- registers ------------------------------------------------------------------------------------


def _nothing_lives_across(inner, code):  # type: ignore[no-untyped-def]
    found: Conflicts = inner(code)
    found.across = dict.fromkeys(found.across, 0)
    return found


def _one_dies_across(inner, code):  # type: ignore[no-untyped-def]
    """The newest value that lives across a call is forgotten."""
    found: Conflicts = inner(code)
    found.across = {
        site: values & ~(1 << values.bit_length() - 1) if values else 0
        for site, values in found.across.items()
    }
    return found


def _a_conflict_less(inner, code):  # type: ignore[no-untyped-def]
    """The values in the middle do not conflict with any that is newer."""
    found: Conflicts = inner(code)
    values = sorted(found.of)
    for value in values[len(values) // 2 :][:1]:
        others = found.of[value]
        found.of[value] = others & ((1 << value) - 1)
        for other in values:
            if other > value:
                found.of[other] &= ~(1 << value)
    return found


def _shared_for_ever(inner, code):  # type: ignore[no-untyped-def]
    """Values stay in shared registers that change meanwhile."""
    found: Conflicts = inner(code)
    found.in_shared.update(found.wanted)
    return found


def _no_calls(inner, self, call, live):  # type: ignore[no-untyped-def]
    """A call changes no shared register."""


def _slots_too_low(inner, code):  # type: ignore[no-untyped-def]
    chosen = inner(code)
    for site in list(chosen.slots)[:1]:
        chosen.slots[site] -= 1
    return chosen


def _same_register(inner, code):  # type: ignore[no-untyped-def]
    """The last value lies where the one before it does."""
    chosen = inner(code)
    values = sorted(chosen.of)
    if len(values) > 1:
        chosen.of[values[-1]] = chosen.of[values[-2]]
    return chosen


def _in_any_order(inner, moves, scratch):  # type: ignore[no-untyped-def]
    return iter([(d, source) for d, source in moves.items() if d != source])


def _circles_unbroken(inner, moves, scratch):  # type: ignore[no-untyped-def]
    return iter([move for move in inner(moves, scratch) if move[0] != scratch])


def _one_move_less(inner, moves, scratch):  # type: ignore[no-untyped-def]
    return iter(list(inner(moves, scratch))[1:])


# -- values ---------------------------------------------------------------------------------------


def _loads_are_shared(inner, operation):  # type: ignore[no-untyped-def]
    return inner(operation) or kind_of(operation) == "load"


def _gets_are_shared(inner, operation):  # type: ignore[no-untyped-def]
    return inner(operation) or operation == GET


def _key_without(name: str, inner, step):  # type: ignore[no-untyped-def]
    return inner(step._replace(**{name: None}))


def _all_symmetric(inner, step):  # type: ignore[no-untyped-def]
    a, b = step.a, step.b
    turned = step._replace(a=b, b=a) if a is not None and b is not None and a > b else step
    return inner(turned)


def _unread_stores(inner, step, code):  # type: ignore[no-untyped-def]
    return inner(step, code) or (isinstance(step, Step) and kind_of(step.operation) == "divide")


def _any_is_needless(inner, step, code):  # type: ignore[no-untyped-def]
    return inner(step, code) or (isinstance(step, Step) and step.d is not None)


def _same_if_first_is(inner, code):  # type: ignore[no-untyped-def]
    """Parameters that are the same on some ways are taken to be so on all."""
    names = inner(code)
    for block in code.blocks.values():
        for edge in drop.edges(block.end)[:1]:
            target = code.blocks[edge.label]
            for parameter, value in zip(target.parameters, edge.arguments, strict=True):
                if value < parameter and value not in target.parameters and value in code.constants:
                    names.setdefault(parameter, value)
    return names


def _all_may_sink(inner, operation):  # type: ignore[no-untyped-def]
    return inner(operation) or operation == GET or kind_of(operation) == "load"


def _any_access_adds(inner, step):  # type: ignore[no-untyped-def]
    return kind_of(step.operation) in ("load", "store")


def _copied_names(inner, self):  # type: ignore[no-untyped-def]
    """Results of what is put in line change places."""
    inner(self)
    results = self.call.results
    if len(results) > 1:
        block = self.code.blocks[self.behind]
        block.parameters = (*block.parameters[1:], block.parameters[0])


def _arguments_turned(inner, self, code, function, label, index):  # type: ignore[no-untyped-def]
    inner(self, code, function, label, index)
    parameters, given = function.entry.parameters, self.call.arguments
    turned = (*given[1:], *given[:1])
    self.names.update(zip(parameters, turned, strict=True))


def _users_leave(inner, code):  # type: ignore[no-untyped-def]
    """A last call whose results are given back in another order leaves for the callee, too."""
    for block in code.blocks.values():
        call = block.steps[-1] if block.steps else None
        returns = isinstance(call, Call) and isinstance(block.end, Return)
        if returns and sorted(call.results) == sorted(block.end.values):
            block.end = block.end._replace(values=call.results)
    return inner(code)


# -- lines, memory, entries -----------------------------------------------------------------------


def _not_inverted(inner, line, ways):  # type: ignore[no-untyped-def]
    return line._replace(ways=ways)


def _a_jump_less(inner, lines):  # type: ignore[no-untyped-def]
    """The last jump counts as one to the next line."""
    found = inner(lines)
    jumps = [at for at, line in enumerate(found) if isinstance(line, Line) and line.goes_on]
    return [line for at, line in enumerate(found) if at not in jumps[-1:]]


def _longer_runs(inner, found):  # type: ignore[no-untyped-def]
    """The last byte of every segment is missing."""
    return tuple(Segment(one.address, one.content[:-1]) for one in inner(found))


def _moved(inner, found):  # type: ignore[no-untyped-def]
    return tuple(Segment(one.address + 1, one.content) for one in inner(found))


def _first_wins(inner, context):  # type: ignore[no-untyped-def]
    """Of the segments that overlap, the first is put last."""
    state = inner(context)
    return beginning.InitialState(tuple(reversed(state.memory)), state.table, state.trap)


def _table_moved(inner, context):  # type: ignore[no-untyped-def]
    state = inner(context)
    table: Mapping[int, int] = {place + 1: index for place, index in state.table.items()}
    return beginning.InitialState(state.memory, table, state.trap)


def _table_turned(inner, context):  # type: ignore[no-untyped-def]
    state = inner(context)
    indices = list(state.table.values())
    table = dict(zip(state.table, [*indices[1:], *indices[:1]], strict=True))
    return beginning.InitialState(state.memory, table, state.trap)


def _no_trap(inner, context):  # type: ignore[no-untyped-def]
    state = inner(context)
    return beginning.InitialState(state.memory, state.table)


def _word_more(inner, code, context, state, top):  # type: ignore[no-untyped-def]
    block = inner(code, context, state, top)
    first = block.steps[0]
    block.steps[0] = first._replace(c=code.constant(code.constants.get(first.c, 0) + 1))
    return block


def _not_started(inner, code, context, state, top):  # type: ignore[no-untyped-def]
    block = inner(code, context, state, top)
    block.steps = [step for step in block.steps if isinstance(step, Step)]
    return block


def _not_all_set(inner, code, context, state, top):  # type: ignore[no-untyped-def]
    block = inner(code, context, state, top)
    block.steps = block.steps[1:]
    return block


def _stub_turned(inner, code, type_, callee, top):  # type: ignore[no-untyped-def]
    """Results are said in another order."""
    block = inner(code, type_, callee, top)
    said = [step for step in block.steps if isinstance(step, Step) and step.operation == SET]
    block.steps = [*block.steps[: len(block.steps) - len(said)], *reversed(said)]
    return block


def _stub_awaits_turned(inner, code, type_, callee, top):  # type: ignore[no-untyped-def]
    block = inner(code, type_, callee, top)
    awaited = [step for step in block.steps if isinstance(step, Step) and step.operation == "await"]
    block.steps = [*reversed(awaited), *block.steps[len(awaited) :]]
    return block


def _one_signature(inner, context, options):  # type: ignore[no-untyped-def]
    """All signatures have one number."""
    inner(context, options)
    context.signatures = dict.fromkeys(context.signatures, 0)


def _more_pages(inner, context, options):  # type: ignore[no-untyped-def]
    inner(context, options)
    context.most_pages += 1


def _one_register(inner, context):  # type: ignore[no-untyped-def]
    """The second global lies where the first one does."""
    inner(context)
    held = dict(context.global_registers)
    pairs = [(one, other) for one in held for other in held if len(held[one]) == len(held[other])]
    for one, other in pairs:
        if one < other:
            held[other] = held[one]
            break
    context.global_registers = held


def _halves_exchanged(inner, context):  # type: ignore[no-untyped-def]
    """Words of globals at the beginning are the wrong way round."""
    inner(context)
    context.global_words = tuple(words[::-1] for words in context.global_words)


def _segments_apart(inner, context):  # type: ignore[no-untyped-def]
    """Passive segments begin one byte further on."""
    inner(context)
    context.data = tuple(
        segment.__class__(segment.address, segment.length_register, max(0, segment.length - 1))
        for segment in context.data
    )


def _next_function(inner, functions):  # type: ignore[no-untyped-def]
    """Calls of the second function lead behind its first instruction."""
    placed = inner(functions)
    at = sorted(placed.starts.values())[1]
    wrong = tuple(
        one.__class__(one.operation, one.a, one.b, one.c, one.d, one.immediate, at + 1)
        if one.operation == "call" and one.target == at
        else one
        for one in placed.instructions
    )
    return placed.__class__(wrong, placed.origins, placed.starts, placed.blocks)


def _moves_forgotten(inner, self, edge):  # type: ignore[no-untyped-def]
    return dict(list(inner(self, edge).items())[1:])


def _found_late(inner, self, values, first):  # type: ignore[no-untyped-def]
    return inner(self, values, first + 1)


HAND: tuple[tuple[object, str, str, Callable[..., object]], ...] = (
    (registers, "Conflicts", "nothing lives across calls", _nothing_lives_across),
    (registers, "Conflicts", "one value does not live across calls", _one_dies_across),
    (registers, "Conflicts", "a value does not conflict with newer ones", _a_conflict_less),
    (registers, "Conflicts", "values stay in shared registers", _shared_for_ever),
    (conflicts.Conflicts, "_call", "a call changes no shared register", _no_calls),
    (link, "choose_registers", "the frame of a call is one too low", _slots_too_low),
    (link, "choose_registers", "two values have one register", _same_register),
    (emit, "in_turn", "moves are made in any order", _in_any_order),
    (emit, "in_turn", "circles of moves are not broken", _circles_unbroken),
    (emit, "in_turn", "the first move is missing", _one_move_less),
    (emit._Writer, "edge_moves", "the first move of an edge is missing", _moves_forgotten),
    (emit._Writer, "found_at", "results lie one further", _found_late),
    (emit._Writer, "given_at", "arguments lie one further", _found_late),
    (simplify, "_is_shared", "loads are shared", _loads_are_shared),
    (simplify, "_is_shared", "shared registers do not change", _gets_are_shared),
    (simplify, "_key", "the third source does not count", partial(_key_without, "c")),
    (simplify, "_key", "the second source does not count", partial(_key_without, "b")),
    (simplify, "_key", "all operations are symmetric", _all_symmetric),
    (drop, "is_needless", "divisions that trap may be left out", _unread_stores),
    (drop, "is_needless", "reading and trapping may be left out", _any_is_needless),
    (drop, "_same_parameters", "what one way gives all give", _same_if_first_is),
    (late, "gives_value", "loads sink too", _all_may_sink),
    (late, "_adds", "private accesses add too", _any_access_adds),
    (inline._Copy, "put", "results in line change places", _copied_names),
    (inline._Copy, "__init__", "arguments in line change places", _arguments_turned),
    (link, "leave_for_last_calls", "results in any order leave", _users_leave),
    (flat.Line, "inverted", "conditions are not inverted", _not_inverted),
    (flat, "_without_detours", "a jump is missing", _a_jump_less),
    (beginning, "_without_zeros", "the last byte is missing", _longer_runs),
    (beginning, "_without_zeros", "segments lie one byte further", _moved),
    (link, "find_initial_state", "the first segment is put last", _first_wins),
    (link, "find_initial_state", "the table lies one further", _table_moved),
    (link, "find_initial_state", "functions of the table change places", _table_turned),
    (link, "find_initial_state", "no trap when it is set up", _no_trap),
    (beginning, "_initialise", "what is set up is one more", _word_more),
    (beginning, "_initialise", "the start function is not called", _not_started),
    (beginning, "_initialise", "the first register is not set up", _not_all_set),
    (beginning, "_stub", "results are said in another order", _stub_turned),
    (beginning, "_stub", "arguments are awaited in another order", _stub_awaits_turned),
    (context, "_measure", "all signatures are one", _one_signature),
    (context, "_measure", "memory grows by one page more", _more_pages),
    (context, "_take_globals", "two globals in one register", _one_register),
    (context, "_take_globals", "words of globals are exchanged", _halves_exchanged),
    (context, "_take_segments", "a passive segment is a byte shorter", _segments_apart),
    (link, "place", "calls lead behind a function's beginning", _next_function),
)
