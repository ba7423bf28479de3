"""Tools served by the Model Context Protocol, with its official SDK.

Every tool answers with the same structure, an `Answer`; what one cannot do is an answer, too,
marked as an error, so that a model can read it. Calls wait for one another if there are too many.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from fractions import Fraction
from threading import Event
from typing import Any

import anyio
import mcp_types as types
import uvicorn
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server
from starlette.requests import ClientDisconnect

import curta
from curta.delegate.given_up import GIVEN_UP, nobody_waits
from curta.delegate.servers import unless_gone
from curta.delegate.tools.tool import Answer, Tool, refused

INSTRUCTIONS = (
    "Exact computation: a calculator, and a transformer that executes C and WebAssembly in a "
    "sandbox. Use these tools instead of computing in your head."
)
OUTPUT = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "description": "the result in words"},
        "value": {"description": "the result; a fraction as a text such as 2/3"},
        "exact": {"type": "boolean", "description": "whether nothing was rounded"},
        "tokens": {"type": "integer", "description": "that the transformer read and said"},
        "error": {"type": ["string", "null"], "description": "why there is no result"},
    },
    "required": ["text", "value", "exact", "tokens", "error"],
}
NOTHING_ELSE = types.ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
"""What a sandboxed tool promises."""
OTHERWISE = {
    "allow more with max_tokens (--max-tokens)": "curta mcp --tokens allows more",
    "allow more with max_memory (--max-memory)": "curta mcp --pages allows more",
    "one by one with --invoke NAME, or with Machine.instantiate": "by their names, as function",
    "use instantiate and invoke (--invoke NAME)": "say which one as function",
}
"""What users of commands are told to do, for those who call from elsewhere."""
PATH = "/mcp"
Context = ServerRequestContext[Any]


def server_of(tools: Sequence[Tool], at_once: int) -> Server[Any]:
    """A server that lists tools and calls them, so many calls at once."""
    by_name = {tool.name: tool for tool in tools}
    calls = anyio.CapacityLimiter(at_once)

    async def listed(
        context: Context, parameters: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[shown(tool) for tool in tools])

    async def called(
        context: Context, parameters: types.CallToolRequestParams
    ) -> types.CallToolResult:
        tool = by_name.get(parameters.name)
        if tool is None:
            return result_of(Answer("no such tool", error=f"there are: {', '.join(by_name)}"))
        arguments = parameters.arguments or {}
        return result_of(await call_of(tool, arguments, calls, context.request))

    return Server(
        "curta",
        version=curta.__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=listed,
        on_call_tool=called,
    )


async def call_of(
    tool: Tool, arguments: Mapping[str, Any], calls: anyio.CapacityLimiter, request: Any = None
) -> Answer:
    """A call in a thread, which ends when its client gives up or goes.

    By the older protocols a client whose connection is lost may come back for the answer; but not
    to this server, which keeps none. So the call that came by a request over HTTP ends with it.
    """
    given_up = Event()

    def answer() -> Answer:
        GIVEN_UP.set(given_up)
        return tool.call(arguments)

    answering = anyio.to_thread.run_sync(answer, limiter=calls, abandon_on_cancel=True)
    try:
        return await (answering if request is None else unless_gone(request.receive, answering))
    except ClientDisconnect:
        return refused(nobody_waits())
    finally:
        given_up.set()


def shown(tool: Tool) -> types.Tool:
    """A tool as a list of tools has it."""
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=dict(tool.parameters),
        output_schema=OUTPUT,
        annotations=NOTHING_ELSE if tool.sandboxed else None,
    )


def result_of(answer: Answer) -> types.CallToolResult:
    """An answer as text and as a structure."""
    why = answer.error
    for words, others in OTHERWISE.items():
        why = why and why.replace(words, others)
    text = why or answer.text
    if not text.startswith(answer.text):
        text = f"{answer.text}: {text}"
    value = str(answer.value) if isinstance(answer.value, Fraction) else answer.value
    structure = asdict(answer) | {"value": value, "error": why}
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=structure,
        is_error=answer.error is not None,
    )


async def serve_stdio(server: Server[Any]) -> None:
    """Answer one client, who started this process, until it closes the standard input, or goes."""
    try:
        async with stdio_server() as (given, said):
            await server.run(given, said, server.create_initialization_options())
    except* BrokenPipeError:  # it does not read any more
        pass


def serve_http(server: Server[Any], listener: socket.socket, host: str) -> None:
    """Answer whoever comes, until Ctrl-C. A server on this computer refuses requests that pages of
    the web make a browser send.
    """
    application = server.streamable_http_app(streamable_http_path=PATH, host=host)
    options = uvicorn.Config(application, log_level="warning", timeout_graceful_shutdown=3)
    uvicorn.Server(options).run(sockets=[listener])
