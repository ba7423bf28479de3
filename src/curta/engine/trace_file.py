"""Traces as files: what was said in a run, for anybody to check (docs/model-file.md).

A trace file has the tokens, which of them were given to the model, and where sequences begin; and
the digest of the model that said the others. Who has both files needs nothing of curta to find
out whether that is true.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from curta.engine.base import Engine
from curta.errors import FileError

if TYPE_CHECKING:
    from curta.compiler.model import Model

FORMAT = "trace 1"
REMEDY = "make it again with --save-trace"
TYPES = {"tokens": ("int32", "I32"), "given": ("uint8", "U8"), "starts": ("int64", "I64")}
"""What NumPy and safetensors call the numbers of every tensor."""


@dataclass(frozen=True, slots=True, repr=False)
class SavedTrace:
    """One or several sequences, one after another, and who said what."""

    tokens: npt.NDArray[np.int32]
    given: npt.NDArray[np.uint8]
    """1 where the token was given to the model, 0 where the model said it."""
    starts: npt.NDArray[np.int64]
    """Where sequences begin: the model reads each from position 0."""
    model: str
    """The digest of the model that said the others (`model_digest`)."""
    note: str = ""
    """What was run, for people."""

    def __repr__(self) -> str:
        said = len(self.given) - int(self.given.sum())
        return f"<SavedTrace of {len(self.tokens):,} tokens, {said:,} of them said by the model>"


def save_trace(
    path: str | Path,
    model: Model | Engine,
    tokens: npt.ArrayLike,
    given: npt.ArrayLike,
    starts: Sequence[int] = (0,),
    note: str = "",
) -> SavedTrace:
    """Write a trace of this model, or of that of an engine; a FileError if it cannot be one."""
    import safetensors.numpy

    from curta.compiler.model import model_digest

    if isinstance(model, Engine):
        digest, stops = model.digest, model.stops
    else:
        digest, stops = model_digest(model), frozenset(model.plan["stops"])
    parts = {"tokens": tokens, "given": given, "starts": starts}
    arrays = {name: integers(str(path), name, values) for name, values in parts.items()}
    written = note.encode(errors="backslashreplace").decode()
    trace = SavedTrace(**arrays, model=digest, note=written)
    check(str(path), trace)
    check_turns(str(path), trace, len(model.vocabulary), stops)
    metadata = {"curta": FORMAT, "model": trace.model, "note": trace.note}
    try:
        Path(path).write_bytes(safetensors.numpy.save(arrays, metadata=metadata))
    except OSError as error:
        raise FileError(f"cannot write {path}: {error.strerror}; choose another place") from error
    return trace


def integers(path: str, name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    """A list of numbers as the file has it."""
    array = np.asarray(values)
    found = array.astype(TYPES[name][0], casting="unsafe")
    if array.ndim != 1 or array.dtype.kind not in "biu" or not np.array_equal(found, array):
        raise FileError(f"{path}: {name} has to be a list of numbers that {TYPES[name][0]} holds")
    return found


def load_trace(path: str | Path, model: Model | None = None) -> SavedTrace:
    """Read and check a trace file; if the model is given, that the trace can be one of it."""
    from curta.compiler.model import model_digest, reading

    with reading(path, "curta run --save-trace") as file:
        metadata: dict[str, str] = file.metadata() or {}
        tensors = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        check_metadata(str(path), metadata)
        check_tensors(str(path), tensors)
        arrays = {name: file.get_tensor(name) for name in TYPES}
    trace = SavedTrace(**arrays, model=metadata["model"], note=metadata.get("note", ""))
    check(str(path), trace)
    if model is not None:
        if trace.model != model_digest(model):
            raise FileError(f"{path}: a trace of another model; give it the file that said it")
        stops = frozenset(model.plan["stops"])
        check_turns(str(path), trace, len(model.vocabulary), stops)
    return trace


def check_metadata(path: str, metadata: Mapping[str, str]) -> None:
    """It is a trace, of this version, and says of which weights."""
    kind = metadata.get("curta", "")
    if not kind.startswith("trace "):
        raise FileError(f"{path}: a safetensors file, but no trace; {REMEDY}")
    if kind != FORMAT:
        raise FileError(
            f"{path}: a {kind[:40]!r}, this curta reads {FORMAT!r}; {REMEDY}, or install the curta "
            "that wrote it"
        )
    if not re.fullmatch("[0-9a-f]{64}", metadata.get("model", "")):
        raise FileError(f"{path}: 'model' is no digest of 64 hexadecimal digits; {REMEDY}")


def check_tensors(path: str, tensors: Mapping[str, Any]) -> None:
    """The tensors are those of a trace, by name, type and dimensions."""
    for name in sorted(tensors.keys() ^ TYPES.keys()):
        what = "is missing" if name in TYPES else "does not belong in a trace"
        raise FileError(f"{path}: tensor {name} {what}; {REMEDY}")
    for name, (_, kind) in TYPES.items():
        found, shape = tensors[name].get_dtype(), tuple(tensors[name].get_shape())
        if found != kind or len(shape) != 1:
            raise FileError(
                f"{path}: tensor {name} is {found} of shape {shape}, expected {kind} of one "
                f"dimension; {REMEDY}"
            )


def check(path: str, trace: SavedTrace) -> None:
    """The numbers go together."""
    count, starts = len(trace.tokens), trace.starts
    wrong = ""
    if count == 0:
        wrong = "there are no tokens"
    elif len(trace.given) != count:
        wrong = f"{count:,} tokens, but given has {len(trace.given):,} entries"
    elif (trace.tokens < 0).any():
        wrong = "a token is negative"
    elif (trace.given > 1).any():
        wrong = "given has an entry that is neither 0 nor 1"
    elif len(starts) == 0 or starts[0] != 0:
        wrong = "the first sequence does not start at 0"
    elif (np.diff(starts) <= 0).any() or starts[-1] >= count:
        wrong = f"starts do not ascend within the {count:,} tokens"
    elif not trace.given[starts].all():
        wrong = "a sequence begins with a token that nobody gave"
    if wrong:
        raise FileError(f"{path}: {wrong}; {REMEDY}")


def check_turns(path: str, trace: SavedTrace, size: int, stops: Set[int]) -> None:
    """The tokens are of so many that the model has, and some were given only where it asks."""
    if (trace.tokens >= size).any():
        raise FileError(f"{path}: a token beyond the {size:,} that the model has; {REMEDY}")
    given = trace.given.astype(bool)
    places = np.flatnonzero(given[1:] & ~given[:-1]) + 1
    places = np.setdiff1d(places, trace.starts)
    uncalled = places[~np.isin(trace.tokens[places - 1], [*stops])]
    if len(uncalled):
        raise FileError(
            f"{path}: token {int(uncalled[0]):,} was given where the model had not stopped; "
            f"{REMEDY}"
        )
