"""`curta resume`: going on with a run that was kept."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from curta.app.figures import Report, Shown
from curta.machine.request import LevelName, StandardInput
from curta.options import option, word
from curta.terminal import Screen

__all__ = ["Options", "Report", "run"]


@dataclass(frozen=True)
class Options(Shown, StandardInput):
    """Go on with a run that was kept (curta run --keep), from where its last chapter begins. Output
    that was written before is not repeated: a file gets what it lacks, a terminal or a pipe what
    comes next.

    file:       the kept run
    whole:      write all of the output, also what was written before
    stdin:      a line of further input
    stdin_file: a file with further input
    max_tokens: instead of the limit that it was begun with
    weights:    where the weights of a baked program are now
    extension:  instead of those that it was begun with
    level:      instead of the one that it was begun at
    """

    file: str = word("FILE")
    whole: bool = False
    max_tokens: int | None = None
    weights: str | None = option(None, metavar="FILE")
    extension: tuple[str, ...] = option((), metavar="NAME")
    level: LevelName | None = None


def run(options: Options) -> int:
    """Go on with a kept run."""
    from curta.app.keep import Playing, results_text
    from curta.machine.host import Host
    from curta.machine.kept.file import KeptRun, Kind
    from curta.machine.kept.output import described, output_there, refuse_own_output
    from curta.machine.kept.resume import check_is_of_use, ready_for
    from curta.machine.requested import extensions_of

    screen = Screen()
    with KeptRun.open(options.file, to_write=True) as kept, options.opened() as stdin:
        refuse_own_output(options.file)
        check_is_of_use(kept, options.is_given, options.max_tokens is not None)
        extensions = extensions_of(options.extension or kept.beginning.extensions)
        ready = ready_for(kept, options.level, extensions, options.weights)
        last = b"" if kept.ending is None else results_text(kept, ready)
        there = 0 if options.whole else output_there(kept, last)
        handed = {Kind.OUTPUT: min(there, kept.streams[Kind.OUTPUT].length)}
        if options.whole:
            handed[Kind.ERRORS] = 0
        print("; ".join(described(kept, handed[Kind.OUTPUT])), file=sys.stderr)
        host = Host(stdin, screen.write, screen.write_error, screen.progress)
        more = there - handed[Kind.OUTPUT]
        return Playing(kept, ready, screen, host, handed, more).finish(options, options.max_tokens)
