"""Programs of Zig and Rust run as those of C do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from curta import Machine
from curta.errors import CompilerNotFoundError, SourceError, UserError

ZIG = """
const other = @import("other.zig");

extern "wasi_snapshot_preview1" fn fd_write(
    file: i32,
    pieces: *const extern struct { base: [*]const u8, len: usize },
    count: usize,
    written: *usize,
) u16;

export fn sum(n: u32) u64 {
    var total: u64 = 0;
    for (1..n + 1) |k| total += other.square(k);
    return total;
}

pub fn main() void {
    var text: [1]u8 = .{'0' + @as(u8, @intCast(sum(3) % 10))};
    var written: usize = 0;
    _ = fd_write(1, &.{ .base = &text, .len = 1 }, 1, &written);
}
"""
OTHER = "pub fn square(k: usize) u64 {\n    return k * k;\n}\n"
RUST = """
#[no_mangle]
pub extern "C" fn sum(n: u32) -> u64 {
    (1..=n as u64).map(|k| k * k).sum()
}

fn main() {
    println!("{}", sum(100));
}
"""


@pytest.fixture
def zig(tmp_path: Path) -> Path:
    (tmp_path / "few.zig").write_text(ZIG)
    (tmp_path / "other.zig").write_text(OTHER)
    return tmp_path / "few.zig"


def test_zig(zig: Path) -> None:
    machine = Machine()
    assert machine.run(zig).stdout == b"4"
    instance = machine.instantiate(zig)
    assert instance.invoke("sum", 100) == 338350
    (zig.parent / "other.zig").write_text(OTHER.replace("k * k", "k"))
    assert machine.instantiate(zig).invoke("sum", 100) == 5050
    assert machine.run(zig, cflags=["-OReleaseSmall"]).stdout == b"6"


def test_what_a_compiler_complains_about_is_said(zig: Path) -> None:
    zig.write_text("const x = ;")
    with pytest.raises(SourceError, match=r"the Zig compiler refused it\n.*few.zig:1:11: error"):
        Machine().run(zig)
    with pytest.raises(UserError, match="no such file"):
        Machine().run(zig.parent / "none.zig")
    with pytest.raises(UserError, match="have to be C"):
        Machine().run([zig, zig.parent / "other.zig"])


def test_rust(tmp_path: Path) -> None:
    source = tmp_path / "few.rs"
    source.write_text(RUST)
    if shutil.which("rustc") is None:
        with pytest.raises(CompilerNotFoundError, match=r"rustup\.rs"):
            Machine().run(source)
        return
    found = subprocess.run(["rustc", "--print=sysroot"], capture_output=True, text=True, check=True)
    if not list(Path(found.stdout.strip(), "lib/rustlib").glob("wasm32-wasi*")):
        with pytest.raises(SourceError, match="rustup target add wasm32-wasip1"):
            Machine().run(source)
        return
    assert Machine().run(source).stdout == b"338350\n"
    assert Machine().instantiate(source).invoke("sum", 10) == 385


def test_rust_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "few.rs").write_text(RUST)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(CompilerNotFoundError, match=r"rustup\.rs"):
        Machine().run(tmp_path / "few.rs")
