"""What a plan says of the residual stream: what slots hold, from when to when, and who wrote it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any


def residual_stream(plan: dict[str, Any]) -> dict[str, Any]:
    """Slots and periods, to be written as JSON."""
    return {
        "width": plan["width"],
        "periods": list(periods(len(plan["layers"]))),
        "slots": [
            {
                "slot": slot["slot"],
                "name": slot["name"],
                "first": slot["first"],
                "last": slot["last"],
                "owners": owners(slot["members"]),
            }
            for slot in plan["slots"]
        ],
    }


def periods(layers: int) -> Iterator[str]:
    """Behind what there is a residual stream."""
    yield "embedding"
    for layer in range(layers):
        yield from (f"attention {layer}", f"feed-forward {layer}")


def owners(members: list[dict[str, Any]]) -> str:
    """Of which kinds the values are that are added up in a slot."""
    kinds = Counter(member["kind"] for member in members)
    return ", ".join(f"{count} {kind}" if count > 1 else kind for kind, count in kinds.items())
