"""Judges: what notices a fault, each alone.

- the checkers inside the lowering: they are heard, and the lowering goes on
- the validator: it refuses one of the programs that the fault changes
- the corpus: one of these programs does something else than without the fault

A fault that gives no program at all (the lowering breaks down, or does not end) is not judged.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from types import FrameType

from curta.errors import ProofError
from curta.machine.core_program import CoreProgram
from curta.machine.loaded import LoadedProgram
from curta.machine.lower import LowerOptions, link
from curta.machine.prompt import decode_prompt
from curta.machine.proof.whole_program import ProgramProof
from curta.machine.wasm import MAX_PAGES
from tests.machine.faults.corpus import Program, agrees
from tests.machine.faults.equivalence import explain
from tests.machine.faults.fault import Fault, MismatchError, replaced_attribute
from tests.machine.faults.running import ROOM, Behaviour, behave

LOWERING_SECONDS, PROOF_SECONDS = 10, 60
MOST_PROVED, MOST_SAME = 6, 36
"""Programs that a fault changes, after which an accepting validator is not asked any more; and
programs that it might change and does not, after which another fault is drawn.
"""


class TooLongError(BaseException):
    """Not to be caught by what takes too long."""


@dataclass
class Verdict:
    """What each judge says of a fault; empty if it notices nothing. `changed` are the programs that
    it changes, `proved` those that the validator has accepted.
    """

    fault: Fault
    changed: list[str] = field(default_factory=list)
    proved: list[str] = field(default_factory=list)
    checkers: str = ""
    validator: str = ""
    corpus: str = ""
    differing: str = ""
    """The program that the corpus fails on."""
    breakdown: str = ""
    lowered: int = 0
    """How many programs were lowered with the fault."""
    endless: bool = False
    """Whether the lowering of a program does not end."""
    holes: list[str] = field(default_factory=list)
    """Programs that the validator accepts, and that do something else."""
    reason: str = ""
    """Why a changed instruction changes nothing, if that can be said without the validator."""
    seconds: float = 0.0

    @property
    def has_decided(self) -> bool:
        """Whether other programs would not say more."""
        noticed = bool(self.validator and self.corpus)
        idle = not self.changed and self.lowered >= MOST_SAME
        return noticed or self.endless or idle or len(self.proved) >= MOST_PROVED


@dataclass(frozen=True)
class Right:
    """A program of the corpus as it is lowered without a fault, and what it does."""

    program: Program
    core: CoreProgram
    behaviour: Behaviour


@dataclass
class Judge:
    """The corpus without faults, and why programs are not in it."""

    rights: list[Right] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, programs: Iterable[Program]) -> Judge:
        judge = cls()
        ordered = list(programs)
        Random("order").shuffle(ordered)
        for program in ordered:
            heard: list[str] = []
            core = lowered(program, heard)
            refusal = heard[0] if heard else refused(program, core)
            if refusal:
                judge.left_out[program.name] = refusal
                continue
            behaviour = behave(program, core)
            if agrees(program, behaviour.outcomes):
                judge.rights.append(Right(program, core, behaviour))
            else:
                judge.left_out[program.name] = "it does not do what wasmtime does"
        return judge

    def judge(self, fault: Fault, *, everywhere: bool = False) -> Verdict:
        """Both judges look at every program that is changed, until both have noticed, or at all."""
        verdict, begun = Verdict(fault), time.monotonic()
        for right in self.rights:
            if fault.may_change(right.program.name):
                self._judge_program(verdict, right)
            if verdict.endless or (verdict.has_decided and not everywhere):
                break
        verdict.seconds = time.monotonic() - begun
        return verdict

    def _judge_program(self, verdict: Verdict, right: Right) -> None:
        fault, program = verdict.fault, right.program
        heard: list[str] = []
        try:
            with fault.planted():
                core = fault.change(lowered(program, heard))
        except MismatchError:
            return
        except TooLongError:
            verdict.endless, verdict.breakdown = True, f"{program.name}: lowering does not end"
            return
        except Exception as error:  # whatever a fault does to the lowering
            verdict.breakdown = verdict.breakdown or f"{program.name}: {error!r}"
            return
        verdict.lowered += 1
        verdict.checkers = verdict.checkers or (heard[0] if heard else "")
        if same_code(core, right.core):
            return
        verdict.changed.append(program.name)
        most = 4 * right.behaviour.steps + ROOM
        told = behave(program, core, most).first_difference(right.behaviour)
        if told and not verdict.corpus:
            verdict.corpus, verdict.differing = told, program.name
        if verdict.validator and not told:
            return
        refusal = refused(program, core)
        if refusal:
            verdict.validator = verdict.validator or f"{program.name}: {refusal}"
        else:
            verdict.proved.append(program.name)
            verdict.reason = explain(right.core, core)
            if told:
                verdict.holes.append(f"{program.name}: {told}")


def same_code(one: CoreProgram, other: CoreProgram) -> bool:
    """Whether two programs are told and called alike."""
    return (one.instructions, one.segments, one.entries) == (
        other.instructions,
        other.segments,
        other.entries,
    )


def lowered(program: Program, heard: list[str]) -> CoreProgram:
    """The program lowered; `heard` gets what the checkers complain of."""

    class Heard(link.Checker):
        def check(self, behind: str) -> None:
            try:
                super().check(behind)
            except Exception as error:  # any complaint
                heard.append(str(error))

    with (
        replaced_attribute(link, "Checker", Heard),
        limited(LOWERING_SECONDS),
    ):
        return link.lower(program.module, LowerOptions())


def refused(program: Program, core: CoreProgram) -> str:
    """Why the validator does not accept a program; empty if it does."""
    try:
        decoded = decode_prompt(LoadedProgram.from_core(core).prompt())
    except Exception as error:  # a field that no token can say
        return f"cannot be said: {error!r}"
    asked = [origin.asked for origin in core.origins]
    try:
        with limited(PROOF_SECONDS):
            proof = ProgramProof(
                decoded, core.entries, core.claims, asked, program.module, MAX_PAGES, {}
            )
            refusals = [f"{one.name}: {one.refused}" for one in proof.prove() if one.refused]
    except ProofError as error:
        return str(error)
    except TooLongError:
        return f"the validator takes more than {PROOF_SECONDS} seconds"
    except Exception as error:  # the validator breaks down, and so accepts nothing
        return f"the validator fails: {error!r}"
    return refusals[0] if refusals else ""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise TooLongError after so many seconds."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooLongError(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
