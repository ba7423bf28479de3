"""What servers have in common: where they listen, and clients that go away."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable
from typing import TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from curta.errors import UserError

Made = TypeVar("Made")


def bound(host: str, port: int) -> socket.socket:
    """A socket to listen on; port 0 is any that is free."""
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(kind, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except (OSError, OverflowError) as error:
        made.close()
        raise UserError(
            f"cannot listen on --host {host} --port {port}: {error}; choose another"
        ) from error
    return made


def address_of(listener: socket.socket) -> str:
    """What clients call it."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


async def unless_gone(receive: Receive, made: Awaitable[Made]) -> Made:
    """What comes of this, unless the client of an HTTP request goes away before."""
    working = asyncio.ensure_future(made)
    watching = asyncio.ensure_future(gone(receive))
    try:
        await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return working.result()
    finally:
        for task in (working, watching):
            task.cancel()
        await asyncio.gather(working, watching, return_exceptions=True)


async def gone(receive: Receive) -> None:
    """Returns when the client has gone away."""
    while (await receive())["type"] != "http.disconnect":
        pass
