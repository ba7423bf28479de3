"""Several caches of one kind that step together: the heads of a layer, times the batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from curta.engine.hull.admission import Floats, check_points, check_queries
from curta.engine.hull.cache import HardMaximumCache
from curta.engine.hull.native_hull import NativeHull, step_rows
from curta.engine.hull.native_topk import NativeTopK, attend_rows
from curta.engine.hull.topk import TopKCache


class CacheRows:
    """Row i of every array belongs to cache i. One call into C for all rows."""

    def __init__(self, caches: Sequence[HardMaximumCache] | Sequence[TopKCache]) -> None:
        self._caches: tuple[HardMaximumCache | TopKCache, ...] = tuple(caches)

    def memory_bytes(self) -> int:
        return sum(cache.memory_bytes() for cache in self._caches)

    def insert_and_query_many(self, keys: Floats, values: Floats, queries: Floats) -> Floats:
        """n steps of causal attention for each row.

        Keys and queries [rows, n, key width], values and the answers [rows, n, value width], all
        contiguous. All rows take their steps, or an error is raised and none does.
        """
        hulls = [cache.implementation for cache in self._caches]
        hard = [hull for hull in hulls if isinstance(hull, NativeHull)]
        if hard:
            return step_rows(hard, keys, values, queries)[0]
        soft = [hull for hull in hulls if isinstance(hull, NativeTopK)]
        if soft:
            return attend_rows(soft, keys, values, queries)
        check_points(keys, values)
        check_queries(queries)
        answers = np.empty_like(values)
        for row, hull in enumerate(hulls):
            answers[row] = hull.insert_and_query_many(keys[row], values[row], queries[row])[0]
        return answers
