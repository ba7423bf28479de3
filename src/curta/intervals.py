"""Wilson's interval of a share, which every room that counts right answers uses."""

from __future__ import annotations

import math

Z = 1.959963984540054
"""The normal distribution lies within this many deviations 95% of the time."""


def wilson(right: float, count: float) -> tuple[float, float]:
    """The 95% interval of a share: (p + z^2/2n -+ z sqrt(p(1-p)/n + z^2/4n^2)) / (1 + z^2/n)."""
    if count == 0:
        return 0.0, 1.0
    share = right / count
    scale = 1 + Z * Z / count
    middle = share + Z * Z / (2 * count)
    reach = Z * math.sqrt(share * (1 - share) / count + Z * Z / (4 * count * count))
    low = 0.0 if right == 0 else (middle - reach) / scale
    high = 1.0 if right == count else (middle + reach) / scale
    return low, high
