"""What was verified, in words: exactly what was compared, and what that does not cover."""

from __future__ import annotations

from collections.abc import Sequence

from curta.machine.kept.file import KeptRun
from curta.machine.kept.keeping import figures
from curta.machine.verify.chapters import NAMES
from curta.machine.verify.compared import Compared
from curta.machine.verify.jobs import (
    SOFTMAX_TOKENS,
    VerificationPlan,
    complete_chapters,
    missed,
)


def of_run(kept: KeptRun) -> str:
    """How long the conversation is, and who said what."""
    if kept.ending is None:
        return f"kept up to {kept.state}"
    reached = figures(kept.ending)
    return f"{reached.length}; {reached.instructions:,} instructions"


def of_tokens(compared: Compared, plan: VerificationPlan, kept: KeptRun) -> str:
    """What was compared, exactly."""
    rate = compared.tokens / max(compared.seconds, 1e-9)
    part = "" if plan.most is None else f" among the first {plan.opening + compared.said:,}"
    if not plan.is_whole(kept):
        part = f" in {chapter_names(plan.chapters)}"
    parts = "" if compared.parts == 1 else f" in {compared.parts:,} parts"
    why = f"; softmax, beyond {SOFTMAX_TOKENS:,} tokens: --level plain" if plan.is_too_long else ""
    return (
        f"tokens: all {compared.spoken:,} that the machine said{part} are those of "
        f"{NAMES[compared.level]}, which read {compared.tokens:,}{parts} "
        f"({compared.seconds:.1f} s, {rate:,.0f} tok/s){why}"
    )


def chapter_names(numbers: Sequence[int]) -> str:
    """Which ones, if they are not too many to be read."""
    shown = ", ".join(f"{number:,}" for number in numbers[:12])
    more = f" and {len(numbers) - 12:,} more" if len(numbers) > 12 else ""
    return f"chapter{'s' * (len(numbers) > 1)} {shown}{more}"


def verdict(kept: KeptRun, plan: VerificationPlan, *, on_wasmtime: bool) -> str:
    """In a word, and what the word does not cover."""
    chapters, sample = complete_chapters(kept), len(plan.chapters)
    if sample < chapters:
        tenth = max(2, chapters // 10)
        return (
            f"verified: {sample:,} of {chapters:,} chapters, drawn at random. A single wrong one "
            f"would be missed with a probability of {missed(chapters, sample, 1):.1%}, {tenth:,} "
            f"wrong ones with one of {missed(chapters, sample, tenth):.1%}"
        )
    missing = [] if plan.most is None else ["the tokens behind those that were replayed"]
    if kept.ending is None:
        missing.append("the chapter that the run is in")
    if not on_wasmtime:
        missing.append("what wasmtime would do")
    return "verified" + (f", except {' and '.join(missing)}" if missing else "")
