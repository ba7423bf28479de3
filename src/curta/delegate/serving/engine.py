"""Continuous batching: answers are written together, and come and go one by one.

One thread owns the model. In turn it reads prompts, no more than `prompt_step` tokens of them, and
takes a step with all answers that are being written. Prompts that came together are read together:
so many tokens as the shortest of them has left, without any padding. One that is read joins the
answers (`interception.batch`). An answer that has ended leaves; so does one that waits for a tool,
and what the tool answers is read as a prompt is.

The law: what an answer says does not depend on what is written beside it, up to the rounding of the
model's numbers (batches of other sizes may add in another order). Where that cannot be had, because
the model's caches cannot be joined exactly, answers are written one after the other; `is_batching`
and the metrics say so. Whether it can be had is tried before anything is served.
"""

from __future__ import annotations

import copy
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch

from curta.delegate.given_up import GIVEN_UP
from curta.delegate.interception import caches
from curta.delegate.interception.batch import ONE_BY_ONE, Batch, joined
from curta.delegate.interception.events import (
    Call,
    CallRejected,
    CallResult,
    Event,
    Outcome,
    answered,
)
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.loop import ends
from curta.delegate.serving.limits import Limits
from curta.delegate.serving.metrics import Metrics
from curta.delegate.serving.refusals import RefusedError, shutting_down
from curta.delegate.serving.writing import Told, Wanted, Writing
from curta.delegate.tools.calculator import CalculatorTool
from curta.delegate.tools.tool import Tool
from curta.errors import UserError

log = logging.getLogger(__name__)
PATIENCE = 30.0
"""Seconds to wait for the last step of a model at the end."""
MOMENT = 0.2
"""Seconds between looks at answers that wait for tools and nothing else."""
TOLERANCE = 1e-3
TOLERANCE_OF_HALVES = 0.1
"""Of scores, relative to the largest one: far above rounding, far below wrong positions."""


