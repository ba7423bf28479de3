"""Faults between passes: one step, edge or end of one function is another behind one of them.

Whatever comes later compiles the mistake consistently, so no check of registers can see it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from random import Random

from curta.machine.instructions import COMPARISONS, TRAPS, kind_of
from curta.machine.lower import link
from curta.machine.lower.code import (
    Block,
    Branch,
    Call,
    Callee,
    Code,
    Edge,
    End,
    Return,
    Step,
    Switch,
    TrapEnd,
    edges,
    mapped,
)
from curta.machine.lower.operations import GET, SET, gives_value
from tests.machine.faults.corpus import Program
from tests.machine.faults.fault import Fault, MismatchError, replaced_attribute
from tests.machine.faults.judging import TooLongError, lowered
from tests.machine.faults.source_faults import SIBLINGS

Change = tuple[str, Callable[[], None]]
"""What it is, and what makes it."""
_FIRST = "translate"


def code_fault(program: Program, callee: Callee, random: Random) -> Fault:
    """A change of a function of a program, behind a pass that is drawn."""
    names = [_FIRST, *(f"{n} {improve.__name__}" for n, improve in enumerate(link.PASSES))]
    behind, seed = random.choice(names), random.random()
    planted = partial(_planted, behind, callee, seed)
    kind = _kind_of_change(program, planted)
    name = f"{program.name}: {callee} behind {behind}: {kind} ({seed:.4f})"
    return Fault("between passes", name, planted, programs=frozenset([program.name]))


def _kind_of_change(program: Program, planted: Callable[..., AbstractContextManager[None]]) -> str:
    """What the change is: it is drawn when the pass has run."""
    done: list[str] = []
    try:
        with planted(done):
            lowered(program, [])
    except (Exception, TooLongError):  # judged later
        pass
    return done[0] if done else "nothing to change"


@contextmanager
def _planted(
    behind: str, callee: Callee, seed: float, told: list[str] | None = None
) -> Iterator[None]:
    done: list[str] = [] if told is None else told

    def spoilt(code: Code) -> Code:
        if code.callee == callee and not done:
            done.append(_spoil(code, Random(seed)))
        return code

    if behind == _FIRST:
        inner = link.translate
        with replaced_attribute(link, "translate", lambda *given: spoilt(inner(*given))):
            yield
    else:
        at = int(behind.split()[0])
        improve = link.PASSES[at]

        def wrapped(code: Code) -> Code:
            return spoilt(improve(code))

        wrapped.__name__ = improve.__name__
        passes = (*link.PASSES[:at], wrapped, *link.PASSES[at + 1 :])
        with replaced_attribute(link, "PASSES", passes):
            yield
    if not done:
        raise MismatchError


def _spoil(code: Code, random: Random) -> str:
    """Make one of the changes; kinds are as likely as one another."""
    found: dict[str, list[Callable[[], None]]] = {}
    for block in code.blocks.values():
        for kind, change in (*_of_steps(code, block, random), *_of_end(code, block, random)):
            found.setdefault(kind, []).append(change)
    if not found:
        raise MismatchError
    kind = random.choice(sorted(found))
    random.choice(found[kind])()
    return kind


def _of_steps(code: Code, block: Block, random: Random) -> Iterator[Change]:
    known = [*block.parameters]
    for at, step in enumerate(block.steps):
        if isinstance(step, Call):
            yield from _of_call(block, at, step)
            known += step.results
            continue
        for kind, changed in _changed_steps(code, step, known, random):
            yield kind, partial(_put, block, at, changed)
        if step.d is None:
            yield "a step that does something is left out", partial(_leave_out, block, at)
        else:
            known.append(step.d)
        if at and step.d is None and kind_of(step.operation) in ("store", "write"):
            yield "a step is done too early", partial(_exchange, block, at)


def _changed_steps(
    code: Code, step: Step, known: list[int], random: Random
) -> Iterator[tuple[str, Step]]:
    operation = step.operation
    if step.a is not None and step.b is not None and step.a != step.b:
        yield "operands exchanged", step._replace(a=step.b, b=step.a)
    if step.b is not None and step.c is not None and step.b != step.c:
        yield "operands exchanged", step._replace(b=step.c, c=step.b)
    if operation in SIBLINGS and _same_form(operation, SIBLINGS[operation]):
        yield "another operation", step._replace(operation=SIBLINGS[operation])
    for name in "abc":
        value = getattr(step, name)
        if value in code.constants:
            near = code.new_value()
            code.constants[near] = (code.constants[value] + random.choice((1, -1))) % (1 << 32)
            yield "another constant", step._replace(**{name: near})
        elif value is not None and known:
            yield "another value", step._replace(**{name: random.choice(known)})
    if kind_of(operation) in ("load", "store"):
        yield "another offset", step._replace(immediate=step.immediate + random.choice((1, 4)))
    if operation in (SET, GET):
        yield "another shared register", step._replace(immediate=step.immediate + 1)


def _same_form(one: str, other: str) -> bool:
    return gives_value(one) == gives_value(other) and (one in "clz ctz popcnt extend8") == (
        other in "clz ctz popcnt extend8 extend16"
    )


def _of_call(block: Block, at: int, call: Call) -> Iterator[Change]:
    arguments, results = call.arguments, call.results
    if len(set(arguments)) > 1:
        turned = (*arguments[1:], arguments[0])
        yield "arguments exchanged", partial(_put, block, at, call._replace(arguments=turned))
    if len(results) > 1:
        turned = (*results[1:], results[0])
        yield "results exchanged", partial(_put, block, at, call._replace(results=turned))
    if not results:
        yield "a call is left out", partial(_leave_out, block, at)


def _of_end(code: Code, block: Block, random: Random) -> Iterator[Change]:
    end = block.end
    for number, edge in enumerate(edges(end)):
        for kind, changed in _changed_edges(code, edge, random):
            given = (*edges(end)[:number], changed, *edges(end)[number + 1 :])
            yield kind, partial(setattr, block, "end", _with_edges(end, given))
    match end:
        case Branch():
            swapped = end._replace(then=end.otherwise, otherwise=end.then)
            yield "ways exchanged", partial(setattr, block, "end", swapped)
            other = end._replace(comparison=SIBLINGS[end.comparison])
            yield "another comparison", partial(setattr, block, "end", other)
            exchanged = end._replace(a=end.b, b=end.a)
            yield "operands exchanged", partial(setattr, block, "end", exchanged)
        case Switch(edges=ways) if len(set(ways)) > 1:
            turned = end._replace(edges=(*ways[1:], ways[0]))
            yield "ways exchanged", partial(setattr, block, "end", turned)
        case Return(values=values) if len(set(values)) > 1:
            back = end._replace(values=(*values[1:], values[0]))
            yield "results exchanged", partial(setattr, block, "end", back)
        case TrapEnd():
            trap = end._replace(number=(end.number + 1) % len(TRAPS))
            yield "another trap", partial(setattr, block, "end", trap)


def _with_edges(end: End, changed: tuple[Edge, ...]) -> End:
    ways = iter(changed)
    return mapped(end, lambda value: value, lambda _: next(ways))


def _changed_edges(code: Code, edge: Edge, random: Random) -> Iterator[tuple[str, Edge]]:
    arguments = edge.arguments
    if len(set(arguments)) > 1:
        yield "arguments of an edge", edge._replace(arguments=(*arguments[1:], arguments[0]))
    if arguments:
        zero = code.new_value()
        code.constants[zero] = 0
        at = random.randrange(len(arguments))
        changed = (*arguments[:at], zero, *arguments[at + 1 :])
        yield "arguments of an edge", edge._replace(arguments=changed)
    others = [
        block.label
        for block in code.blocks.values()
        if len(block.parameters) == len(arguments)
        and block.label != edge.label
        and block is not code.entry
    ]
    if others:
        yield "another label", edge._replace(label=random.choice(others))


def _put(block: Block, at: int, step: Step | Call) -> None:
    block.steps[at] = step


def _leave_out(block: Block, at: int) -> None:
    del block.steps[at]


def _exchange(block: Block, at: int) -> None:
    steps = block.steps
    steps[at - 1], steps[at] = steps[at], steps[at - 1]


assert set(COMPARISONS) <= SIBLINGS.keys()
