"""From a request to a run that is kept, or to one that was."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from curta.errors import UserError
from curta.machine.conversation import Conversation, ConversationLimits
from curta.machine.extensions import Extension
from curta.machine.host import Host
from curta.machine.instance import Instance
from curta.machine.kept.file import KeptRun
from curta.machine.kept.journal import is_journal
from curta.machine.kept.keeping import (
    Ready,
    create,
    library_invocations,
    play,
    run_invocations,
)
from curta.machine.kept.resume import ready_for
from curta.machine.machine import Machine
from curta.machine.request import Request
from curta.machine.requested import extensions_of, given, machine_of, numbers, run_options, told
from curta.machine.run import RunOptions, host_of, program_name
from curta.terminal import Screen

if TYPE_CHECKING:
    from curta.machine.requested import SomeMachine


def ready(request: Request, machine: SomeMachine, options: RunOptions) -> tuple[Ready, str]:
    """All that it takes to begin a run that is kept, and what the program is called."""
    if isinstance(machine, Machine):
        library = request.invoke is not None
        made = machine.ready(request.program, library=library, **options)
        name = program_name(request.program)
    else:
        made, name = machine.ready(), machine.name
    return replace(made, extensions=request.extension), name


def keep(
    request: Request,
    machine: SomeMachine,
    path: str | Path,
    options: RunOptions,
    *,
    keeps_tokens: bool = False,
    output: tuple[int, int, int] | None = None,
) -> tuple[KeptRun, Ready]:
    """The file for a run that is about to begin, and what it begins with."""
    made, name = ready(request, machine, options)
    if request.invoke is None:
        invoked = run_invocations(made.program)
    else:
        instance = Instance(Conversation(made.talker, made.program, Host(), ConversationLimits()))
        _, patterns = instance.patterns(request.invoke, numbers(request, instance))
        invoked = library_invocations(made.program, request.invoke, patterns)
    kept = create(path, made, name, options, invoked, keeps_tokens=keeps_tokens, output=output)
    return kept, made


@contextmanager
def kept_run(
    request: Request, weights: str | None, screen: Screen
) -> Iterator[tuple[KeptRun, Ready, Sequence[Extension]]]:
    """A run to be verified: one that was kept, or one that is made now, and kept as long."""
    path = request.program[0]
    if is_journal(path):
        refuse_what_is_decided(request)
        with KeptRun.open(path) as kept:
            names = request.extension or kept.beginning.extensions
            extensions = extensions_of(names)
            again = ready_for(kept, "native", extensions, weights)
            yield kept, replace(again, extensions=names), extensions
        return
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        path = os.path.join(folder, "run.curta")
        with request.opened() as stdin:
            machine = machine_of(request, "native", screen)
            options = run_options(request, stdin) | told(screen)
            kept, made = keep(request, machine, path, options)
            with kept:
                play(kept, made, host_of(options))
        with KeptRun.open(path) as kept:
            yield kept, made, extensions_of(request.extension)


def refuse_what_is_decided(request: Request) -> None:
    """What was said when a kept run was begun is not said again."""
    decided = ("invoke", "stdin", "stdin_file", "env", "seed", "max_memory", "cflags")
    words = [*given(request, *decided), *request.program[1:], *request.arguments]
    if words:
        raise UserError(
            f"{' '.join(words)}: {request.program[0]} is a run that was kept, and that was decided "
            "when it was begun; leave it out"
        )
