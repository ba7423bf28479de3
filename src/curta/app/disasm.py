"""`curta disasm`: WebAssembly beside core instructions beside tokens, or proofs of functions."""

from __future__ import annotations

from dataclasses import dataclass

from curta.errors import UserError
from curta.machine.request import ProgramOptions
from curta.terminal import AsJson, Screen, write_json


@dataclass(frozen=True)
class Options(AsJson, ProgramOptions):
    """Show WebAssembly beside core instructions beside tokens. Of a baked program there are core
    instructions only.

    library: as for --invoke: no main, all functions exported
    proof:   show instead, function by function, that the core instructions do what the WebAssembly
             does, and what that rests on; the exit code is 1 if one does not
    """

    library: bool = False
    proof: bool = False


@dataclass(frozen=True)
class Report:
    """What is proved.

    proved:  functions, and the lemmas that their proofs rest on
    refused: other functions, and why they are not proved
    """

    proved: dict[str, tuple[str, ...]]
    refused: dict[str, str]


def run(options: Options) -> int:
    """Print the listing, or the proofs."""
    from curta.machine import requested
    from curta.machine.listing import disassembly, proof_lines
    from curta.machine.load import load_program, prove_program
    from curta.machine.run import DEFAULT_LIMITS
    from curta.machine.toolchain import read_program, split_flags
    from curta.machine.wasm.decode import decode

    if options.json and not options.proof:
        raise UserError("--json: a listing has no figures; give it with --proof")
    if requested.is_baked(options):
        if options.proof:
            raise UserError(
                "--proof: the module of a baked program is not known; give what was baked"
            )
        print(*disassembly(requested.baked_machine(options, "native").program, None), sep="\n")
        return 0
    content = read_program(
        options.program,
        split_flags(options.cflags),
        library=options.library,
        watcher=requested.told(Screen())["watcher"],
    )
    pages, extensions = DEFAULT_LIMITS.max_memory, requested.extensions_of(options.extension)
    if options.proof:
        verdicts = prove_program(content, pages, extensions)
        refused = {one.name: one.refused for one in verdicts if one.refused is not None}
        proved = {one.name: one.lemmas for one in verdicts if one.refused is None}
        if options.json:
            write_json(Report(proved, refused))
        else:
            print(*proof_lines(verdicts), sep="\n")
        return int(bool(refused))
    program = load_program(content, pages, extensions, prove=False)
    print(*disassembly(program, decode(content)), sep="\n")
    return 0
