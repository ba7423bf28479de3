"""The command that serves a language model."""

from __future__ import annotations

import argparse
import importlib

from curta.app.calc_commands import add_backend
from curta.app.parser import Parser

LIMITS = (
    ("most-tokens", int, 1024, "written for a choice, answers of calls included"),
    ("time-limit", float, 120.0, "seconds from a request's arrival to its end"),
    ("queue", int, 64, "choices that may wait; more are refused"),
    ("batch", int, 16, "choices that are written at once"),
    ("most-bytes", int, 1 << 20, "of a request"),
)


def add_serve(commands: argparse._SubParsersAction[Parser]) -> None:
    """`curta serve --model NAME`"""
    serve = commands.add_parser(
        "serve",
        help="serve a language model that calls the calculator, as OpenAI's API does",
        description="Chat and completions, streaming or not, for many clients at once: calls are "
        "answered while the model writes. Ends with Ctrl-C.",
    )
    serve.add_argument("--model", required=True, metavar="NAME", help="on the Hub, or a folder")
    serve.add_argument("--adapter", metavar="FOLDER", help="from curta delegate train")
    serve.add_argument("--served-name", metavar="NAME", help="what clients call it (its own name)")
    serve.add_argument("--host", default="127.0.0.1", help="where to listen (127.0.0.1)")
    serve.add_argument("--port", type=int, default=8000, help="0 for any that is free (8000)")
    serve.add_argument(
        "--device",
        help="as cuda or cpu, for the model (a GPU if there is one) and for the backends kernel "
        "and torch (cpu)",
    )
    add_backend(serve)
    serve.add_argument(
        "--constrained",
        action="store_true",
        help="inside of a call, only what can become an expression may be written",
    )
    for name, kind, default, what in LIMITS:
        serve.add_argument(f"--{name}", type=kind, default=default, help=f"{what} ({default})")
    serve.set_defaults(command=run_serve)


def run_serve(options: argparse.Namespace) -> int:
    """Import what serves only now."""
    code: int = importlib.import_module("curta.app.serve").serve(options)
    return code
