"""The endpoints on a socket, from the first request to Ctrl-C."""

from __future__ import annotations

import asyncio
import socket

import uvicorn

from curta.delegate.serving.api import application
from curta.delegate.serving.engine import Engine

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
