"""`curta mcp`, asked by the SDK's own client: over standard input and output, and over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

import anyio
from mcp import Client, StdioServerParameters, stdio_client

from curta.delegate.given_up import is_given_up
from curta.delegate.tools.mcp_server import OTHERWISE, result_of
from curta.delegate.tools.strangers import answer_to
from curta.delegate.tools.tool import Answer, Bounds, refused
from curta.errors import CurtaError
from tests.support.slow import all_but
from tests.support.waiting import until

HERE = Path(__file__).parent
COMMAND = ["-m", "curta", "mcp", "--tool", f"{HERE}/tools.c:gcd", "--seconds", "60"]
DOUBLE = "int twice(int x) { return 2 * x; }"
PRINTS = """
void write_byte(unsigned file, unsigned byte)
    __attribute__((import_module("curta"), import_name("write")));
unsigned read_byte(void) __attribute__((import_module("curta"), import_name("read")));
int main(void) { write_byte(1, read_byte() + 1); return 256 + 3; }
"""
SPINS = "int main(void) { for (volatile int i = 0;; i++) ; }"
ADD = (
    '(module (func (export "add") (param i32) (result i32) (i32.add (local.get 0) (i32.const 1))))'
)


def on_stdio(ask: Callable[[Client], Awaitable[None]]) -> None:
    """Start a server, and ask it."""
    parameters = StdioServerParameters(command=sys.executable, args=COMMAND, env=dict(os.environ))

    async def asked() -> None:
        async with Client(stdio_client(parameters)) as client:
            await ask(client)

    anyio.run(asked)


async def structure(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert result.is_error == (result.structured_content["error"] is not None)
    return result.structured_content


async def ask_everything(client: Client) -> None:
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(listed) == ["calculate", "run_c", "run_wasm", "verify", "gcd"]
    assert all(tool.annotations.read_only_hint for tool in listed.values())
    assert listed["gcd"].description == "The greatest common divisor."
    calculated = await structure(client, "calculate", expression="2/3")
    assert (calculated["value"], calculated["exact"]) == ("2/3", False)
    assert (await structure(client, "calculate", expression="1/0"))["text"] == "undefined"
    assert (await structure(client, "gcd", a=12, b=18))["value"] == 6
    found = await structure(client, "run_c", source=DOUBLE, function="twice", arguments={"x": 21})
    assert (found["value"], found["exact"], found["tokens"] > 0) == (42, True, True)
    found = await structure(client, "run_c", source=PRINTS, stdin="A")
    assert found["value"] == {"stdout": "B", "stderr": "", "exit_code": 3}
    found = await structure(client, "run_wasm", module=ADD, function="add", arguments=[2])
    assert found["value"] == 3


async def ask_for_proof(client: Client) -> None:
    found = await structure(client, "verify", source=PRINTS, stdin="A")
    assert found["value"]["verdict"] == "verified, except what wasmtime would do"
    assert found["value"]["compared"] > 20


async def ask_badly(client: Client) -> None:
    refused = await structure(client, "run_c", source='#include "/etc/passwd"')
    assert (refused["text"], "root:" in refused["error"]) == ("does not compile", False)
    for name, arguments, words in [
        ("run_c", {"source": DOUBLE, "function": "absent"}, "there is no function 'absent'"),
        ("run_c", {"source": DOUBLE, "function": "twice", "arguments": {"x": "1"}}, "x: expected"),
        ("run_c", {"sauce": DOUBLE}, "no argument 'sauce'"),
        ("run_c", {"source": SPINS}, "curta mcp --tokens allows more"),
        ("run_wasm", {"module": "AGFzbQ=="}, "at byte"),
        ("run_wasm", {"module": ADD}, "say which one as function"),
        ("run_wasm", {"module": "%"}, "neither text nor base64"),
        ("verify", {}, "give either source or module"),
        ("nothing", {}, "there are: calculate"),
    ]:
        assert words in (await structure(client, name, **arguments))["error"]


@pytest.mark.parametrize(
    "ask", all_but([ask_everything], [ask_everything, ask_badly, ask_for_proof])
)
def test_a_client_on_stdio_is_answered(ask: Callable[[Client], Awaitable[None]]) -> None:
    on_stdio(ask)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server that listens."""
    with listening("--at-once", "2") as found:
        yield found


