"""Calls whose answers nobody waits for any more: whoever executes one looks now and then."""

from __future__ import annotations

from contextvars import ContextVar
from threading import Event

from curta.errors import ToolError

GIVEN_UP: ContextVar[Event | None] = ContextVar("GIVEN_UP", default=None)
"""Set where nobody waits for the answer of the call that is being executed."""


def is_given_up() -> bool:
    """Whether the call that is executed here should end."""
    event = GIVEN_UP.get()
    return event is not None and event.is_set()


def nobody_waits() -> ToolError:
    """What such a call comes to; nobody will read it."""
    return ToolError("nobody waits for the call any more", "given up")


def check_given_up() -> None:
    """End the call that is executed here, if it should."""
    if is_given_up():
        raise nobody_waits()
