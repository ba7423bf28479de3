"""Where servers listen."""

from __future__ import annotations

import socket

from curta.errors import UserError


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
