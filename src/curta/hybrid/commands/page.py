"""`curta hybrid page`: a transcript to be looked at."""

from __future__ import annotations

import webbrowser
from dataclasses import dataclass
from pathlib import Path

from curta.hybrid.options import Joint
from curta.options import option, word


@dataclass(frozen=True)
class Options(Joint):
    """Write a page in which a transcript that `curta hybrid ask --keep` wrote can be looked at: the
    language model's tokens with what else they might have been, and every token of modules. The
    model is named as it was then: --model, --module.

    transcript: the file
    output:     where the page goes (beside the transcript, and a browser opens it)
    """

    transcript: str = word("FILE")
    output: str | None = option(None, short="-o", metavar="OUT")


def run(options: Options) -> int:
    """The page."""
    from curta.explore.explore import write
    from curta.hybrid.page import page_of
    from curta.hybrid.transcript import Transcript

    transcript = Transcript.load(options.transcript)
    path = Path(options.output or f"{options.transcript}.html")
    write(path, page_of(options.joint_model(), transcript))
    print(path)
    if options.output is None:
        webbrowser.open(path.resolve().as_uri())
    return 0
