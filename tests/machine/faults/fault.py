"""A fault: one mistake, planted in the lowering or in what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field

from curta.machine.core_program import CoreProgram

Planted = Callable[[], AbstractContextManager[object]]


class MismatchError(Exception):
    """The fault has no place to be planted in this program."""


def same(core: CoreProgram) -> CoreProgram:
    return core


@dataclass(frozen=True)
class Fault:
    """`planted` holds while programs are lowered, `change` is done to what comes out. `programs`
    are those that it can change; None is all of them.
    """

    kind: str
    name: str
    planted: Planted = field(default=nullcontext)
    change: Callable[[CoreProgram], CoreProgram] = same
    programs: frozenset[str] | None = None

    def may_change(self, program: str) -> bool:
        return self.programs is None or program in self.programs

    def __str__(self) -> str:
        return f"{self.kind}: {self.name}"


@contextmanager
def replaced_attribute(owner: object, name: str, value: object) -> Iterator[None]:
    """Something else under this name for a while."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
