"""How command lines are read."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

Prepare = Callable[["Parser", list[str], argparse.Namespace], list[str]]


class Parser(argparse.ArgumentParser):
    """Errors in one line, like all others.

    A command whose words follow rules of their own sets `prepare`: it takes words out, notes them
    in the namespace, and leaves the rest to argparse.
    """

    prepare: Prepare | None = None

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        if self.prepare is not None:
            namespace = namespace or argparse.Namespace()
            args = self.prepare(self, list(args or ()), namespace)
        found: tuple[argparse.Namespace, list[str]] = super().parse_known_args(args, namespace)
        return found

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)
