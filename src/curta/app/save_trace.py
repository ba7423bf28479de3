"""`--save-trace FILE`: what a run said, for checkers that have nothing of curta."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from curta.errors import UserError
from curta.options import option

SUFFIX = ".safetensors"


@dataclass(frozen=True)
class SaveTrace:
    """Where what is said is written down.

    save_trace: write the tokens, and who said each of them, to a file that can be checked without
                curta (docs/model-file.md)
    """

    save_trace: str | None = option(None, metavar="FILE.safetensors")

    def check_save_trace(self, level: str, files: Sequence[str] = ()) -> None:
        """Refuse before the run what could not be written after it."""
        if self.save_trace is None:
            return
        path = Path(self.save_trace)
        if level == "reference":
            raise UserError("--save-trace: level 'reference' has no weights; take another level")
        check_model_file("--save-trace", path)
        if any(Path(name).absolute() == path.absolute() for name in files):
            raise UserError(
                f"--save-trace {path}: that is the program itself; choose another place"
            )


def check_model_file(option: str, path: Path) -> None:
    """A file that is about to be written, long before it is."""
    if path.suffix.lower() != SUFFIX:
        raise UserError(f"{option} {path}: the name of this file ends in {SUFFIX}")
    if not path.absolute().parent.is_dir():
        raise UserError(f"cannot write {path}: there is no such folder; choose another place")
