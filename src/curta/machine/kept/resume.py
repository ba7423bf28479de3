"""Going on with a run that was kept: the same machine and the same program, found again."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Unpack

from curta import __version__
from curta.errors import FileError, UserError
from curta.machine.bake import load_baked
from curta.machine.extensions import find_extension
from curta.machine.kept.file import KeptRun
from curta.machine.kept.keeping import Ready, kept_run, play
from curta.machine.machine import Machine
from curta.machine.parts.operations import Extension
from curta.machine.run import MACHINE_LEVELS, MachineLevel, Run, TalkOptions, check_options, host_of

ASKED_AGAIN = ("stdin", "on_stdout", "on_stderr", "on_progress", "max_tokens")
"""Options that mean something when a run goes on."""


def resume(
    path: str | Path,
    *,
    level: MachineLevel | None = None,
    extensions: Sequence[Extension] | None = None,
    weights: str | Path | None = None,
    **options: Unpack[TalkOptions],
) -> Run:
    """Go on with a run that was kept, from its last page to its end.

    Input, if the run did not keep all of it before it began, goes on with `stdin` (bytes or a file)
    and ends with it. The level is the
    one that it was begun at, unless another one is given; `weights` is where its weights are, if
    they were moved.
    """
    check_options(options, TalkOptions)
    for name in options:
        if name not in ASKED_AGAIN:
            raise UserError(f"{name}: that was decided when the run was begun")
    with KeptRun.open(path, to_write=True) as kept:
        check_is_of_use(kept, "stdin" in options, "max_tokens" in options)
        ready = ready_for(kept, level, extensions, weights)
        limit = options.get("max_tokens")
        return kept_run(kept, ready, play(kept, ready, host_of(options), max_tokens=limit))


def check_is_of_use(kept: KeptRun, stdin: bool, max_tokens: bool) -> None:
    """Nothing is given that would mean nothing."""
    if kept.input_ended and stdin:
        raise UserError(f"{kept.path} has all of the run's input: give no more (stdin)")
    if kept.ending is not None and (stdin or max_tokens):
        given = "stdin" if stdin else "max_tokens"
        raise UserError(f"{kept.path} is at its end already: leave {given} out")


def ready_for(
    kept: KeptRun,
    level: MachineLevel | None = None,
    extensions: Sequence[Extension] | None = None,
    weights: str | Path | None = None,
) -> Ready:
    """The machine and the program of a kept run; a FileError if these are not there any more."""
    beginning = kept.beginning
    chosen = level or _level(kept)
    if extensions is None:
        extensions = [find_extension(name) for name in beginning.extensions]
    if beginning.weights is None:
        if weights is not None:
            raise UserError(f"{kept.path} has its program in it: leave the weights ({weights}) out")
        machine = Machine(chosen, extensions=extensions)
        ready = machine.ready(
            beginning.module, max_memory=beginning.max_memory, prove=beginning.proved
        )
    else:
        ready = _from_weights(kept, chosen, extensions, weights)
    remedy = "go on with the one that kept it"
    if ready.weights is not None:
        remedy = (
            f"its program was in {beginning.weights}, and {ready.weights} has another one; say "
            "where it is now with weights=... (--weights)"
        )
    for what, there, here in (
        ("machine", beginning.machine, ready.machine),
        ("lowering", beginning.program, ready.digest),
    ):
        if there != here:
            raise FileError(
                f"{kept.path} was kept by another machine: its {what} is {there[:12]}, this one's "
                f"{here[:12]} (curta {beginning.curta} kept it, this is {__version__}); {remedy}"
            )
    for invocation in beginning.invocations:
        if invocation.name not in ready.program.entries:
            raise FileError(f"{kept.path}: its program has no function {invocation.name!r}")
    return ready


def _level(kept: KeptRun) -> MachineLevel:
    for level in MACHINE_LEVELS:
        if level == kept.beginning.level:
            return level
    raise FileError(f"{kept.path} was begun at a level {kept.beginning.level!r} that there is not")


def _from_weights(
    kept: KeptRun,
    level: MachineLevel,
    extensions: Sequence[Extension],
    weights: str | Path | None,
) -> Ready:
    path = Path(weights or kept.beginning.weights or "")
    if not path.is_file():
        raise FileError(
            f"{kept.path} goes on with the weights {path}, and there is no such file; say where "
            "they are with weights=... (--weights)"
        )
    said = extensions if level == "reference" else ()
    return load_baked(path, level, said, prove=kept.beginning.proved).ready()
