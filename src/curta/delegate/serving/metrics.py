"""What a server counts, for Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Counters, gauges and histograms of one server; used from several threads."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = self.counter(
            "requests",
            "Answered requests by endpoint and status (499: the client went away).",
            "endpoint",
            "status",
        )
        self.choices = self.counter("choices", "Choices by how they ended.", "finish")
        self.tokens = self.counter(
            "tokens", "Tokens of prompts that were read, and tokens that were written.", "kind"
        )
        self.calls = self.counter(
            "calls", "Calls by outcome: exact, rounded, error, or unanswered.", "outcome"
        )
        self.first_token = self.histogram(
            "time_to_first_token", "From a request's arrival to a choice's first token."
        )
        self.each_token = self.histogram(
            "time_per_token", "Between two tokens that the model chose for a choice."
        )

    def counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"curta_{name}", what, labels, registry=self.registry)

    def histogram(self, name: str, what: str) -> Histogram:
        return Histogram(f"curta_{name}_seconds", what, registry=self.registry, buckets=SECONDS)

    def gauge(self, name: str, what: str, value: Callable[[], float], **labels: str) -> None:
        """Something that is asked for whenever somebody looks."""
        made = Gauge(f"curta_{name}", what, tuple(labels), registry=self.registry)
        (made.labels(**labels) if labels else made).set_function(value)

    def text(self) -> str:
        return generate_latest(self.registry).decode()
