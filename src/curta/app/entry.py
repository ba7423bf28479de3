"""Where the `curta` command begins: with as little as possible, so that nothing is shown raw.

Everything else is imported inside of `main`, because an interruption may come that early.
"""

from __future__ import annotations

import os
import sys

INTERRUPTED = 130
"""The exit code that shells expect after Ctrl-C: 128 + SIGINT."""


def main() -> int:
    """Run the command line in a process of its own."""
    replace_missing_streams()
    try:
        from curta.app.command_line import main

        return main()
    except KeyboardInterrupt:
        print("curta: interrupted", file=sys.stderr)
        return INTERRUPTED


def replace_missing_streams() -> None:
    """Python has None for a stream that was closed by the shell (`>&-`); `print` to a standard
    error that is None goes to the standard output. From here on, both just take nothing.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
