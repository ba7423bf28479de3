"""WebAssembly as a front end: binary and text formats, validation."""

from __future__ import annotations

from typing import Literal

ValueType = Literal["i32", "i64", "f32", "f64"]
BITS: dict[ValueType, int] = {"i32": 32, "i64": 64, "f32": 32, "f64": 64}
MAX_PAGES = 65536
"""Of a memory that addresses of 32 bits reach."""
