"""What the judges said, as a table, and as lists of what is worth reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judging import Verdict


@dataclass
class Row:
    """Counts of one kind. `alone` are those that only this judge notices."""

    faults: int = 0
    no_program: int = 0
    changed: int = 0
    checkers: int = 0
    validator: int = 0
    corpus: int = 0
    both: int = 0
    validator_alone: int = 0
    proved: int = 0
    holes: int = 0

    def count(self, verdict: Verdict) -> None:
        self.faults += 1
        if not verdict.changed:
            self.no_program += bool(verdict.breakdown)
            return
        self.changed += 1
        self.checkers += bool(verdict.checkers)
        self.validator += bool(verdict.validator)
        self.corpus += bool(verdict.corpus)
        self.both += bool(verdict.validator and verdict.corpus)
        self.validator_alone += bool(verdict.validator and not verdict.corpus)
        self.proved += not verdict.validator and not verdict.corpus
        self.holes += bool(verdict.holes)


_COLUMNS = {
    "faults": "drawn",
    "no_program": "no program",
    "changed": "change code",
    "checkers": "checkers",
    "validator": "validator",
    "corpus": "corpus",
    "both": "validator and corpus",
    "validator_alone": "validator, not corpus",
    "proved": "proved equal",
    "holes": "holes",
}


def table(verdicts: Iterable[Verdict]) -> str:
    """Counts by kind, in Markdown."""
    rows: dict[str, Row] = {}
    for verdict in verdicts:
        kind = verdict.fault.kind.partition(",")[0]
        for name in (kind, "all"):
            rows.setdefault(name, Row()).count(verdict)
    rows["all"] = rows.pop("all", Row())
    lines = [f"| kind | {' | '.join(_COLUMNS.values())} |", "|---" * (1 + len(_COLUMNS)) + "|"]
    for kind, row in rows.items():
        lines.append(f"| {kind} | {' | '.join(str(getattr(row, c)) for c in _COLUMNS)} |")
    return "\n".join(lines)


def lists(verdicts: Sequence[Verdict]) -> str:
    """Holes first; then what nobody noticed, and what only the validator refuses."""
    parts = ["# Holes: accepted, and another result"]
    parts += [f"{v.fault}\n    {hole}" for v in verdicts for hole in v.holes]
    parts.append("# Proved equal: nobody notices, and the validator accepts")
    parts += [f"{v.fault}\n    {', '.join(v.proved)}" for v in verdicts if _is_equal(v)]
    parts.append("# The validator alone")
    parts += [
        f"{v.fault}\n    {v.validator[:300]}"
        for v in verdicts
        if v.changed and v.validator and not v.corpus
    ]
    return "\n".join(parts)


def _is_equal(verdict: Verdict) -> bool:
    return bool(verdict.changed) and not verdict.validator and not verdict.corpus


def record(verdict: Verdict) -> str:
    """One line of JSON."""
    fields = {name: value for name, value in vars(verdict).items() if name != "fault"}
    return json.dumps({"kind": verdict.fault.kind, "fault": verdict.fault.name, **fields})
