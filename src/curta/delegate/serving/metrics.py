"""What a server counts, as text in the format of Prometheus."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
Labels = Mapping[str, str]


class Histogram:
    """How many values were at most so large."""

    def __init__(self, bounds: Sequence[float] = SECONDS) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float) -> None:
        """One more value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str) -> Iterator[str]:
        """Cumulative counts, as the format wants them."""
        total = 0
        for bound, count in zip((*self.bounds, "+Inf"), self.counts, strict=True):
            total += count
            yield sample(f"{name}_bucket", {"le": str(bound)}, total)
        yield sample(f"{name}_sum", {}, self.sum)
        yield sample(f"{name}_count", {}, total)


class Metrics:
    """Counters, gauges and histograms of one server; used from several threads."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counters: dict[str, Counter[tuple[tuple[str, str], ...]]] = {
            name: Counter() for name in COUNTERS
        }
        self.histograms = {name: Histogram() for name in HISTOGRAMS}
        self.gauges: dict[str, tuple[str, Callable[[], float], Labels]] = {}

    def count(self, name: str, amount: int = 1, **labels: str) -> None:
        """So many more of something."""
        with self.lock:
            self.counters[name][tuple(sorted(labels.items()))] += amount

    def observe(self, name: str, seconds: float) -> None:
        """Something took so long."""
        with self.lock:
            self.histograms[name].add(seconds)

    def gauge(self, name: str, what: str, value: Callable[[], float], **labels: str) -> None:
        """Something that is asked for whenever somebody looks."""
        self.gauges[name] = (what, value, labels)

    def text(self) -> str:
        """All of it."""
        with self.lock:
            return "\n".join([*self.counter_lines(), *self.histogram_lines(), *self.gauge_lines()])

    def counter_lines(self) -> Iterator[str]:
        """What only grows."""
        for name, what in COUNTERS.items():
            yield from heading(name, "counter", what)
            for labels, value in sorted(self.counters[name].items()):
                yield sample(name, dict(labels), value)

    def histogram_lines(self) -> Iterator[str]:
        """How long things took."""
        for name, what in HISTOGRAMS.items():
            yield from heading(name, "histogram", what)
            yield from self.histograms[name].lines(name)

    def gauge_lines(self) -> Iterator[str]:
        """What is now."""
        for name, (what, value, labels) in self.gauges.items():
            yield from heading(name, "gauge", what)
            yield sample(name, labels, value())
        yield ""


COUNTERS = {
    "curta_requests_total": "Answered requests by endpoint and status (499: the client went away).",
    "curta_choices_total": "Choices by how they ended.",
    "curta_tokens_total": "Tokens of prompts that were read, and tokens that were written.",
    "curta_calls_total": "Calls by outcome: exact, rounded, error, or unanswered.",
}
HISTOGRAMS = {
    "curta_time_to_first_token_seconds": "From a request's arrival to a choice's first token.",
    "curta_time_per_token_seconds": "Between two tokens that the model chose for a choice.",
}


def heading(name: str, kind: str, what: str) -> Iterator[str]:
    """What a reader is told about a metric."""
    yield f"# HELP {name} {what}"
    yield f"# TYPE {name} {kind}"


def sample(name: str, labels: Labels, value: float) -> str:
    """One line; labels are of our own making, but paths are not."""
    written = ",".join(f'{key}="{escaped(text)}"' for key, text in labels.items())
    return f"{name}{{{written}}} {value}" if written else f"{name} {value}"


def escaped(text: str) -> str:
    """As the value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
