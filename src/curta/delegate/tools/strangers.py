"""Programs that strangers wrote: compiled, lowered, proved and executed in a process of their own.

Inside the transformer a program can do nothing but compute. What works on it before, from the C
compiler's front end (compile.py) to the proof, is bounded by the process: in time, memory and
output, all of it together. The module is what such a process runs.
"""

from __future__ import annotations

import base64
import binascii
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from threading import Event, Lock
from typing import Any

from curta.delegate.tools.compile import Source, build
from curta.delegate.tools.program import MainTool, c_tools, computer, loaded, wasm_tools
from curta.delegate.tools.python import asked, serve
from curta.delegate.tools.tool import Answer, Bounds, Tool, refused
from curta.engine.native_level import Native
from curta.errors import CurtaError, UserError

COMPARED = 20_000
"""Tokens behind the prompt that another level reads, at most; it is ten thousand times slower."""
PATIENCE = 10
"""So many times as long a verification may take."""
FIRST = '#include <stdio.h>\nint main(void) { puts("ready"); }'
"""A program for which all is made that others need, too."""


@dataclass(frozen=True)
class Strangers:
    """Who asks for such a process."""

    bounds: Bounds
    preparing: Lock = field(default_factory=Lock)
    prepared: Event = field(default_factory=Event)

    def prepare(self) -> None:
        """Have all of the weights' code compiled: ten seconds the first time, without bounds. Other
        levels have none.
        """
        with self.preparing:
            if not self.prepared.is_set():
                loaded(build(Source("first.c", FIRST)), self.bounds)
                if isinstance(engine := computer().engine, Native):
                    engine.library.complete()
            self.prepared.set()

    def answer(self, **question: Any) -> Answer:
        """What a program comes to. A result of the process is an answer already."""
        self.prepare()
        slow = PATIENCE if question.get("verify") else 1
        bounds = replace(self.bounds, seconds=slow * self.bounds.seconds)
        try:
            return Answer(**asked(question | {"bounds": asdict(bounds)}, bounds, __name__))
        except CurtaError as error:
            return refused(error)

    def run_c(
        self,
        source: str,
        function: str = "",
        arguments: dict[str, Any] | None = None,
        stdin: str = "",
    ) -> Answer:
        """Compile C and execute it in the transformer, in a sandbox without files, network or time:
        either its main, which can read standard input and print, or one of its functions.

        source: the whole program; it can include headers of the C library only
        function: a function to call instead of main, such as double mean(const double *v, int n)
        arguments: of that function, by the names of its parameters, lengths of arrays left out
        stdin: what main can read
        """
        return self.answer(c=source, function=function, arguments=arguments or {}, stdin=stdin)

    def run_wasm(
        self,
        module: str,
        function: str = "",
        arguments: list[int | float] | None = None,
        stdin: str = "",
    ) -> Answer:
        """Execute a WebAssembly module in the transformer, in a sandbox: its _start, or a function.

        module: as text (WAT), or its bytes in base64
        function: an exported function to call instead of _start
        arguments: numbers for that function
        stdin: what the program can read
        """
        numbers = {f"p{at}": number for at, number in enumerate(arguments or [])}
        return self.answer(wasm=module, function=function, arguments=numbers, stdin=stdin)

    def verify(self, source: str = "", module: str = "", stdin: str = "") -> Answer:
        """Run a program in the transformer and check it: another implementation of its attention
        reads the first tokens of the run, and has to say every token that was said.

        source: a program in C with a main; or
        module: a WebAssembly module with a _start, as text (WAT) or in base64
        stdin: what the program can read
        """
        if bool(source) == bool(module):
            raise UserError("give either source or module")
        what = {"c": source} if source else {"wasm": module}
        return self.answer(**what, stdin=stdin, verify=True)


# -- the process ---------------------------------------------


def answer_to(question: Mapping[str, Any]) -> Any:
    """Run, call or verify."""
    bounds = Bounds(**question["bounds"])
    if question.get("function"):
        answer = tool_of(question, bounds).call(question["arguments"])
    elif question.get("verify"):
        answer = verified(module_of(question), question["stdin"].encode(), bounds)
    else:
        program = MainTool("program", "", module_of(question), bounds)
        answer = program.call({"input": question["stdin"]})
    return asdict(answer)


def module_of(question: Mapping[str, Any]) -> bytes:
    if "c" in question:
        return build(Source("program.c", question["c"]))
    text = question["wasm"]
    if text.lstrip().startswith("("):
        from curta.machine.wasm.text import assemble

        return assemble(text)
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise UserError(f"the module is neither text nor base64: {error}") from None


def tool_of(question: Mapping[str, Any], bounds: Bounds) -> Tool:
    """The function that is asked for."""
    name = question["function"]
    if "c" in question:
        found = c_tools(Source("program.c", question["c"]), bounds, functions=True)
    else:
        found = wasm_tools("program", module_of(question), bounds, functions=True)
    tool = found.get(name)
    if tool is None:
        raise UserError(f"there is no function {name!r}; there are: {', '.join(found) or 'none'}")
    if isinstance(tool, CurtaError):
        raise tool
    return tool


def verified(module: bytes, stdin: bytes, bounds: Bounds) -> Answer:
    """A run that is kept for as long as it takes to compare it with hull caches."""
    from curta.machine.host import Host
    from curta.machine.kept.file import KeptRun
    from curta.machine.kept.keeping import create, play, run_invocations, segments
    from curta.machine.processes import worker_setup
    from curta.machine.request import Replay
    from curta.machine.run import RunOptions
    from curta.machine.verify import jobs, wording

    options: RunOptions = {
        "stdin": stdin,
        "max_tokens": bounds.tokens,
        "max_memory": bounds.pages,
        "seed": 0,
    }
    ready = computer().ready(module, **options)
    with tempfile.TemporaryDirectory(prefix="curta-") as folder:
        path = os.path.join(folder, "run.curta")
        with create(path, ready, "program", options, run_invocations(ready.program)) as kept:
            play(kept, ready, Host(stdin=stdin))
        with KeptRun.open(path) as kept:
            opening = kept.chapters(ready.program, segments(kept.beginning))[0].opening
            replay = Replay("hull", tokens=opening + COMPARED)
            plan = jobs.planned(replay, kept, ready, None)
            compared = jobs.verify_run(kept, ready, plan, worker_setup(ready, plan.level))
            verdict = wording.verdict(kept, plan, on_wasmtime=False)
            value = {"verdict": verdict, "compared": compared.spoken, "run": wording.of_run(kept)}
            tokens = kept.ending.tokens if kept.ending is not None else 0
    text = f"{verdict}; {compared.spoken:,} tokens are those of hull caches"
    return Answer(text, value, exact=True, tokens=tokens)


if __name__ == "__main__":
    serve(answer_to)
