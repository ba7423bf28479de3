"""Many small models, each run once."""

from quick_compilation import quick_compilation

__all__ = ["quick_compilation"]
