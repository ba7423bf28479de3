"""`curta mcp`: tools for whatever speaks the Model Context Protocol."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from threading import Thread
from typing import TYPE_CHECKING

from curta.delegate.checked import Checked, Count
from curta.delegate.tools.tool import Bounds, Tool
from curta.errors import UserError
from curta.options import option

if TYPE_CHECKING:
    from curta.delegate.tools.strangers import Strangers


@dataclass(frozen=True)
class Options(Checked):
    """Serve tools by the Model Context Protocol: calculate, run_c, run_wasm, verify, and tools of
    your own. A client starts this and talks to it by standard input and output; with --http, any
    number of clients come to an address. Ends with Ctrl-C, or when the client goes.

    tool:    a further tool: a file of C or WebAssembly, or one function, as dates.c:days_between or
             stats.py:describe (Python is not sandboxed)
    http:    listen instead of talking by standard input and output
    host:    where to listen
    port:    0 for any that is free
    at_once: calls that are answered at a time; others wait
    """

    tool: tuple[str, ...] = option((), metavar="FILE[:NAME]")
    http: bool = False
    host: str = "127.0.0.1"
    port: int = 8001
    at_once: Count = 2
    bounds: Bounds = field(default_factory=Bounds)


def run(options: Options) -> int:
    """Make the tools, and answer."""
    import anyio

    from curta.delegate.servers import address_of, bound
    from curta.delegate.tools.mcp_server import PATH, serve_http, serve_stdio, server_of
    from curta.delegate.tools.strangers import Strangers

    strangers = Strangers(options.bounds)
    server = server_of(all_tools(options, strangers), options.at_once)
    Thread(target=strangers.prepare, daemon=True).start()  # while the client gets ready
    try:
        if not options.http:
            anyio.run(serve_stdio, server)
            return 0
        with bound(options.host, options.port) as listener:
            listener.listen()
            print(f"listening on {address_of(listener)}{PATH}", flush=True)
            serve_http(server, listener, options.host)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
    return 0


def all_tools(options: Options, strangers: Strangers) -> list[Tool]:
    """Those that curta has, and those that are asked for."""
    from curta.delegate.tools.python import FunctionTool, described
    from curta.delegate.tools.words import tools_of

    functions = (strangers.run_c, strangers.run_wasm, strangers.verify)
    own = [FunctionTool(*described(each), each) for each in functions]
    further = tools_of(("calc", *options.tool), options.bounds)
    for tool in further:
        if tool.name in {each.name for each in own}:
            raise UserError(f"--tool: {tool.name} is a tool of curta's own; call it something else")
    return [further[0], *own, *further[1:]]
