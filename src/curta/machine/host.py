"""What a program can reach: its input, and who gets what it says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from curta.machine.standard_input import Input

if TYPE_CHECKING:
    from curta.machine.conversation import Conversation, Figures, Page
    from curta.machine.ids import Ids


@dataclass(frozen=True, slots=True)
class Host:
    """What a program can reach: its input, and who gets its output as it comes."""

    stdin: Input = None
    on_stdout: Callable[[bytes], object] | None = None
    on_stderr: Callable[[bytes], object] | None = None
    on_progress: Callable[[Figures], object] | None = None
    on_opening: Callable[[Ids], object] | None = None
    """Gets what opens each chapter, before it is said."""
    on_page: Callable[[Page], object] | None = None
    """Told of every chapter but the first, before it begins."""
    on_tokens: Callable[[Ids], object] | None = None
    """Gets the tokens behind openings, the host's own included."""
    on_start: Callable[[Conversation], object] | None = None

    @property
    def listens(self) -> bool:
        """Whether anybody is called while a program runs."""
        return any(getattr(self, each.name) is not None for each in fields(self)[1:])
