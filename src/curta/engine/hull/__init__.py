"""Caches for attention with narrow heads: exact answers, without looking at every key.

| name          | heads | answers                                             |
|---------------|-------|-----------------------------------------------------|
| `HullCache`   | 2D    | the hard maximum, ties to the latest or averaged     |
"""

from __future__ import annotations

from curta.engine.hull.cache import Backend, FoundMany, HullCache
from curta.engine.hull.reference import Found, Ties

__all__ = ["Backend", "Found", "FoundMany", "HullCache", "Ties"]
