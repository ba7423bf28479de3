"""Compiled models as folders that other tools open."""

from curta.export.folders import write_huggingface, write_torch

__all__ = ["write_huggingface", "write_torch"]
