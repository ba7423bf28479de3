"""`curta serve`: a language model, until somebody ends it."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field

from curta.delegate.options import Answering
from curta.delegate.serving.limits import Limits
from curta.options import option
from curta.terminal import spinning


@dataclass(frozen=True)
class Options(Answering):
    """Serve a language model that calls tools, as OpenAI's API does: chat and completions,
    streaming or not, for many clients at once. Calls of the calculator and of --tool are answered
    while the model writes, those of a client's tools by the client. Ends with Ctrl-C.

    served_name: what clients call it (its own name)
    host:        where to listen
    port:        0 for any that is free
    """

    served_name: str | None = option(None, metavar="NAME")
    host: str = "127.0.0.1"
    port: int = 8000
    limits: Limits = field(default_factory=Limits)


def run(options: Options) -> int:
    """Listen, load, say where, and answer."""
    from curta.delegate.servers import address_of, bound
    from curta.delegate.serving.api import Server
    from curta.delegate.serving.engine import Engine

    name = options.served_name or options.model
    with bound(options.host, options.port) as listener:
        with spinning(f"loading {options.model}"):
            server = Server(Engine(options.generator(), options.limits), name)
        listener.listen()
        greet(address_of(listener), server.engine.places, name)
        try:
            server.run(sockets=[listener])
        except KeyboardInterrupt:
            print("stopped", file=sys.stderr)
    return 0


def greet(address: str, places: int, name: str) -> None:
    """Where it listens, and a line to try."""
    print(f"listening on {address}/v1 ({places} at once; Ctrl-C ends it)")
    body = {"model": name, "messages": [{"role": "user", "content": "What is 87 times 24?"}]}
    quoted = json.dumps(body).replace("'", "'\\''")
    print(
        f"curl {address}/v1/chat/completions -H 'Content-Type: application/json' -d '{quoted}'",
        flush=True,
    )
