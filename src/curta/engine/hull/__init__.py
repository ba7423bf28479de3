"""Caches for attention with narrow heads: exact answers, without looking at every key.

| name          | heads | answers                                             |
|---------------|-------|-----------------------------------------------------|
| `HullCache`   | 2D    | the hard maximum, ties to the latest or averaged     |
| `HullCache3D` | 3D    | the same                                             |
| `TopKCache`   | 2D    | the softmax over the k highest scores                |
"""

from __future__ import annotations

from curta.engine.hull.cache import Backend, FoundMany, HullCache, HullCache3D
from curta.engine.hull.onion import Attended
from curta.engine.hull.reference import Found, Ties
from curta.engine.hull.topk import AttendedMany, TopKCache

__all__ = [
    "Attended",
    "AttendedMany",
    "Backend",
    "Found",
    "FoundMany",
    "HullCache",
    "HullCache3D",
    "Ties",
    "TopKCache",
]
