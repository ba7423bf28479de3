"""A conversation as a trace file: every chapter is a sequence, which its opening begins."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np

from curta.engine.trace_file import save_trace
from curta.errors import UserError
from curta.machine.conversation import Conversation
from curta.machine.verify.chapters import spoken_by_machine


def save_conversation(path: str | Path, conversation: Conversation, note: str = "") -> None:
    """Write what was said so far, however the run ended."""
    engine, chapters = conversation.talker.engine, conversation.chapters
    if engine is None:
        raise UserError("level 'reference' has no weights to save a trace of; take another level")
    if not conversation.limits.keep_trace:
        raise UserError("the tokens of this run were not kept: run it with keep_trace=True")
    if not chapters:
        raise UserError("nothing was said in this run yet, so there is no trace of it")
    ids = conversation.trace.ids
    ends = [*(chapter.start for chapter in chapters), len(ids)]
    spoken = [
        spoken_by_machine(ids[start:end], chapter.opening)
        for chapter, (start, end) in zip(chapters, pairwise(ends), strict=True)
    ]
    save_trace(path, engine, ids, ~np.concatenate(spoken), ends[:-1], note)
