"""The server: OpenAI's chat and completions, models, health and metrics. Beside OpenAI's fields,
answers say what was computed; that, and what differs: docs/delegate.md, "Serving".
"""

from __future__ import annotations

import asyncio
import contextlib
import copy
import json
import logging
import socket
import threading
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import uvicorn
from jinja2 import TemplateError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from curta.delegate.interception.bodies import value_of
from curta.delegate.interception.constraint import grammars
from curta.delegate.interception.equations import Equations
from curta.delegate.interception.formats import Inline
from curta.delegate.interception.generator import CalcGenerator, Prompt
from curta.delegate.interception.pieces import Fragments, common
from curta.delegate.interception.row import Calling
from curta.delegate.interception.template import Format
from curta.delegate.servers import unless_gone
from curta.delegate.serving.engine import Engine
from curta.delegate.serving.metrics import Metrics
from curta.delegate.serving.parameters import ChatWished, TokenPrompt, Wish, decoded, read
from curta.delegate.serving.refusals import RefusedError, wrong
from curta.delegate.serving.shapes import Shape
from curta.delegate.serving.writing import Piece, Told, Wanted
from curta.errors import UserError

log = logging.getLogger(__name__)
GONE = 499
"""The status under which answers to nobody are counted."""
FAREWELL = 3
"""Seconds that clients have to take what is left, at the end."""


class Server(uvicorn.Server):
    """Serves one engine; when it is told to end, it ends the engine's answers first."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        super().__init__(
            uvicorn.Config(
                application(engine, name),
                log_level="warning",
                access_log=False,
                lifespan="off",
                timeout_graceful_shutdown=FAREWELL,
            )
        )

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Streams end with an event that says why, and everything is closed."""
        await asyncio.to_thread(self.engine.stop)
        await super().shutdown(sockets)


def application(engine: Engine, name: str) -> ASGIApp:
    """The server's endpoints for one model, under a name."""
    api = Api(engine, name)
    routes = Starlette(
        routes=[
            Route("/v1/chat/completions", partial(api.answer, chat=True), methods=["POST"]),
            Route("/v1/completions", partial(api.answer, chat=False), methods=["POST"]),
            Route("/v1/models", api.models),
            Route("/v1/models/{name:path}", api.model),
            Route("/health", api.health),
            Route("/metrics", api.metrics),
        ],
        exception_handlers=dict.fromkeys(
            (RefusedError, ClientDisconnect, HTTPException, Exception), refused
        ),
    )
    return counted(routes, engine.metrics)


