"""Serve a language model until somebody ends it."""

from __future__ import annotations

import argparse
import importlib.util
import json
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from curta.app.waiting import spinning
from curta.delegate.serving.limits import Limits
from curta.errors import UserError

if TYPE_CHECKING:
    from curta.delegate.serving.engine import Engine

NEEDED = {
    "transformers": "delegate",
    "starlette": "web",
    "uvicorn": "web",
}
"""Packages, and the extras of curta that they come with."""


def serve(options: argparse.Namespace) -> int:
    """Listen, load, say where, and answer."""
    limits = Limits(
        most_tokens=options.most_tokens,
        time_limit=options.time_limit,
        queue=options.queue,
        batch=options.batch,
        most_bytes=options.most_bytes,
    )
    check_packages()
    from curta.delegate.serving.server import Server, bound

    with bound(options.host, options.port) as listener:
        with spinning(f"loading {options.model}"):
            server = Server(engine(options, limits), options.served_name or options.model)
        listener.listen()
        greet(listener, server.engine.places, options)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
    return 0


def engine(options: argparse.Namespace, limits: Limits) -> Engine:
    """The model with everything around it, ready to write."""
    from curta.delegate import models
    from curta.delegate.calculator import Calculator
    from curta.delegate.interception.generator import CalcGenerator
    from curta.delegate.serving.engine import Engine

    adapter = Path(options.adapter) if options.adapter else None
    models.warn_untaught(options.model, adapter)
    model, tokenizer = models.load(options.model, adapter=adapter, device=options.device)
    generator = CalcGenerator(
        model,
        tokenizer,
        calculator=Calculator(options.backend, device=options.device),
        constrained=options.constrained,
    )
    return Engine(generator, limits)


def greet(listener: socket.socket, places: int, options: argparse.Namespace) -> None:
    """Where it listens, and a line to try."""
    host, port = listener.getsockname()[:2]
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    print(f"listening on {address}/v1 ({places} at once; Ctrl-C ends it)")
    body = {
        "model": options.served_name or options.model,
        "messages": [{"role": "user", "content": "What is 87 times 24?"}],
    }
    quoted = json.dumps(body).replace("'", "'\\''")
    print(
        f"curl {address}/v1/chat/completions -H 'Content-Type: application/json' -d '{quoted}'",
        flush=True,
    )


def check_packages() -> None:
    """Raise an error that says what to install."""
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        extras = ",".join(sorted({NEEDED[name] for name in missing}))
        raise UserError(f"curta serve needs {', '.join(missing)}: pip install 'curta[{extras}]'")
