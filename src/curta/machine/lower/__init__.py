"""Lowering: from WebAssembly to core instructions."""

from curta.machine.layout import host_segments
from curta.machine.lower.link import lower
from curta.machine.lower.options import LowerOptions

__all__ = ["LowerOptions", "host_segments", "lower"]
