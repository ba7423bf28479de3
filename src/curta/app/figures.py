"""How a run of a program went: as a line for people, or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from curta.errors import ProgramError, Trap
from curta.terminal import AsJson, write_json

if TYPE_CHECKING:
    from curta.machine.conversation import Figures


@dataclass(frozen=True)
class Shown(AsJson):
    """What is said about a run, on the standard error.

    stats: the figures; --json is the same as --stats json
    """

    stats: Literal["text", "json", "none"] = "text"

    def tell(self, line: str, report: Any) -> None:
        """The figures, as they are asked for; there may be no line of them."""
        if self.json or self.stats == "json":
            write_json(report, sys.stderr)
        elif self.stats == "text" and line:
            print(line, file=sys.stderr)


@dataclass(frozen=True)
class Report:
    """The figures of a run.

    level:             who said it
    prompt_tokens:     those that open chapters: the program, and what state there is
    tokens:            all of the conversation
    chapters:          that it has
    core_instructions: that were executed
    seconds:           of reading and generating, without waiting for input
    tokens_per_second, core_instructions_per_second: in these seconds
    memory_bytes:      of the state and what is kept of the conversation
    placed_tokens:     said by code that knows the program
    elapsed_seconds:   from beginning to end, compiling included
    exit_code:         of the program; 1 if it failed
    failure:           the trap or the error that it ended with
    """

    level: str
    prompt_tokens: int
    tokens: int
    chapters: int
    core_instructions: int
    seconds: float
    tokens_per_second: float
    core_instructions_per_second: float
    memory_bytes: int
    placed_tokens: int
    elapsed_seconds: float
    exit_code: int
    failure: str | None


def tell_end(
    shown: Shown,
    level: str,
    figures: Figures | None,
    elapsed: float,
    code: int,
    failure: ProgramError | None,
    hint: str = "",
    calls: Sequence[str] = (),
) -> int:
    """Say how a run ended, and who had called whom; the exit code of the process."""
    if failure is not None:
        what = "trap" if isinstance(failure, Trap) else "curta"
        print(f"{what}: {failure}{hint}", file=sys.stderr)
        for line in calls:
            print(f"  {line}", file=sys.stderr)
    from curta.machine.conversation import Figures

    figures = figures or Figures()
    seconds = max(figures.seconds, 1e-9)
    report = Report(
        level,
        figures.prompt_tokens,
        figures.tokens,
        figures.chapters,
        figures.instructions,
        figures.seconds,
        figures.tokens / seconds,
        figures.instructions / seconds,
        figures.memory_bytes,
        figures.placed,
        elapsed,
        code,
        None if failure is None else str(failure),
    )
    shown.tell(str(figures) if figures.tokens else "", report)
    return code & 0xFF
