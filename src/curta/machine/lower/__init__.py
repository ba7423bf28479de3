"""Lowering: from WebAssembly to core instructions."""

from curta.machine.lower.context import LowerOptions
from curta.machine.lower.link import lower

__all__ = ["LowerOptions", "lower"]
