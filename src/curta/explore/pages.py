"""A page as one file: what is shown, the program that shows it, and the engine."""

from __future__ import annotations

import base64
import gzip
import html
import json
from importlib import resources
from typing import Any

WORKER = ("follow", "run", "fetches", "streams", "answers", "worker")
MACHINE = ("dom", "load", "app", "scrubber", "code", "state", "residual", "token", "controls")
GRAPH = ("dom", "load", "residual", "graph")
STREAM = ("dom", "load", "stream")
STRICT = '"use strict";\n'


def part(name: str) -> str:
    """A file of the page."""
    folder = resources.files("curta.explore") / "page"
    return folder.joinpath(name).read_text(encoding="utf-8")


def scripts(folder: str, names: tuple[str, ...]) -> str:
    """Files of a folder, one behind the other."""
    return STRICT + "\n".join(part(f"{folder}/{name}.js").removeprefix(STRICT) for name in names)


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
        scripts("view", MACHINE) + "\nstart();\n",
        [
            carried("engine", packed(engine)),
            carried("worker", scripts("worker", WORKER)),
        ],
    )


def graph_page(data: dict[str, Any]) -> str:
    """A run of a small model."""
    script = scripts("view", GRAPH) + "\nstartGraph();\n"
    return page(data, "graph", part("graph.html"), script, [])


def stream_page(data: dict[str, Any]) -> str:
    """What a language model wrote, and modules between."""
    script = scripts("view", STREAM) + "\nstartStream();\n"
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
