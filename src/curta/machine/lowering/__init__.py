"""Lowering: from WebAssembly to core instructions."""

from curta.machine.layout import host_segments
from curta.machine.lowering.link import lower
from curta.machine.lowering.options import LowerOptions

__all__ = ["LowerOptions", "host_segments", "lower"]
