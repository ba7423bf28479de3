"""Engines and servers with tiny random models that are pushed to write calls."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from transformers import LogitsProcessorList

from curta.delegate.interception.events import CallRejected, CallResult
from curta.delegate.interception.generator import CalcGenerator, Output
from curta.delegate.servers import bound
from curta.delegate.serving.engine import Engine
from curta.delegate.serving.limits import Limits
from curta.delegate.serving.refusals import RefusedError
from curta.delegate.serving.writing import Piece, Told, Wanted, Writing
from tests.support.tiny_language_models import Push, chat_tokenizer, model
from tests.support.waiting import until

NAME = "tiny"
PROMPTS = ("a", "ab, 12 c", "<<calc: 1+", "b <<calc: 2*3>> = 6 and cé" * 2, "é")


@cache
def generator(family: str) -> CalcGenerator:
    """The tiny model of a family."""
    return CalcGenerator(model(family), chat_tokenizer(), format="prompted")


@cache
def alone(family: str, prompt: Any, tokens: int) -> Output:
    """What the generator says to one prompt by itself; a conversation as a tuple of pairs."""
    asked = prompt if isinstance(prompt, str) else [dict(each) for each in prompt]
    (output,) = generator(family).generate(
        [asked], max_new_tokens=tokens, logits_processor=LogitsProcessorList([Push()])
    )
    return output


def tokens_of(family: str, prompt: str) -> tuple[int, ...]:
    """The prompt as the generator sees it."""
    return tuple(generator(family).inputs([prompt])["input_ids"][0].tolist())


def client(serving: Any, kind: str = "OpenAI") -> Any:
    """OpenAI's own client of a server, or its asynchronous one."""
    import openai

    return getattr(openai, kind)(base_url=f"{serving.address}/v1", api_key="none", max_retries=0)


class Slow(Push):
    """Takes a moment for every token, so that others may come and go."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        time.sleep(self.seconds)
        return super().__call__(input_ids, scores)

    def allowed(self, text: str) -> list[str]:
        """It never ends by itself."""
        return [each for each in super().allowed(text) if each != "<end>"]


@contextmanager
def engine(
    family: str = "grouped queries",
    processor: Callable[..., torch.Tensor] | None = None,
    writes: CalcGenerator | None = None,
    **limits: Any,
) -> Iterator[Engine]:
    """An engine that is stopped at the end."""
    pushed = LogitsProcessorList([processor or Push()])
    writes = writes or generator(family)
    made = Engine(writes, Limits(**limits))
    made.new_processor = lambda length: pushed
    try:
        yield made
    finally:
        made.stop()
        assert not made.worker.is_alive()


class Collected:
    """What an engine tells of one choice."""

    def __init__(self) -> None:
        self.text = ""
        self.calls: list[CallResult | CallRejected] = []
        self.end: Told | None = None
        self.over = threading.Event()

    def hear(self, told: Told) -> None:
        if isinstance(told, Piece):
            self.text += told.text
            self.calls += told.calls
        if isinstance(told, RefusedError) or told.reason:
            self.end = told
            self.over.set()

    def wait(self) -> Collected:
        assert self.over.wait(60), "nothing came of it"
        return self


def submit(made: Engine, wanted: Wanted) -> tuple[Collected, Writing]:
    """One choice."""
    collected = Collected()
    (writing,) = made.submit([(wanted, collected.hear)])
    return collected, writing


@contextmanager
def server(
    processor: Callable[..., torch.Tensor] | None = None,
    *,
    name: str = NAME,
    send_buffer: int | None = None,
    writes: CalcGenerator | None = None,
    **limits: Any,
) -> Iterator[Any]:
    """A server on a free port, in a thread; has `address` and `engine`.

    send_buffer: bytes that the system takes for a client before the server has to wait
    """
    from curta.delegate.serving.api import Server

    with (
        engine(processor=processor, writes=writes, **limits) as made,
        bound("127.0.0.1", 0) as listener,
    ):
        if send_buffer is not None:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        serving = Server(made, name)
        serving.address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=serving.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        until(lambda: serving.started)
        try:
            yield serving
        finally:
            serving.should_exit = True
            thread.join(30)
            assert not thread.is_alive()
