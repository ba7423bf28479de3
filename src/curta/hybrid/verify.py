"""Is every token of a transcript the one that has to be there?

    the language model's    those that it chose are the likeliest ones by a forward pass over its
                            own tokens, as `forward` has them
    a module's              those that weights said are what softmax, or hull caches for long ones,
                            says there; programs of the machine in parts, each with the state said
                            again (`machine.verify`)
    the host's              calls are read from the text again, and their arguments, openings, input
                            and answers made again, from the module's tokens alone

Tokens that the user gave are taken as they are. Choices that were drawn have no reason: all the
rest of such a transcript is verified.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from curta.delegate.interception.generator import ignore
from curta.delegate.interception.loop import ends
from curta.engine.base import Engine, Ids
from curta.errors import UserError, VerifyError
from curta.hybrid.hearing import Hearing, RecordedTalker
from curta.hybrid.modules import Module
from curta.hybrid.transcript import Transcript
from curta.hybrid.unit.model import UnitModel
from curta.hybrid.vocabulary import Context, JointIds
from curta.hybrid.writing import JointRow
from curta.machine.ledger import new_ledger
from curta.machine.opening import restore, split_opening
from curta.machine.request import ReplayLevel
from curta.machine.talkers import NOTHING
from curta.machine.verify.chapters import ChapterPart, Parts, check_part
from curta.machine.verify.jobs import SOFTMAX_TOKENS, part_length

if TYPE_CHECKING:
    from curta.hybrid.model import HybridModel

CLOSE = {torch.float32: 1e-3, torch.float64: 1e-9}
"""By how much of the largest logit a choice may fall short of the best: a pass over all tokens adds
in another order than one that has a cache."""
CLOSE_OTHERWISE = 2e-2


@dataclass(frozen=True, slots=True)
class Verified:
    """
    language: choices of the language model that were compared
    ties:     how many of them were not the likeliest by less than rounding can do
    compiled: modules' tokens that were compared
    said:     all there are
    levels:   what compared them, by module
    """

    language: int
    ties: int
    compiled: int
    said: int
    levels: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        text = f"{self.language:,} choices of the language model"
        text += f" ({self.ties} of them ties)" if self.ties else ""
        levels = ", ".join(f"{name}: {level}" for name, level in self.levels.items())
        some = "all" if self.compiled == self.said else f"{self.compiled:,} of"
        modules = f" and {some} {self.said:,} tokens of modules ({levels})" if self.said else ""
        return f"verified: {text}{modules}, and every call, argument and answer"


class RecordedRow(JointRow):
    """Writes a transcript again: modules say what they said, in `contexts`."""

    contexts: Sequence[Context] = ()

    def hearing(self, module: Module) -> Hearing:
        done = sum(len(each.contexts) for each in self.calls)
        own = takewhile(lambda one: one.module == module.name, self.contexts[done:])
        return Hearing(module.name, self.tell, RecordedTalker(one.ids for one in own))


def verify(
    model: HybridModel, transcript: Transcript, *, level: ReplayLevel | None = None,
    tokens: int | None = None, on_progress: Callable[[float], object] = lambda share: None,
) -> Verified:  # fmt: skip
    """A `VerifyError` says what differs first.

    level:  of modules' tokens; softmax for short contexts, hull caches for others
    tokens: compare so many of each module's context only
    """
    again = written_again(model, transcript)
    most = sum(len(ids[:tokens]) for *_, ids in again.contexts)
    compiled, levels = 0, dict[str, str]()
    for module, opening, ids in again.contexts:
        chosen = level or ("plain" if len(opening) + len(ids) <= SOFTMAX_TOKENS else "hull")
        levels[module.name] = chosen
        for count in compared(module, module.at(chosen), opening, ids[:tokens]):
            compiled += count
            on_progress(compiled / most)
    said = sum(len(ids) for *_, ids in again.contexts)
    choices = len(transcript.choices) - transcript.given if transcript.likeliest else 0
    return Verified(choices, again.ties, compiled, said, levels)


@dataclass(frozen=True)
class Again:
    """A transcript that was written again.

    ties:     choices of the language model's that are not the likeliest by rounding only
    contexts: of modules: what opens each, and what was said behind that
    logits:   behind each token of the language model's, prompt and answer
    choosers: of each token of the answer, the number of the choice that it is, or -1
    """

    ties: int
    contexts: list[tuple[Module, Ids, Ids]]
    logits: torch.Tensor
    choosers: list[int]


def written_again(model: HybridModel, transcript: Transcript) -> Again:
    """By the choices of the language model, and what modules said."""
    if transcript.modules != tuple(model.compiled):
        its, ours = (", ".join(names) for names in (transcript.modules, model.compiled))
        raise UserError(f"the transcript is of a model with the modules {its}; this one has {ours}")
    vocabulary, ids, choices = model.vocabulary, transcript.ids, transcript.choices
    for what, tokens in (("choice", choices), ("token of the prompt", transcript.prompt)):
        if np.any((tokens < 0) | (tokens >= vocabulary.language)):
            raise VerifyError(f"a {what} is no token of the language model")
    if not 0 <= transcript.given <= len(choices):
        raise VerifyError(f"{transcript.given} of {len(choices)} choices cannot have been given")
    if np.any(ids < 0) or transcript.text != model.text_of(ids):
        raise VerifyError("the text is not what the tokens say")
    logits = language_logits(model, transcript.prompt, ids[ids < vocabulary.language])
    row = RecordedRow(model.writer, ignore)
    row.ends = ends(model.base.generation_config)
    row.contexts = list(vocabulary.contexts(ids))
    at, ties, choosers = 0, 0, list[int]()
    for number, choice in enumerate(transcript.choices.tolist()):
        if number >= transcript.given and transcript.likeliest:
            if len(transcript.prompt) + at > len(logits):
                raise VerifyError("the tokens end before the language model's choices do")
            ties += compare_choice(model, row, logits[len(transcript.prompt) - 1 + at], choice, at)
        fed = row.take(choice, transcript.room - at)
        answer = len(row.answer)
        choosers += [number] * (len(fed) - answer) + [-1] * answer
        at += len(fed)
        for hearing in row.calls:
            if hearing.recorded is not None and hearing.recorded.failure is not None:
                raise VerifyError(f"{hearing.module}: {hearing.recorded.failure}")
    if not np.array_equal(row.ids, ids):
        most = min(len(row.ids), len(ids))
        where = int(np.argmin(np.append(row.ids[:most] == ids[:most], False)))
        raise VerifyError(
            f"the tokens differ at position {len(transcript.prompt) + where:,}: "
            f"{named(model, row.ids, where)} follows from those before, the transcript has "
            f"{named(model, ids, where)}"
        )
    found = [
        (model.compiled[hearing.module], opening, np.concatenate([NOTHING, *said]))
        for hearing in row.calls
        for opening, said in hearing.contexts
    ]
    return Again(ties, found, logits, choosers)


@torch.no_grad()
def language_logits(model: HybridModel, prompt: JointIds, behind: JointIds) -> torch.Tensor:
    """What the language model says behind each of its own tokens."""
    first, rest = (torch.from_numpy(ids).to(model.base.device) for ids in (prompt, behind))
    if isinstance(model.base, UnitModel):
        return model.base.logits_of(first, rest)
    logits: torch.Tensor = model.base(input_ids=torch.cat([first, rest])[None]).logits[0]
    return logits


def compare_choice(
    model: HybridModel, row: JointRow, logits: torch.Tensor, choice: int, at: int
) -> bool:
    """Whether a choice is a tie; an error if it is not among the best."""
    scores = logits.float() if row.calling.constraint is None else row.narrowed(logits.float())
    best = int(scores.argmax())
    if best == choice:
        return False
    short = CLOSE.get(logits.dtype, CLOSE_OTHERWISE) * float(scores[best].abs())
    if float(scores[best] - scores[choice]) <= short:
        return True
    raise VerifyError(
        f"token {at:,} of the answer: the language model says "
        f"{model.tokenizer.decode([best])!r} there, the transcript has "
        f"{model.tokenizer.decode([choice])!r}"
    )


def compared(module: Module, engine: Engine, opening: Ids, said: Ids) -> Iterator[int]:
    """Compare a context: some tokens, which are told how many they are, and then some more."""
    if module.program is None:
        yield from compared_alone(module, engine, opening, said)
        return
    parts: list[ChapterPart] = []
    ledger = new_ledger(module.program)
    restore(ledger, split_opening(opening)[1])
    length = part_length("plain" if engine.level == "plain" else "hull", None)
    cut = Parts(module.program, ledger, 1, 0, opening, length, parts.append)
    cut.take(said)
    cut.finish()
    for part in parts:
        try:
            check_part(engine, module.program, part)
        except VerifyError as error:
            raise VerifyError(f"{module.name}: {error}") from None
        yield len(part.said)


def compared_alone(module: Module, engine: Engine, opening: Ids, said: Ids) -> Iterator[int]:
    """The same, where nobody but the weights speaks behind the opening."""
    ids, names = np.concatenate([opening, said]), engine.vocabulary
    asked = np.arange(1, len(ids)) >= len(opening)
    replayed = chain.from_iterable(engine.replay(ids[:-1], asked))
    behind = islice(replayed, len(opening) - 1, None)
    for at, (token, right) in enumerate(zip(said, behind, strict=True)):
        if token != right:
            raise VerifyError(
                f"{module.name}, token {at:,}: its weights say {names[int(right)]}, the transcript "
                f"has {names[int(token)]}"
            )
        yield 1


def named(model: HybridModel, ids: Any, at: int) -> str:
    """A token in words."""
    if at >= len(ids):
        return "the end"
    whose, number, hands = model.vocabulary.place(int(ids[at]))
    if hands:
        return f"handing over to {whose}"
    if not whose:
        return repr(model.tokenizer.decode([number]))
    module = next(m for m in model.compiled.values() if m.weights == whose)
    return module.engine.vocabulary[number]
