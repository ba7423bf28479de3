"""An answer while it is written: the language model's tokens, and those of modules between them.

Decoding is `delegate`'s: its loop, its rows, its formats. What is added is that a call's module is
heard, token by token, and that all of it stands in one stream: the tokens up to the call's end,
contexts of the module, then the answer as the language model's own tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from curta.delegate.interception.events import CALCULATE, Call, Outcome, answered
from curta.delegate.interception.generator import CalcGenerator, Prompt
from curta.delegate.interception.row import Row
from curta.delegate.tools.calculator import CalculatorTool
from curta.errors import TokenError
from curta.hybrid.hearing import Hearing
from curta.hybrid.modules import Module
from curta.hybrid.vocabulary import JointIds

if TYPE_CHECKING:
    from curta.hybrid.model import HybridModel


class JointRow(Row):
    """A row that keeps the whole stream.

    given: tokens that it takes in place of the model's first choices
    """

    def __init__(
        self, writer: Writer, tell: Callable[[Any], None], given: Sequence[int] = ()
    ) -> None:
        super().__init__(writer.tokenizer, writer.calling, tell)
        self.vocabulary, self.modules = writer.vocabulary, writer.modules
        self.given = given
        self.stream: list[JointIds] = []
        self.choices: list[int] = []
        """What the language model chose, which a part of that may have taken the place of."""
        self.room = 0
        """For how many tokens there was room in the beginning."""
        self.answer: list[int] = []
        """Of the tokens that were fed last, those that are the answer to a call."""
        self.calls: list[Hearing] = []
        """Of modules, all of them."""

    @property
    def ids(self) -> JointIds:
        """The stream."""
        return np.concatenate([np.zeros(0, dtype=np.int64), *self.stream])

    def take(self, token: int, room: int) -> list[int]:
        self.room = self.room or room
        if len(self.choices) < len(self.given):
            token = self.given[len(self.choices)]
        self.choices.append(token)
        self.answer, before = [], len(self.calls)
        fed = self.chosen(token, room)
        if self.pending:
            fed = self.settled([self.outcome(call) for call in self.pending])
        if self.closed == "full":
            self.answer = []
        own = fed[: len(fed) - len(self.answer)]
        contexts = [
            self.vocabulary.context(call.module, np.concatenate([opening, *said]))
            for call in self.calls[before:]
            for opening, said in call.contexts
        ]
        self.stream += [np.array(own, dtype=np.int64), *contexts]
        self.stream.append(np.array(self.answer, dtype=np.int64))
        return fed

    def outcome(self, call: Call) -> Outcome:
        """What a call comes to; what is said on the way is heard."""
        module = self.modules.get(call.name)
        if module is None:
            return answered(call, self.calling.tools)
        self.calls.append(self.hearing(module))
        return answered(call, {call.name: module.heard(self.calls[-1])})

    def hearing(self, module: Module) -> Hearing:
        """Of a call that begins."""
        return Hearing(module.name, self.tell)

    def encoded(self, answer: str) -> tuple[str, list[int], TokenError | None]:
        made = super().encoded(answer)
        self.answer = made[1]
        return made


class Writer(CalcGenerator):
    """The language model with modules for tools, each row of which keeps its stream."""

    untaught = "prompted"  # a call can be asked for

    def __init__(self, model: HybridModel) -> None:
        self.modules, self.vocabulary = model.compiled, model.vocabulary
        tools = [module.tool for module in self.modules.values()]
        calculator = self.modules[CALCULATE].tool
        assert isinstance(calculator, CalculatorTool)
        super().__init__(
            model.base, model.tokenizer, tools=tools, calculator=calculator.calculator,
            **model.writing,
        )  # fmt: skip

    def row(self, tell: Callable[[Any], None], prompt: Prompt = ()) -> JointRow:
        return JointRow(self, tell)