class Api:
    """What the endpoints do."""

    def __init__(self, engine: Engine, name: str) -> None:
        self.engine = engine
        self.name = name
        self.prompts = Prompts(engine.generator)

    async def answer(self, request: Request, *, chat: bool) -> Response:
        """An assistant's message, or what follows a text."""
        limits = self.engine.limits
        body = await whole_body(request, limits.most_bytes)
        asked = read(decoded(body), chat=chat, served=self.name, limits=limits)
        wanted, read_tokens = await run_in_threadpool(self.wanted, asked)
        generator = self.engine.generator
        format = (wanted[0].calling or generator.calling).format
        is_marked = format.at_once and not isinstance(format, Equations)
        opening = generator.protocol.open if is_marked else ""
        answer = Answer(self.engine, wanted, read_tokens, Shape(chat, self.name, opening))
        events = answer.events(asked.stream_options.include_usage)
        try:
            if not asked.stream:
                return JSONResponse(await unless_gone(request.receive, answer.whole()))
            first = await unless_gone(request.receive, anext(events))
        except BaseException:
            answer.leave()
            raise
        return EventStream(answer, first, events, limits.time_limit)

    def wanted(self, asked: Wish) -> tuple[list[Wanted], int]:
        """One for each choice of each prompt, and how many tokens the prompts have."""
        made, read_tokens = [], 0
        calling, begins = calls_of(self.engine.generator, asked)
        beginning = self.prompts.beginning(begins)
        for number, prompt in enumerate(asked.prompts):
            tokens = (*self.prompts.tokens(prompt, asked.parameter, calling.format), *beginning)
            read_tokens += len(tokens)
            most = self.prompts.most_tokens(
                tokens, asked.most_tokens, self.engine.limits.most_tokens, asked.parameter
            )
            wanted = Wanted(
                tokens,
                most,
                asked.temperature,
                asked.top_p,
                stops=tuple(asked.stop),
                calling=calling,
                scored=asked.scored,
                begins=begins,
                begun_tokens=len(beginning),
            )
            for choice in range(asked.n):
                seed = None if asked.seed is None else f"{asked.seed} {number} {choice}"
                made.append(replace(wanted, seed=seed))
        return made, read_tokens

    async def models(self, request: Request) -> Response:
        """The one there is."""
        return JSONResponse({"object": "list", "data": [self.described()]})

    async def model(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name != self.name:
            raise RefusedError(
                f"there is no model {name!r} here", status=404, code="model_not_found"
            )
        return JSONResponse(self.described())

    def described(self) -> dict[str, Any]:
        """The model, as OpenAI lists them."""
        return {"id": self.name, "object": "model", "created": 0, "owned_by": "curta"}

    async def health(self, request: Request) -> Response:
        """Whether answers are written."""
        lives = self.engine.worker.is_alive() and not self.engine.is_stopping
        return JSONResponse({"status": "ok" if lives else "stopped"}, 200 if lives else 503)

    async def metrics(self, request: Request) -> Response:
        return PlainTextResponse(
            self.engine.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8"
        )


def calls_of(generator: CalcGenerator, asked: Wish) -> tuple[Calling, str]:
    """How an answer calls, and how it has to begin."""
    if not isinstance(asked, ChatWished):
        return generator.calling_behind(""), ""
    tools, shape = asked.client_tools, None
    if (schema := asked.response_format.asked) is not None:
        schema = {"x-guidance": {"whitespace_flexible": False}} | schema  # without spaces
        shape = checked_shape(generator, schema, "response_format")
    if not tools:
        return generator.calling if shape is None else generator.calling_with((), shape=shape), ""
    if generator.for_tools is None and type(generator.format) in (Inline, Equations):
        why = "the model calls the calculator alone, and knows no other calls"
        raise wrong("tools", f"{why}; serve it with --format prompted", "tools_not_supported")
    must_call = asked.must_call
    for tool in tools if must_call is not None else ():
        checked_shape(generator, tool.parameters, "tools", f"parameters of {tool.name}: ")
    names = frozenset(tool.name for tool in tools)
    own = [tool for tool in generator.tools if tool.name not in names]
    calling = generator.calling_with(
        (*own, *tools), asked=names, constrained=must_call is not None, shape=shape
    )
    try:
        openings = {name: calling.format.opening(name) for name in names}
    except UserError as error:  # no marker can have its name
        raise wrong("tools", str(error), "tools_not_supported") from error
    if must_call is None:
        return calling, ""
    possible = [openings[must_call]] if must_call else list(openings.values())
    return calling, possible[0][: common(*possible)]


def checked_shape(
    generator: CalcGenerator, schema: Mapping[str, Any], parameter: str, where: str = ""
) -> str:
    """The grammar of JSON that has a schema, if it can be had."""
    shape = value_of(schema, space="")
    if problem := grammars(generator.tokenizer).problem(shape):
        raise wrong(parameter, f"{where}{problem}")
    return shape


class Prompts:
    """Has a tokenizer of its own: one cannot be used by two threads at once."""

    def __init__(self, generator: CalcGenerator) -> None:
        self.generator = copy.copy(generator)
        self.generator.tokenizer = copy.deepcopy(generator.tokenizer)
        self.fragments = Fragments(self.generator.tokenizer)
        self.lock = threading.Lock()
        self.context = generator.context
        self.vocabulary: int = generator.model.config.get_text_config(decoder=True).vocab_size

    def beginning(self, text: str) -> TokenPrompt:
        """How an answer has to begin."""
        with self.lock:
            return self.fragments.encode(text) if text else ()

    def tokens(self, prompt: Prompt | TokenPrompt, parameter: str, format: Format) -> TokenPrompt:
        """The same tokens as in `CalcGenerator`; `parameter` is where the prompt came from."""
        if isinstance(prompt, tuple):
            if not all(0 <= token < self.vocabulary for token in prompt):
                raise wrong(parameter, f"tokens are numbers below {self.vocabulary}")
            return prompt
        if not isinstance(prompt, str) and self.generator.tokenizer.chat_template is None:
            raise wrong(parameter, "the model has no chat template: use /v1/completions")
        try:
            with self.lock:
                made = self.generator.encoded(prompt, format)
        except TemplateError as error:
            raise wrong(parameter, f"the model's chat template refuses it: {error}") from error
        if not made:
            raise wrong(parameter, "there is nothing in it")
        return tuple(made)

    def most_tokens(self, prompt: TokenPrompt, asked: int | None, limit: int, where: str) -> int:
        """How many tokens may be written behind a prompt."""
        if self.context is None:
            return limit if asked is None else asked
        room = self.context - len(prompt)
        if room < (asked or 1):
            wanted = f" and {asked} more are asked for" if asked else ""
            raise RefusedError(
                f"the prompt has {len(prompt)} tokens{wanted}: "
                f"the model takes {self.context} in all",
                code="context_length_exceeded",
                parameter=where,
            )
        return min(limit, room) if asked is None else asked


class Answer:
    """The choices of one request, which are written from now on, on their way from the engine's
    thread to the client.
    """

    def __init__(
        self, engine: Engine, wanted: list[Wanted], read_tokens: int, shape: Shape
    ) -> None:
        self.engine = engine
        self.read_tokens = read_tokens
        self.shape = shape
        self.told: asyncio.Queue[tuple[int, Told]] = asyncio.Queue()
        self.said: dict[int, Piece] = {}
        """What has been told so far, by choice."""
        self.loop = asyncio.get_running_loop()
        self.writings = engine.submit(
            [(each, partial(self.hear, n)) for n, each in enumerate(wanted)]
        )

    def hear(self, number: int, told: Told) -> None:
        """The engine's thread calls this for a choice."""
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody listens
            self.loop.call_soon_threadsafe(self.told.put_nowait, (number, told))

    def leave(self) -> None:
        """Nobody wants the rest, if there is one."""
        self.engine.cancel([each for each in self.writings if each.outcome is None])

    async def pieces(self) -> AsyncIterator[tuple[int, Piece]]:
        """Everything there is to tell, up to the end of all choices, which `said` has then."""
        left = len(self.writings)
        while left:
            number, told = await self.told.get()
            if isinstance(told, RefusedError):
                raise told
            yield number, told
            self.said[number] = self.said.get(number, Piece()) + told
            left -= bool(told.reason)

    @property
    def usage(self) -> dict[str, int]:
        written = sum(each.tokens for each in self.said.values())
        return {
            "prompt_tokens": self.read_tokens,
            "completion_tokens": written,
            "total_tokens": self.read_tokens + written,
        }

    async def whole(self) -> dict[str, Any]:
        async for _ in self.pieces():
            pass
        choices = [self.shape.choice(*each) for each in sorted(self.said.items())]
        return self.shape.answer(choices, streamed=False, usage=self.usage)

    async def events(self, include_usage: bool) -> AsyncIterator[dict[str, Any]]:
        extra = {"usage": None} if include_usage else {}
        async for number, piece in self.pieces():
            for event in self.shape.deltas(number, piece, self.said.get(number)):
                yield event | extra
        if include_usage:
            yield self.shape.answer([], streamed=True, usage=self.usage)


class EventStream(StreamingResponse):
    """Server-sent events, to a client who may be slow, or go away."""

    def __init__(
        self,
        answer: Answer,
        first: dict[str, Any],
        events: AsyncIterator[dict[str, Any]],
        patience: float,
    ) -> None:
        headers = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        super().__init__(lines(first, events), headers=headers, media_type="text/event-stream")
        self.answer = answer
        self.patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_in_time(message: Message) -> None:
            async with asyncio.timeout(self.patience):
                await send(message)

        try:
            await super().__call__(scope, receive, send_in_time)
        except TimeoutError:
            log.warning("a client took nothing for %g s: it is dropped", self.patience)
        finally:
            self.answer.leave()


async def lines(first: dict[str, Any], others: AsyncIterator[dict[str, Any]]) -> AsyncIterator[str]:
    """A stream of events, from its beginning to its end."""
    yield f"data: {json.dumps(first)}\n\n"
    try:
        async for event in others:
            yield f"data: {json.dumps(event)}\n\n"
    except RefusedError as refusal:
        yield f"data: {json.dumps(refusal.body())}\n\n"
    yield "data: [DONE]\n\n"


def counted(app: ASGIApp, metrics: Metrics) -> ASGIApp:
    """The same; its answers are counted by endpoint and status."""
    known = ("/v1/chat/completions", "/v1/completions", "/v1/models", "/health", "/metrics")

    async def answered(scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = scope["path"] if scope["path"] in known else "other"

        async def counting(message: Message) -> None:
            if message["type"] == "http.response.start":
                status = str(message["status"])
                metrics.requests.labels(endpoint=endpoint, status=status).inc()
            await send(message)

        await app(scope, receive, counting)

    return answered


async def whole_body(request: Request, most: int) -> bytes:
    """The body of a request, unless it is too large."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > most:
            raise RefusedError(
                f"the body has more than {most} bytes (--most-bytes)",
                status=413,
                code="body_too_large",
            )
    return body


async def refused(request: Request, error: Exception) -> Response:
    """What the client has to change, if it is still there, or that something of ours went wrong."""
    if isinstance(error, ClientDisconnect):
        return Response(status_code=GONE)
    headers: Mapping[str, str] | None = None
    if isinstance(error, HTTPException):  # there is no such endpoint, or not with this method
        where, headers = f"{request.method} {request.url.path}", error.headers
        error = RefusedError(f"{where}: {error.detail}", status=error.status_code)
    elif not isinstance(error, RefusedError):
        mistake = "the server made a mistake; its log says which"
        error = RefusedError(mistake, status=500, code="mistake")
    return JSONResponse(error.body(), error.status, headers=headers or error.headers())
