"""An answer while it is written: the language model's tokens, and those of modules between them.

Decoding is `delegate`'s: its loop, its rows, its formats. What is added is that a call's module is
heard, token by token, and that all of it stands in one stream: the tokens up to the call's end,
contexts of the module, then the answer as the language model's own tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from curta.delegate.interception.calls import CALCULATE, Call, Outcome, answered
from curta.delegate.interception.events import Event
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.row import Calling, Row
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.tool import Tool
from curta.engine.base import Ids
from curta.errors import TokenError
from curta.hybrid.modules import Module
from curta.hybrid.vocabulary import JointIds, JointVocabulary


@dataclass(frozen=True, slots=True)
class ModuleSaid:
    """Tokens of a module, by their numbers in its own vocabulary; they are no text.

    opens: a context begins with these, which the host says
    """

    module: str
    ids: Ids
    opens: bool
    text: str = ""


@dataclass
class Hearing:
    """Contexts of one call, as they come."""

    module: str
    tell: Callable[[Any], None]
    contexts: list[tuple[Ids, list[Ids]]] = field(default_factory=list)
    """What opens each, and what is said behind that."""

    def opened(self, ids: Ids) -> None:
        self.contexts.append((ids := ids.copy(), []))
        self.tell(ModuleSaid(self.module, ids, opens=True))

    def said(self, ids: Ids) -> None:
        self.contexts[-1][1].append(ids := ids.copy())
        self.tell(ModuleSaid(self.module, ids, opens=False))

    def joint(self, vocabulary: JointVocabulary) -> list[JointIds]:
        """As the stream has them."""
        return [
            vocabulary.context(self.module, np.concatenate([opening, *said]))
            for opening, said in self.contexts
        ]


class JointRow(Row):
    """A row that keeps the whole stream."""

    def __init__(
        self,
        tokenizer: Any,
        calling: Calling,
        tell: Callable[[Event], None],
        vocabulary: JointVocabulary,
        modules: Mapping[str, Module],
    ) -> None:
        super().__init__(tokenizer, calling, tell)
        self.vocabulary = vocabulary
        self.modules = modules
        self.stream: list[JointIds] = []
        self.choices: list[int] = []
        """What the language model chose, which a part of that may have taken the place of."""
        self.room = 0
        """For how many tokens there was room in the beginning."""
        self.behind_call: list[int] = []

    @property
    def ids(self) -> JointIds:
        """The stream."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.stream])

    def take(self, token: int, room: int) -> list[int]:
        if not self.choices:
            self.room = room
        self.choices.append(token)
        fed = self.chosen(token, room)
        if not self.pending:
            self.put(fed)
            return fed
        contexts: list[JointIds] = []
        outcomes = [self.outcome(call, contexts) for call in self.pending]
        self.behind_call = []
        fed = self.settled(outcomes)
        given = 0 if self.is_full else len(self.behind_call)
        self.put(fed[: len(fed) - given])
        self.stream += contexts
        self.put(fed[len(fed) - given :])
        return fed

    def put(self, tokens: Sequence[int]) -> None:
        """Tokens of the language model's."""
        self.stream.append(np.array(tokens, dtype=np.int64))

    def outcome(self, call: Call, contexts: list[JointIds]) -> Outcome:
        """What a call comes to; what is said on the way."""
        module = self.modules.get(call.name)
        if module is None:
            return answered(call, self.calling.tools)
        hearing = Hearing(call.name, self.tell)
        found = answered(call, {call.name: self.tool(module, hearing)})
        contexts += hearing.joint(self.vocabulary)
        return found

    def tool(self, module: Module, hearing: Hearing) -> Tool:
        """The module, heard."""
        return module.heard(hearing)

    def encoded(self, answer: str) -> tuple[str, list[int], TokenError | None]:
        made = super().encoded(answer)
        self.behind_call = made[1]
        return made


class Writer(CalcGenerator):
    """The language model with modules for tools, each row of which keeps its stream."""

    def __init__(
        self, base: Any, tokenizer: Any, modules: Mapping[str, Module],
        vocabulary: JointVocabulary, **options: Any,
    ) -> None:  # fmt: skip
        self.modules = modules
        self.vocabulary = vocabulary
        self.newest: JointRow
        """The row that was begun last."""
        calculator = modules[CALCULATE].tool
        assert isinstance(calculator, CalculatorTool)
        super().__init__(
            base,
            tokenizer,
            tools=[module.tool for module in modules.values()],
            calculator=calculator.calculator,
            **options,
        )

    def row(self, tell: Callable[[Event], None]) -> JointRow:
        made = JointRow(self.tokenizer, self.calling, tell, self.vocabulary, self.modules)
        self.newest = made
        return made


class Forced:
    """The first tokens of an answer, given by the user; a processor of scores."""

    def __init__(self, prompt: int, tokens: Sequence[int]) -> None:
        self.prompt = prompt
        self.tokens = tokens

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        at = input_ids.shape[1] - self.prompt
        if not 0 <= at < len(self.tokens):
            return scores
        forced = torch.full_like(scores, -torch.inf)
        forced[:, self.tokens[at]] = 0.0
        return forced
