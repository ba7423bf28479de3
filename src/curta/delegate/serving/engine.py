"""Continuous batching: answers are written together, and come and go one by one.

One thread owns the model. In turn it reads prompts, no more than `prompt_step` tokens of them, and
takes a step with all answers that are being written. Prompts that came together are read together:
so many tokens as the shortest of them has left, without any padding. One that is read joins the
answers (`batch`, `caches`). An answer that has ended leaves.

The law: what an answer says does not depend on what is written beside it, up to the rounding of the
model's numbers (batches of other sizes may add in another order). Where that cannot be had, because
the model's caches cannot be joined exactly, answers are written one after the other; `is_batching`
and the metrics say so.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from curta.delegate.interception.events import CallRejected, CallResult, Event
from curta.delegate.interception.generator import CalcGenerator
from curta.delegate.interception.loop import ends
from curta.delegate.interception.row import Row
from curta.delegate.serving.batch import Batch, Model, begun, joined
from curta.delegate.serving.choosing import NewProcessor, choices, own_processors
from curta.delegate.serving.limits import Limits
from curta.delegate.serving.metrics import Metrics
from curta.delegate.serving.refusals import (
    RefusedError,
    model_failed,
    out_of_time,
    shutting_down,
)
from curta.delegate.serving.writing import Told, Wanted, Writing

log = logging.getLogger(__name__)
PATIENCE = 30.0
"""Seconds to wait for the last step of a model at the end."""


class Engine:
    """Writes answers; every method may be called from any thread."""

    def __init__(
        self,
        generator: CalcGenerator,
        limits: Limits | None = None,
        *,
        metrics: Metrics | None = None,
        new_processor: NewProcessor | None = None,
    ) -> None:
        self.generator = generator
        self.limits = limits or Limits()
        self.metrics = metrics or Metrics()
        self.model = Model(generator.model)
        self.new_processor = new_processor or own_processors(generator.model)
        self.ends = ends(generator.model.generation_config)
        self.is_batching = self.model.joins
        self.places = self.limits.batch if self.is_batching else 1
        self.changed = threading.Condition()
        self.queued: deque[Writing] = deque()
        self.starting: deque[Batch] = deque()
        """Prompts that are being read."""
        self.batch: Batch | None = None
        self.running = 0
        self.is_stopping = False
        self.describe()
        self.worker = threading.Thread(target=self.work, name="curta-engine", daemon=True)
        self.worker.start()

    def describe(self) -> None:
        """What the metrics show of it."""
        self.metrics.gauge("running", "Choices that have a row.", lambda: self.running)
        self.metrics.gauge("queued", "Choices that wait for one.", lambda: len(self.queued))
        self.metrics.gauge(
            "rows",
            "Choices that are written at once; one where the model's caches cannot be joined.",
            lambda: self.places,
            mode="joined" if self.is_batching else "one_by_one",
        )

    def submit(self, wanted: Sequence[tuple[Wanted, Callable[[Told], None]]]) -> list[Writing]:
        """Have these written, all of them or none; what comes of each is told to its function."""
        writings = [Writing(each, tell, time_limit=self.limits.time_limit) for each, tell in wanted]
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

    def cancel(self, writings: Sequence[Writing]) -> None:
        """Nobody wants the rest of these; they leave before the next step."""
        for writing in writings:
            writing.is_cancelled = True
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
                self.read_prompts()
                if self.batch is not None:
                    alone = len(self.batch.writings) == 1 and self.model.appends
                    count = len(self.batch.writings[0].waiting) if alone else 1
                    self.batch = self.advanced(self.batch, count)
        finally:
            self.is_stopping = True
            self.end_all()

    def has_work(self) -> bool:
        """Wait for some; false if it is time to end."""
        with self.changed:
            while not (self.is_stopping or self.queued or self.starting or self.batch):
                self.changed.wait()
            return not self.is_stopping

    def end_all(self) -> None:
        """There will be no more steps."""
        with self.changed:
            batches = self.batches()
            left = [*self.queued, *(each for batch in batches for each in batch.writings)]
            for writing in left:
                self.ended(writing, lambda each: each.fail(shutting_down()))
            self.queued.clear()
            self.starting.clear()
            self.batch = None

    def batches(self) -> list[Batch]:
        """All that have rows in them."""
        return [*self.starting, *([] if self.batch is None else [self.batch])]

    def admit(self) -> None:
        """Give free rows to those who wait; those who need none any more leave."""
        late = out_of_time(self.limits.time_limit)
        with self.changed:
            waiting = list(self.queued)
            for writing in waiting:
                if writing.is_cancelled:
                    self.ended(writing, Writing.check)
                elif writing.is_late:
                    self.ended(writing, lambda each: each.fail(late))
            waiting = [each for each in waiting if each.outcome is None]
            free = max(self.places - self.running, 0)
            chosen = waiting[:free]
            for writing in chosen:
                writing.has_place = True
            groups = [chosen] if self.model.appends else [[each] for each in chosen]
            device = self.generator.model.device
            self.starting.extend(begun(group, device) for group in groups if group)
            self.queued = deque(waiting[free:])
            self.running += len(chosen)

    def read_prompts(self) -> None:
        """Some tokens of prompts; those that are read join the others."""
        room = self.limits.prompt_step
        ready: list[Batch] = []
        while room > 0 and self.starting:
            batch = self.starting.popleft()
            rows = len(batch.writings)
            count = min(len(writing.waiting) for writing in batch.writings)
            if self.model.appends:
                count = min(count, max(room // rows, 1))
            room -= count * rows
            self.metrics.tokens.labels(kind="prompt").inc(count * rows)
            after = self.advanced(batch, count)
            done, unread = (None, None) if after is None else self.parted(after)
            ready.extend([] if done is None else [done])
            self.starting.extendleft([] if unread is None else [unread])
        if ready:
            self.join([*([] if self.batch is None else [self.batch]), *ready])

    def parted(self, batch: Batch) -> tuple[Batch | None, Batch | None]:
        """The rows whose prompts are read, and the others."""
        done = [n for n, writing in enumerate(batch.writings) if writing.written]
        unread = [n for n, writing in enumerate(batch.writings) if not writing.written]
        try:
            return batch.part(done), batch.part(unread)
        except Exception as error:  # such as a lack of memory: nobody else has these rows now
            self.fail(batch.writings, error)
            return None, None

    def join(self, batches: Sequence[Batch]) -> None:
        """Go on with the rows of all."""
        try:
            self.batch = joined(batches)
        except Exception as error:
            self.batch = None
            self.fail([writing for batch in batches for writing in batch.writings], error)

    def new_row(self, tell: Callable[[Event], None]) -> Row:
        """An answer that has not begun."""

        def hear(event: Event) -> None:
            if isinstance(event, CallResult | CallRejected):
                self.metrics.calls.labels(outcome=outcome(event)).inc()
            tell(event)

        return self.generator.row_that_tells(hear)

    def advanced(self, batch: Batch, count: int) -> Batch | None:
        """The rows that go on, so many tokens further."""
        for writing in batch.writings:
            self.ended(writing, Writing.check)
        try:
            left = batch.going_on()
            if left is None:
                return None
            for writing in left.writings:
                if writing.row is None:
                    writing.begin(self.new_row, self.new_processor(len(writing.wanted.prompt)))
            scores, batch = left.advanced(self.model, count)
            due = [n for n, writing in enumerate(batch.writings) if not writing.waiting]
            chosen = choices(scores[due], [batch.writings[n] for n in due]) if due else []
            for n, choice in zip(due, chosen, strict=True):
                self.take(batch.writings[n], choice)
            return batch.going_on()
        except Exception as error:
            self.fail(batch.writings, error)
            return None

    def fail(self, writings: Sequence[Writing], error: Exception) -> None:
        """None of these rows can go on."""
        log.exception("a step of the model failed")
        refusal = model_failed(error)
        for writing in writings:
            self.ended(writing, lambda each: each.fail(refusal))

    def take(self, writing: Writing, choice: int) -> None:
        """What the model chose for one row; what goes wrong there concerns only this row."""
        now, before = time.monotonic(), writing.written
        took = self.metrics.each_token if before else self.metrics.first_token
        took.observe(now - writing.last_step)
        writing.last_step = now
        try:
            self.ended(writing, lambda each: each.take(choice, self.ends))
        except Exception as error:
            self.fail([writing], error)
        self.metrics.tokens.labels(kind="written").inc(writing.written - before)

    def ended(self, writing: Writing, act: Callable[[Any], None]) -> None:
        """Do something that may end an answer, and count it if it does."""
        if writing.outcome is not None:
            return
        act(writing)
        if writing.outcome is None:
            return
        self.metrics.choices.labels(finish=writing.outcome).inc()
        if writing.has_place:
            with self.changed:
                self.running -= 1


def outcome(event: CallResult | CallRejected) -> str:
    """In a word."""
    if isinstance(event, CallResult):
        return "exact" if event.exact else "rounded"
    return "unanswered" if event.error is None else "error"
