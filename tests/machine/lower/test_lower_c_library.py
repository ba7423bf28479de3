"""Every function of the C library and of libm, as zig builds them, is proved."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from curta.machine.flags import FLAGS
from curta.machine.loaded import LoadedProgram
from curta.machine.lower import lower
from curta.machine.proof import prove
from curta.machine.toolchain import find_zig, read_program
from curta.machine.wasm import MAX_PAGES
from curta.machine.wasm.decode import decode
from curta.settings import read_settings

PROGRAM = "#include <stdio.h>\nint main(int n, char **words) { return puts(words[n - 1]); }\n"


def archive(name: str) -> Path:
    """The newest library of this name that zig has built."""
    built = (read_settings().cache_directory / "zig" / "o").glob(f"*/lib{name}.a")
    return max(built, key=lambda path: path.stat().st_mtime)


@pytest.mark.slow
def test_every_function_of_the_c_library_is_proved(tmp_path: Path) -> None:
    (source := tmp_path / "main.c").write_text(PROGRAM)
    read_program(source)
    made, linked, zig = tmp_path / "main.o", tmp_path / "all.wasm", find_zig()
    whole = "--whole-archive", archive("c"), archive("zigc"), "--no-whole-archive"
    options = "--no-entry", "--export-all", "-o", linked
    for command in (
        [*zig.command, "cc", *FLAGS, "-c", source, "-o", made],
        [*zig.command, "wasm-ld", made, *whole, archive("compiler_rt"), *options],
    ):
        subprocess.run(command, check=True, capture_output=True)
    module = decode(linked.read_bytes())
    program = lower(module)
    verdicts = prove(module, program, LoadedProgram.from_core(program).prompt(), MAX_PAGES)
    print(f"{len(verdicts)} functions, {len(program.instructions)} instructions")
    assert len(verdicts) > 1000
    assert [(one.name, one.refused) for one in verdicts if one.refused is not None] == []