class Engine:
    """Writes answers; every method may be called from any thread."""

    def __init__(self, generator: CalcGenerator, limits: Limits | None = None) -> None:
        self.generator = generator
        self.limits = limits or Limits()
        self.metrics = Metrics()
        self.is_batching = joins(generator.model)
        self.appends = appends(generator.model)
        self.rules = copy.deepcopy(generator.model.generation_config)
        """What the model's own settings for generation do to scores."""
        self.rules.do_sample = False
        generator.model._prepare_special_tokens(self.rules, device=generator.model.device)
        self.ends = ends(generator.model.generation_config)
        self.places = self.limits.batch if self.is_batching else 1
        self.changed = threading.Condition()
        self.queued: list[Writing] = []
        self.starting: deque[Batch] = deque()
        """Rows whose prompts are read, or what a tool answered."""
        self.parked: list[Batch] = []
        """Rows that wait for tools, each by itself."""
        self.batch: Batch | None = None
        self.placed = set[Writing]()
        """Those that have one of the places, wherever they are of these."""
        self.is_stopping = False
        self.tools = ThreadPoolExecutor(self.limits.tools_at_once, "curta-tool")
        self.metrics.gauge("running", "Choices that have a row.", lambda: self.running)
        self.metrics.gauge("queued", "Choices that wait for one.", lambda: len(self.queued))
        self.metrics.gauge(
            "rows",
            "Choices that are written at once; one where the model's caches cannot be joined.",
            lambda: self.places,
            mode="joined" if self.is_batching else "one_by_one",
        )
        self.worker = threading.Thread(target=self.work, name="curta-engine", daemon=True)
        self.worker.start()

    @property
    def running(self) -> int:
        """How many places are taken."""
        return len(self.placed)

    def new_processor(self, prompt_length: int) -> Any:
        """What these rules are behind a prompt of some length."""
        model = self.generator.model
        return model._get_logits_processor(
            self.rules, prompt_length, device=model.device, model_kwargs={}
        )

    def submit(self, wanted: Sequence[tuple[Wanted, Callable[[Told], None]]]) -> list[Writing]:
        """Have these written, all of them or none; what comes of each is told to its function."""
        writings = [Writing(self, each, tell) for each, tell in wanted]
        room = self.places + self.limits.queue
        if len(writings) > room:
            raise RefusedError(
                f"{len(writings)} choices: this server takes {room} from one request",
                code="too_many_choices",
            )
        with self.changed:
            if self.is_stopping:
                raise shutting_down()
            taken = self.running + len(self.queued)
            if taken + len(writings) > room:
                raise RefusedError(
                    f"the queue is full: {taken} answers are written or wait, of at most {room}",
                    status=429,
                    code="queue_full",
                    wait=1,
                )
            self.queued.extend(writings)
            self.changed.notify()
        return writings

    def count_call(self, event: Event) -> None:
        if isinstance(event, CallResult):
            outcome = "exact" if event.exact else "rounded"
        elif isinstance(event, CallRejected):
            outcome = "unanswered" if event.error is None else "error"
        else:
            return
        self.metrics.calls.labels(outcome=outcome).inc()

    def count_end(self, writing: Writing) -> None:
        """In the metrics; its row is free."""
        self.metrics.choices.labels(finish=writing.outcome).inc()
        with self.changed:
            self.placed.discard(writing)

    def cancel(self, writings: Sequence[Writing]) -> None:
        """Nobody wants the rest of these; they leave before the next step."""
        for writing in writings:
            writing.given_up.set()
        with self.changed:
            self.changed.notify()

    def stop(self) -> None:
        """End, telling everybody who waits."""
        with self.changed:
            self.is_stopping = True
            self.changed.notify()
        self.worker.join(PATIENCE)

    def work(self) -> None:
        """What the thread does; however it ends, nobody waits for it in vain."""
        try:
            while self.has_work():
                self.admit()
                self.unpark()
                self.read_prompts()
                if self.batch is not None:
                    self.join([self.stepped(self.batch)])
        finally:
            self.is_stopping = True
            self.end_all()

    def has_work(self) -> bool:
        """Wait for some; false if it is time to end."""
        with self.changed:
            while not (self.is_stopping or self.queued or self.starting or self.batch):
                self.changed.wait(MOMENT if self.parked else None)
                if self.parked:
                    break
            return not self.is_stopping

    def end_all(self) -> None:
        """There will be no more steps."""
        with self.changed:
            for writing in [*self.queued, *self.placed]:
                writing.fail(shutting_down())
            self.queued.clear()
            self.starting.clear()
            self.parked.clear()
            self.batch = None
        self.tools.shutdown(wait=False, cancel_futures=True)

    def admit(self) -> None:
        """Give free rows to those who wait; those who need none any more leave."""
        with self.changed:
            for writing in self.queued:
                writing.check()
            waiting = [each for each in self.queued if each.outcome is None]
            free = max(self.places - self.running, 0)
            chosen, self.queued = waiting[:free], waiting[free:]
            self.placed.update(chosen)
        groups = [chosen] if self.appends else [[each] for each in chosen]
        self.starting.extend(
            Batch(self.generator.model, group, appends=self.appends) for group in groups if group
        )

    def unpark(self) -> None:
        """Rows whose tools have answered go on with that."""
        parked, self.parked = self.parked, []
        for batch in parked:
            (writing,) = batch.rows
            writing.check()
            if writing.outcome is not None or writing.tools is None:
                continue
            if not writing.tools.done():
                self.parked.append(batch)
                continue
            with self.guarding([writing]):
                writing.go_on(writing.settled(writing.tools.result()))
            writing.tools, writing.is_read = None, False
            if writing.outcome is None:
                self.starting.append(batch)

    def read_prompts(self) -> None:
        """Some tokens of prompts; those that are read join the others."""
        room = self.limits.prompt_step
        ready: list[Batch | None] = []
        while room > 0 and self.starting:
            batch = self.starting.popleft()
            rows = len(batch.rows)
            count = min(len(row.waiting) for row in batch.rows)
            if self.appends:
                count = min(count, max(room // rows, 1))
            elif batch.outputs is not None:
                count = 1
            room -= count * rows
            self.metrics.tokens.labels(kind="prompt").inc(count * rows)
            ready.append(self.stepped(batch, count))
        if ready:
            self.join([self.batch, *ready])

    def join(self, batches: Sequence[Batch | None]) -> None:
        """Go on with the rows of all."""
        there = [batch for batch in batches if batch is not None]
        self.batch = None
        with self.guarding([each for batch in there for each in batch.rows]):
            self.batch = joined(there) if there else None

    def stepped(self, batch: Batch, count: int | None = None) -> Batch | None:
        """The rows that are written, so many tokens further; others step aside: those whose
        prompts are not read yet, and those that wait for tools.
        """
        for writing in batch.rows:
            writing.check()
        with self.guarding(batch.rows):
            left = batch.going_on()
            after = None if left is None else left.step(self, count)
            if after is None:
                return None
            unread = [n for n, each in enumerate(after.rows) if not each.is_read]
            at_work = [n for n, each in enumerate(after.rows) if each.tools]
            self.starting.extendleft(filter(None, [after.part(unread)]))
            self.parked.extend(filter(None, [after.part([n]) for n in at_work]))
            return after.part([n for n in range(len(after.rows)) if n not in unread + at_work])
        return None

    def all_tokens(self, batch: Batch, fed: torch.Tensor) -> torch.Tensor:
        """A pass is given what is new."""
        return fed

    def choose(self, batch: Batch, scores: torch.Tensor) -> None:
        """Rows that have nothing left to be fed choose by the scores of what is next."""
        if due := batch.due():
            scores = scores[due].float()
            likeliest = scores.argmax(dim=-1).tolist()
            for n, row, best in zip(due, scores, likeliest, strict=True):
                writing = batch.rows[n]
                self.take(writing, writing.choice(row, best))

    @contextmanager
    def guarding(self, writings: Sequence[Writing]) -> Iterator[None]:
        """What goes wrong here, such as a lack of memory, ends these rows, and no others."""
        try:
            yield
        except Exception as error:
            log.exception("a step of the model failed")
            why = f"the model failed: {type(error).__name__}: {error}"
            for writing in writings:
                writing.fail(RefusedError(why, status=500, code="model_failed"))

    def take(self, writing: Writing, choice: int) -> None:
        """What the model chose for one row."""
        now, before = time.monotonic(), writing.written
        took = self.metrics.each_token if before else self.metrics.first_token
        took.observe(now - writing.last_step)
        writing.last_step, writing.is_read = now, True
        with self.guarding([writing]):
            self.go_on(writing, choice)
        self.metrics.tokens.labels(kind="written").inc(writing.written - before)

    def go_on(self, writing: Writing, choice: int) -> None:
        """With a token, and what its calls come to, as soon as that is known."""
        tokens = writing.chosen(choice, writing.room)
        calls, tools = writing.pending, writing.calling.tools
        if not calls:
            writing.go_on(tokens)
        elif all(is_quick(tools.get(call.name)) for call in calls):
            writing.go_on(writing.settled([answered(call, tools) for call in calls]))
        else:
            writing.tools = self.tools.submit(self.called, writing, calls)

    def called(self, writing: Writing, calls: Sequence[Call]) -> list[Outcome]:
        """The answers of tools, in a thread of theirs."""
        GIVEN_UP.set(writing.given_up)
        try:
            return [answered(call, writing.calling.tools) for call in calls]
        finally:
            with self.changed:
                self.changed.notify()


def is_quick(tool: Tool | None) -> bool:
    """Whether a call is answered within a moment, whatever it says; no tool, too, is an answer."""
    if not isinstance(tool, CalculatorTool):
        return tool is None
    backend = getattr(tool.calculator, "backend", None)
    return getattr(backend, "name", None) != "machine"  # the transformer computes there


# -- what is tried before rows are served together ---------------------------------------------


def begun(model: Any) -> Batch:
    """A batch for trying."""
    return Batch(model, [], appends=True)


def joins(model: Any) -> bool:
    """Whether rows can join a batch and leave it: two rows of different lengths say together what
    they say alone.
    """
    rows = [torch.arange(1, 4)[None], torch.arange(2, 9)[None]]
    alone, beginnings = [], []
    for row in rows:
        row = row.to(model.device)
        batch = begun(model)
        batch.scores(row[:, :-1], row.shape[1] - 1)
        if batch.cache is None:
            raise UserError(f"--model: {model.config.model_type} keeps no cache that can be served")
        beginnings.append(batch)
        alone.append(begun(model).scores(row, row.shape[1]))
    if not caches.can_be_joined(beginnings[0].cache, model.config):
        return False
    last = torch.cat([row[:, -1:] for row in rows]).to(model.device)
    return agree(joined(beginnings).scores(last, 1), torch.cat(alone))


def appends(model: Any) -> bool:
    """Whether several tokens can be appended at once: two of them come to what the row does."""
    if model.config.model_type in ONE_BY_ONE:
        return False
    row = torch.arange(2, 9, device=model.device)[None]
    batch, whole = begun(model), begun(model)
    batch.scores(row[:, :-2], row.shape[1] - 2)
    return agree(batch.scores(row[:, -2:], 2), whole.scores(row, row.shape[1]))


def agree(scores: torch.Tensor, right: torch.Tensor) -> bool:
    """Whether they differ by no more than rounding explains."""
    halves = scores.dtype in (torch.float16, torch.bfloat16)
    allowed = TOLERANCE_OF_HALVES if halves else TOLERANCE
    difference = (scores - right).float().abs().max()
    return bool(difference <= allowed * right.float().abs().max())
