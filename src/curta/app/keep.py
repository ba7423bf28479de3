"""Runs that can be ended at any time: how they begin, and how they go on to their end."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from curta.app.entry import INTERRUPTED
from curta.app.figures import tell_end
from curta.errors import LimitError, ProgramError, Trap, UserError
from curta.machine import requested
from curta.machine.host import Host
from curta.machine.kept.file import KeptRun
from curta.machine.kept.journal import command
from curta.machine.kept.keeping import Handed, Ready, figures, play, results
from curta.machine.kept.output import output_file, refuse_own_output
from curta.machine.kept.requested import keep
from curta.machine.run import host_of
from curta.machine.standard_input import Input
from curta.terminal import Screen

if TYPE_CHECKING:
    from curta.app.figures import Shown
    from curta.app.run import Options


def run_and_keep(options: Options, stdin: Input) -> int:
    """Begin a run that is kept."""
    if options.trace:
        raise UserError("--trace shows a run, --keep keeps it: give one of them")
    if options.save_trace is not None:
        raise UserError("--save-trace with --keep: a kept run has its tokens with --keep-tokens")
    if not options.keep:
        raise UserError("--keep: give the file that the run is to be kept in a name")
    screen = Screen()
    refuse_own_output(options.keep)
    machine = requested.machine_of(options, options.level, screen)
    settings = requested.run_options(options, stdin) | requested.told(screen)
    screen.draw("keeping the input")
    kept, ready = keep(
        options,
        machine,
        options.keep,
        settings,
        keeps_tokens=options.keep_tokens,
        output=output_file(),
    )
    with kept:
        return Playing(kept, ready, screen, host_of(settings)).finish(options, options.max_tokens)


@dataclass
class Playing:
    """A kept run that is about to go on.

    handed:        how much of its output was handed on before
    results_there: how many bytes of its results are behind that already
    """

    kept: KeptRun
    ready: Ready
    screen: Screen
    host: Host
    handed: Handed | None = None
    results_there: int = 0

    def finish(self, shown: Shown, max_tokens: int | None) -> int:
        """Bring the run to its end, and say how it ended."""
        kept, screen = self.kept, self.screen
        started = time.perf_counter()
        failure: ProgramError | None = None
        code, reached = 1, None
        try:
            ending = play(kept, self.ready, self.host, handed=self.handed, max_tokens=max_tokens)
            code, reached = ending.code or 0, figures(ending)
            if ending.code is None:
                code, failure = 1, Trap(*ending.trap)
            if last := results_text(kept, self.ready)[self.results_there :]:
                screen.write(last)
        except ProgramError as error:
            failure = error
        except BrokenPipeError:
            raise
        except OSError as error:  # of the output: those of the file are the file's
            failure = ProgramError(f"the output cannot be written: {error.strerror}")
        except KeyboardInterrupt:
            screen.clear()
            print(f"curta: interrupted; {how_to_go_on(kept)}", file=sys.stderr)
            return INTERRUPTED
        screen.clear()
        elapsed = time.perf_counter() - started
        hint = ""
        if failure is not None and not isinstance(failure, Trap):
            limit = max_tokens or kept.beginning.max_tokens
            more = 2 * limit if limit is not None and isinstance(failure, LimitError) else None
            hint = f"; {how_to_go_on(kept, more)}"
        level, reached = self.ready.level, reached or screen.reached
        return tell_end(shown, level, reached, elapsed, code, failure, hint)


def how_to_go_on(kept: KeptRun, max_tokens: int | None = None) -> str:
    more = "" if max_tokens is None else f" --max-tokens {max_tokens}"
    resume = command("resume", kept.path) + more
    return f"kept up to {kept.state}: `{resume}` goes on from there"


def results_text(kept: KeptRun, ready: Ready) -> bytes:
    """What a function that was invoked returned, as it is written behind the output."""
    return "".join(f"{line}\n" for line in results(kept, ready)).encode()
