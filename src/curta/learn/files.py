"""Files that appear when they are whole, and not at all if they cannot be written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from curta.errors import FileError


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Where to write what will then be there; a failure leaves nothing behind."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield partial
        partial.replace(path)
    except OSError as error:
        raise FileError(f"{path} cannot be written ({error.strerror or error})") from error
    finally:
        partial.unlink(missing_ok=True)
