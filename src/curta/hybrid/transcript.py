"""What was written in answer to a prompt, whole: one stream of tokens of the joint vocabulary.

It is all that `verify` needs, in this process or in another one, and is kept in one file.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from curta.errors import FileError
from curta.hybrid.vocabulary import JointIds

FORMAT = "1"
TENSORS = ("prompt", "ids", "choices")


@dataclass(frozen=True)
class Transcript:
    """
    prompt:   tokens of the language model's
    ids:      the stream behind it
    choices:  what the language model chose: its tokens in the stream, but for answers, and for a
              token whose first part ended a call
    given:    so many of these were the user's
    room:     for how many tokens there was room
    likeliest: whether choices are; others were drawn, or shaped by penalties and the like
    modules:  that the model had, in their order
    text:     what people read
    """

    prompt: JointIds
    ids: JointIds = field(repr=False)
    choices: JointIds = field(repr=False)
    given: int
    room: int
    likeliest: bool
    modules: tuple[str, ...]
    text: str

    def save(self, path: str | Path) -> None:
        """Write it to a file."""
        about = dict(vars(self))
        tensors = {name: about.pop(name) for name in TENSORS}
        written = json.dumps({"format": FORMAT} | about)
        save_file(tensors, str(path), {"curta_transcript": written})

    @classmethod
    def load(cls, path: str | Path) -> Transcript:
        """The inverse; a `FileError` if it is no such file."""
        try:
            with safe_open(str(path), "numpy") as file:
                about = json.loads((file.metadata() or {})["curta_transcript"])
                tensors = {name: file.get_tensor(name) for name in TENSORS}
            counts = (about["given"], about["room"])
            if any(each.ndim != 1 for each in tensors.values()) or {*map(type, counts)} != {int}:
                raise ValueError("not rows of tokens, and their counts")
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise FileError(f"{path} is no transcript ({error})") from error
        if about.pop("format") != FORMAT:
            raise FileError(f"{path}: a transcript of another version of curta")
        arrays = {name: value.astype(np.int64) for name, value in tensors.items()}
        return cls(**arrays, **about | {"modules": tuple(about["modules"])})
