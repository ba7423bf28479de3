"""`--save-trace FILE`: what a run said, for checkers that have nothing of curta."""

from __future__ import annotations

import argparse
from pathlib import Path

from curta.errors import UserError


def add_save_trace(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--save-trace",
        metavar="FILE.safetensors",
        help="write the tokens, and who said each of them, to a file that can be checked without "
        "curta (docs/model-file.md)",
    )


def check_save_trace(options: argparse.Namespace) -> None:
    """Refuse before the run what could not be written after it."""
    if options.save_trace is None:
        return
    path = Path(options.save_trace)
    if options.level == "reference":
        raise UserError("--save-trace: level 'reference' has no weights; take another level")
    if path.suffix.lower() != ".safetensors":
        raise UserError(f"--save-trace {path}: the name of a trace file ends in .safetensors")
    if not path.absolute().parent.is_dir():
        raise UserError(f"cannot write {path}: there is no such folder; choose another place")
    if any(Path(name).absolute() == path.absolute() for name in getattr(options, "program", [])):
        raise UserError(f"--save-trace {path}: that is the program itself; choose another place")
