"""A page as one file: what is shown, the program that shows it, and the engine."""

from __future__ import annotations

import base64
import gzip
import html
import json
from importlib import resources
from typing import Any

WORKER = ("worker/follow.js", "worker/run.js", "worker/fetches.js", "worker/answers.js")
MACHINE = ("dom", "load", "app", "scrubber", "code", "state", "token", "controls")
STRICT = '"use strict";\n'


def part(name: str) -> str:
    """A file of the page."""
    folder = resources.files("curta.explore") / "page"
    return folder.joinpath(name).read_text(encoding="utf-8")


def scripts(names: tuple[str, ...]) -> str:
    return STRICT + "\n".join(part(name).removeprefix(STRICT) for name in names)


def packed(content: bytes) -> str:
    """Compressed, as text."""
    return base64.b64encode(gzip.compress(content, 9, mtime=0)).decode()


def carried(name: str, content: str) -> str:
    return f'<script type="text/plain" id="{name}">{content}</script>'


def machine_page(data: dict[str, Any], engine: bytes) -> str:
    """A run of the machine."""
    return page(
        data,
        "machine",
        part("machine.html"),
        scripts(tuple(f"view/{name}.js" for name in MACHINE)) + "\nstart();\n",
        [
            carried("engine", packed(engine)),
            carried("worker", scripts((*WORKER, "worker/worker.js"))),
        ],
    )


def graph_page(data: dict[str, Any]) -> str:
    """A run of a small model."""
    script = scripts(("view/dom.js", "view/load.js", "view/graph.js")) + "\nstartGraph();\n"
    return page(data, "graph", part("graph.html"), script, [])


def stream_page(data: dict[str, Any]) -> str:
    """What a language model wrote, and modules between."""
    script = scripts(("view/dom.js", "view/load.js", "view/stream.js")) + "\nstartStream();\n"
    return page(data, "stream", part("stream.html"), script, [])


def page(data: dict[str, Any], kind: str, body: str, script: str, carries: list[str]) -> str:
    """The whole file."""
    payload = json.dumps(data, separators=(",", ":")).encode()
    return part("page.html") % {
        "title": html.escape(data["title"]),
        "kind": kind,
        "style": part("style.css"),
        "body": body,
        "data": "\n".join([carried("payload", packed(payload)), *carries]),
        "script": script,
    }
