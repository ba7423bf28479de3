"""The markers that an adapter writes calls with, and those of them that are tokens of their own.

They are kept beside the adapter, so that whoever loads it need not be told. A marker that the
vocabulary has already stays as it was trained; one that it has not gets the mean of all rows that
there were, and is trained from there.
"""

from __future__ import annotations

import copy
import dataclasses
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from curta.delegate.interception.protocol import Protocol
from curta.errors import DataError

FILE = "curta.json"
VERSION = 1


@dataclass(frozen=True)
class Markers:
    """How calls are written.

    tokens:     markers that are one token, and their numbers
    vocabulary: the tokens that there were before; those from here on are trained
    """

    protocol: Protocol = field(default_factory=Protocol)
    tokens: dict[str, int] = field(default_factory=dict)
    vocabulary: int = 0

    @property
    def new(self) -> list[int]:
        """The tokens that the vocabulary did not have."""
        return sorted({number for number in self.tokens.values() if number >= self.vocabulary})


def as_tokens(tokenizer: Any, protocol: Protocol) -> tuple[Any, Markers]:
    """A tokenizer with the markers as tokens of their own; the one that is given stays."""
    from tokenizers import AddedToken

    vocabulary = len(tokenizer)
    widened = copy.deepcopy(tokenizer)
    written = [protocol.open, protocol.close]
    widened.add_tokens([AddedToken(one, normalized=False, special=False) for one in written])
    tokens = {one: int(widened.convert_tokens_to_ids(one)) for one in written}
    return widened, Markers(protocol, tokens, vocabulary)


def make_room(model: Any, markers: Markers) -> None:
    """Rows for new tokens: the mean of those of the old vocabulary, in and out."""
    if not markers.new:
        return
    rows = model.get_input_embeddings().weight.shape[0]
    if markers.new[-1] >= rows:
        model.resize_token_embeddings(markers.new[-1] + 1, mean_resizing=False)
    ends = [model.get_input_embeddings(), model.get_output_embeddings()]
    with torch.no_grad():
        for weight in {id(end.weight): end.weight for end in ends if end is not None}.values():
            mean = weight[: markers.vocabulary].float().mean(dim=0)
            weight[markers.new] = mean.to(weight.dtype)


def trained_rows(model: Any, markers: Markers) -> dict[str, list[int]] | None:
    """For PEFT: the layers whose rows of new tokens are trained; a tied head follows by itself."""
    if not markers.new:
        return None
    ends = [model.get_input_embeddings()]
    head = model.get_output_embeddings()
    if head is not None and head.weight is not ends[0].weight:
        ends.append(head)
    names = [name for name, one in model.named_modules() if any(one is end for end in ends)]
    return dict.fromkeys(names, markers.new)


def write_markers(markers: Markers, folder: Path) -> None:
    """Beside an adapter."""
    text = json.dumps({"version": VERSION, **dataclasses.asdict(markers)}, indent=2)
    (folder / FILE).write_text(text + "\n", encoding="utf-8")


def read_markers(folder: Path) -> Markers:
    """Those of an adapter; the usual ones if nothing stands beside it."""
    file = folder / FILE
    if not file.is_file():
        return Markers()
    try:
        held = json.loads(file.read_text(encoding="utf-8"))
        if held.pop("version") != VERSION:
            raise DataError(f"{file} is of another version of curta: train the adapter again")
        return Markers(Protocol(**held["protocol"]), held["tokens"], held["vocabulary"])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(f"{file}: not what stands beside an adapter ({error})") from error


def prepared(model: Any, tokenizer: Any, markers: Markers) -> Any:
    """The tokenizer that an adapter was trained with; the model gets room for its tokens."""
    if not markers.tokens:
        return tokenizer
    widened, made = as_tokens(tokenizer, markers.protocol)
    if made.tokens != markers.tokens or made.vocabulary != markers.vocabulary:
        raise DataError(
            f"the adapter's tokens are {markers.tokens}, this tokenizer would have {made.tokens}: "
            "choose the model that the adapter was trained on with --model"
        )
    make_room(model, made)
    return widened