@contextmanager
def listening(*options: str) -> Iterator[str]:
    """The address of a server with more options."""
    command = [sys.executable, *COMMAND, "--http", "--port", "0", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            (found,) = re.findall(r"listening on (\S+)", server.stdout.readline())
            yield found
        finally:
            server.terminate()


def test_clients_on_http_are_answered_at_once(address: str) -> None:
    async def ask(number: int, found: dict[int, Any]) -> None:
        async with Client(address) as client:
            answer = await structure(
                client, "run_c", source=DOUBLE, function="twice", arguments={"x": number}
            )
            found[number] = answer["value"]

    async def ask_all() -> dict[int, Any]:
        found: dict[int, Any] = {}
        async with anyio.create_task_group() as group:
            for number in range(4):
                group.start_soon(ask, number, found)
        return found

    assert anyio.run(ask_all) == {number: 2 * number for number in range(4)}


def test_a_client_that_vanishes_leaves_room_for_others(address: str) -> None:
    async def vanish_and_ask() -> Any:
        async with Client(address) as client:
            for _ in range(3):
                with anyio.move_on_after(0.5):
                    await client.call_tool("run_c", {"source": SPINS})
        async with Client(address) as client:
            return (await structure(client, "gcd", a=4, b=6))["value"]

    assert anyio.run(vanish_and_ask) == 2


def test_a_call_ends_when_its_client_gives_up() -> None:
    from curta.delegate.tools.mcp_server import call_of

    class Endless:
        name = "endless"

        def __init__(self) -> None:
            self.ended = threading.Event()

        def call(self, arguments: Any) -> Answer:
            while not is_given_up():
                time.sleep(0.01)
            self.ended.set()
            return Answer("")

    tool = Endless()

    async def give_up() -> None:
        with anyio.move_on_after(0.2):
            await call_of(tool, {}, anyio.CapacityLimiter(1))

    anyio.run(give_up)
    assert tool.ended.wait(10)


SLEEPS = """
import os, time

def sleep(path: str) -> int:
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    time.sleep(1000)
    return 0
"""


@pytest.mark.parametrize("version", ["2025-03-26", "2025-06-18"])
def test_a_call_ends_with_a_connection_that_is_lost(version: str, tmp_path: Path) -> None:
    """By older protocols there is a session, which nobody has ended."""
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    file = tmp_path / "process"
    with listening("--tool", f"{tmp_path}/sleeps.py:sleep") as address:
        where = urlsplit(address)

        def post(method: str, **given: Any) -> http.client.HTTPConnection:
            connection = http.client.HTTPConnection(where.netloc, timeout=60)
            body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}
            connection.request("POST", where.path, json.dumps(body), headers)
            return connection

        headers = {"Content-Type": "application/json"}
        headers["Accept"] = "application/json, text/event-stream"
        client = {"name": "old", "version": "1"}
        with closing(
            post("initialize", protocolVersion=version, capabilities={}, clientInfo=client)
        ) as begun:
            session = begun.getresponse().headers["mcp-session-id"]
        headers |= {"mcp-session-id": session, "MCP-Protocol-Version": version}
        asked = post("tools/call", name="sleep", arguments={"path": str(file)})
        until(lambda: file.is_file() and bool(file.read_text()))
        asked.close()
        until(lambda: not Path(f"/proc/{file.read_text()}").exists())


def test_pages_of_the_web_cannot_have_a_browser_ask(address: str) -> None:
    import urllib.error
    import urllib.request

    headers = {"Content-Type": "application/json", "Origin": "https://example.com"}
    request = urllib.request.Request(address, b"{}", headers)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request)


@pytest.mark.slow
def test_the_server_ends_when_the_client_goes() -> None:
    with subprocess.Popen(
        [sys.executable, *COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as server:
        assert server.stdin is not None
        time.sleep(1)
        server.stdin.close()
        assert server.wait(60) == 0


ENDLESS = '(module (func (export "_start") (loop (br 0))))'
LARGE = '(module (memory 9) (func (export "_start")))'


@pytest.mark.parametrize(
    ("words", "question", "bounds", "text"),
    [
        *zip(
            OTHERWISE,
            [{"wasm": ENDLESS}, {"wasm": LARGE}, {"c": DOUBLE}, {"wasm": ADD}],
            [Bounds(tokens=50_000), Bounds(pages=8), Bounds(), Bounds()],
            ["took too long", "took too long", "does not compile", "error"],
            strict=True,
        )
    ],
)
def test_whoever_asks_a_server_is_told_of_its_options(
    words: str, question: dict[str, str], bounds: Bounds, text: str
) -> None:
    """Errors of other rooms still have the words for which there are others here."""
    try:
        answer = Answer(**answer_to({"stdin": "", "bounds": asdict(bounds)} | question))
    except CurtaError as error:
        answer = refused(error)
    assert answer.error is not None
    assert words in answer.error
    told = answer.error.replace(words, OTHERWISE[words])
    found = result_of(answer)
    assert found.structured_content["error"] == told
    assert [each.text for each in found.content] == [f"{text}: {told}"]
