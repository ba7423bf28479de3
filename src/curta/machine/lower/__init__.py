"""Lowering: from WebAssembly to core instructions."""

from curta.machine.layout import host_segments
from curta.machine.lower.context import LowerOptions
from curta.machine.lower.link import lower

__all__ = ["LowerOptions", "host_segments", "lower"]
