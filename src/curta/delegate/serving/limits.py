"""How much a server takes on, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from curta.delegate.checked import Checked, Count, Natural, Positive


@dataclass(frozen=True)
class Limits(Checked):
    """What a server allows.

    most_tokens: written for one choice, answers of calls included
    time_limit:  seconds from a request's arrival to its end
    queue:       choices that may wait for a row
    batch:       choices that are written at once
    most_bytes:  of a request's body
    prompt_step: tokens of prompts that are read between two steps of the running answers
    tools_at_once: calls of tools that are executed at a time
    """

    most_tokens: Count = 1024
    time_limit: Positive = 120.0
    queue: Natural = 64
    batch: Count = 16
    most_bytes: Count = 1 << 20
    prompt_step: Count = 512
    tools_at_once: Count = 2
