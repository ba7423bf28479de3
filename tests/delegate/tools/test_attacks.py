"""Attacks on the compiler in front of the sandbox: each is refused, and says nothing of files."""

from __future__ import annotations

import time

import pytest

from curta.delegate.tools.compile import Source, build
from curta.errors import SourceError, ToolError

SECRET = "curta-secret-4711"


@pytest.fixture(scope="module")
def secret(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file that nobody may read: its path."""
    path = tmp_path_factory.mktemp("secret") / "secret.h"
    path.write_text(f'#define FOUND 1\nconst char *word = "{SECRET}";\n')
    return str(path)


READING = {
    "include": '#include "@"',
    "angles": "#include <@>",
    "import": '#import "@"',
    "next": '#include_next "@"',
    "computed": '#define WHERE "@"\n#include WHERE',
    "pasted": "#define TEXT(x) #x\n#define SAME(x) TEXT(x)\n#include SAME(@)",
    "through headers": "#include </headers/0/../../../../../../../../..@>",
    "parents": '#include "../../../../../../../../../../../../../../../..@"',
    "digraph": '%:include "@"',
    "spliced": '#inc\\\nlude "@"',
    "file url": '#include "file://@"',
    "this process": '#include "/proc/self/root@"',
    "environment": '#include "/proc/self/environ"',
    "itself": "#include __FILE__",
    "standard input": '#include "/dev/stdin"',
    "embed": 'const char kept[] = {\n#embed "@"\n};',
    "asks": '#if __has_include("@")\n#error found\n#endif\nint x = "not";',
    "asks to embed": '#if __has_embed("@")\n#error found\n#endif\nint x = "not";',
    "dependency": '#pragma GCC dependency "@"',
    "pragma": '_Pragma("GCC dependency \\"@\\"")',
    "module": "#pragma clang module import secret",
    "precompiled": '#pragma clang pch_include "@"\nint x = "not";',
    "assembly": 'asm(".incbin \\"@\\"");',
    "assembly inside": 'int main(void) { __asm__ volatile(".incbin \\"@\\""); return 0; }',
    "from macros": "#define A as\n#define B m\n#define C(a, b) a##b\n#define D(a, b) C(a, b)\n"
    'D(A, B)("." "inc" "bin \\"@\\"");',
    "assembly with operands": 'int f(int x) { __asm(".incbin \\"@\\"" : "=r"(x)); return x; }',
    "assembly that jumps": 'void f(void) { asm goto(".incbin \\"@\\"" : : : : a); a:; }',
    "line": '#line 1 "@"\nint x = "not" y;',
}  # fmt: skip


@pytest.mark.parametrize("attack", READING)
def test_no_file_is_read(attack: str, secret: str) -> None:
    source = READING[attack].replace("@", secret)
    with pytest.raises((SourceError, ToolError)) as refused:
        build(Source("program.c", source + "\nint main(void) { return 0; }"))
    said = str(refused.value)
    assert SECRET not in said
    assert "found" not in said.replace("not found", "")


LARGE = {
    "macros": "\n".join(f"#define A{n + 1} A{n} A{n} A{n} A{n}" for n in range(30))
    + "\n#define A0 x\nint y = A30;",
    "counting includes": "#define TWICE TWICE TWICE\nint x[] = { TWICE };\n" + "(" * 100_000,
    "an array": "char large[1 << 30] = {1};",
    "initialisers": "int x[] = {" + "1," * 90_000 + "};\nint *y = &(x;",
    "nested braces": "int x = " + "{" * 50_000,
    "nested types": "int " + "(*" * 20_000 + "x" + ")" * 20_000 + ";",
    "a long sum": "int x = " + "+".join(["1"] * 90_000) + ";\nint y = z;",
    "a long else if": "int f(int x) {" + "if (x) ; else " * 14_000 + ";}\nint y = z;",
    "stack overflow": "#pragma clang __debug overflow_stack\nint y = z;",
    "a crash": "#pragma clang __debug crash\nint y = z;",
    "warnings": "\n".join(["#warning again"] * 14_000) + "\nint y = z;",
    "errors": "\n".join(["int x = y;"] * 15_000),
    "more than is allowed": "/*" + "x" * 200_000 + "*/ int main(void) { return 0; }",
}


@pytest.mark.parametrize("attack", LARGE)
def test_what_is_large_ends_soon(attack: str) -> None:
    started = time.monotonic()
    with pytest.raises((SourceError, ToolError)) as refused:
        build(Source("program.c", LARGE[attack]))
    assert len(str(refused.value)) < 4_000
    assert "zig" not in str(refused.value)
    assert time.monotonic() - started < 30  # and not how fast: that it does not go on
