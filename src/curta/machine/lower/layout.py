"""The layout of programs, as the lowering uses it."""

from curta.machine.layout import *  # noqa: F403
