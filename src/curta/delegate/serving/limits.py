"""How much a server takes on, in one place."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from curta.errors import UserError


@dataclass(frozen=True)
class Limits:
    """What a server allows.

    most_tokens: written for one choice, answers of calls included
    time_limit:  seconds from a request's arrival to its end
    queue:       choices that may wait for a row
    batch:       choices that are written at once
    most_bytes:  of a request's body
    prompt_step: tokens of prompts that are read between two steps of the running answers
    tools_at_once: calls of tools that are executed at a time
    """

    most_tokens: int = 1024
    time_limit: float = 120.0
    queue: int = 64
    batch: int = 16
    most_bytes: int = 1 << 20
    prompt_step: int = 512
    tools_at_once: int = 2

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            lowest = 0 if field.name == "queue" else 1
            option = f"--{field.name.replace('_', '-')}"
            if field.name == "time_limit":
                if not 0 < value < math.inf:
                    raise UserError(f"{option} {value}: must be above 0, and finite")
            elif value < lowest:
                raise UserError(f"{option} {value}: must be {lowest} or more")
