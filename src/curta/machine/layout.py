"""Where lowered programs keep things: the private memory, and registers that all frames share.

Addresses are those of `peek` and `poke`; a `Segment` that fills them adds PRIVATE to them. The host
gives a program its arguments, its environment and the seed of its randomness by segments that it
appends to the conversation before it invokes anything (`host_segments`).
"""

from __future__ import annotations

from collections.abc import Sequence

from curta.machine.core_program import PRIVATE, Segment
from curta.machine.instructions import FIRST_GLOBAL, WORD

STATE = 0x0000_0000
"""Words that WASI keeps from call to call, at STATE + 4 * number; number 0 is the seed."""
STATE_SEED = STATE
ARGUMENTS_LENGTH = 0x0000_0100
"""A word: how many bytes lie at ARGUMENTS. Every argument is ended by a zero byte."""
ENVIRONMENT_LENGTH = 0x0000_0104
"""The same for ENVIRONMENT: NAME=VALUE, each ended by a zero byte."""
ARGUMENTS = 0x1000_0000
ENVIRONMENT = 0x2000_0000
TABLE = 0x4000_0000
"""The table, ENTRY_BYTES to an element: the number of its signature + 1, or 0 for null; and the
number of its first instruction."""
ELEMENTS = 0x6000_0000
"""Passive element segments, one after another, in the same form."""
DATA = 0x8000_0000
"""Passive data segments, one after another."""
ENTRY_BYTES = 8
MOST_TABLE_ELEMENTS = (ELEMENTS - TABLE) // ENTRY_BYTES

SCRATCH = FIRST_GLOBAL
"""A register whose words are said only to be heard: results, exit codes, numbers of entries."""
FIRST_FREE = FIRST_GLOBAL + 1
"""From here on: the module's globals, lengths of passive segments, constants."""


def host_segments(
    arguments: Sequence[bytes] = (), environment: Sequence[bytes] = (), seed: int | None = None
) -> tuple[Segment, ...]:
    """What the host appends for a run. Environment entries are NAME=VALUE."""
    segments = []
    for strings, length, place in (
        (arguments, ARGUMENTS_LENGTH, ARGUMENTS),
        (environment, ENVIRONMENT_LENGTH, ENVIRONMENT),
    ):
        content = b"".join(string + b"\0" for string in strings)
        if content:
            segments.append(Segment(PRIVATE + length, len(content).to_bytes(4, "little")))
            segments.append(Segment(PRIVATE + place, content))
    if seed is not None:
        segments.append(Segment(PRIVATE + STATE_SEED, (seed % WORD).to_bytes(4, "little")))
    return tuple(segments)
