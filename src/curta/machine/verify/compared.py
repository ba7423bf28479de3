"""What a verification found to be the same."""

from __future__ import annotations

from dataclasses import dataclass

from curta.machine.request import ReplayLevel


@dataclass(frozen=True, slots=True)
class Compared:
    """Tokens that another level of the engine says, too.

    level:    which one
    chapters: of the run that it read
    parts:    that it read them in
    tokens:   that it read, openings of parts included
    said:     tokens of the run among them, openings not included
    spoken:   those of them that the machine said, not its host: they were compared
    seconds:  that it took
    """

    level: ReplayLevel
    chapters: int
    parts: int
    tokens: int
    said: int
    spoken: int
    seconds: float
