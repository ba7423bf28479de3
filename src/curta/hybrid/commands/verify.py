"""`curta hybrid verify`: is every token of a transcript the one that has to be there?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from curta.errors import UserError
from curta.hybrid.options import Joint
from curta.options import option, word

STEPS = 1000


@dataclass(frozen=True)
class Options(Joint):
    """Check a transcript that `curta hybrid ask --keep` wrote, by forward passes of the model that
    wrote it, which has to be named in the same way: --model, --module.

    transcript: the file
    level:      what compares modules' tokens: PyTorch softmax (for up to 20,000) or hull caches
    tokens:     compare so many of each module's context (all of them)
    """

    transcript: str = word("FILE")
    level: Literal["plain", "hull"] | None = None
    tokens: int | None = option(None, metavar="N")


def run(options: Options) -> int:
    """What was compared."""
    if options.tokens is not None and options.tokens < 0:
        raise UserError(f"--tokens {options.tokens}: expected a number that is not negative")
    from curta.hybrid.transcript import Transcript
    from curta.terminal import Progress

    transcript = Transcript.load(options.transcript)
    model = options.joint_model()
    with Progress(lines=False) as progress:
        verified = model.verify(
            transcript,
            level=options.level,
            tokens=options.tokens,
            on_progress=lambda share: progress.show("verifying", round(share * STEPS), STEPS),
        )
    print(verified)
    return 0
