"""What the judges said, as a table, and as lists of what is worth reading."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from tests.machine.faults.fault import Fault
from tests.machine.faults.judging import Verdict


@dataclass
class Row:
    """Counts of faults of one kind; those that change no code are not counted further on."""

    drawn: int = 0
    no_program: int = 0
    changed: int = 0
    checkers: int = 0
    validator: int = 0
    corpus: int = 0
    both: int = 0
    validator_alone: int = 0
    corpus_alone: int = 0
    proved: int = 0
    reasoned: int = 0
    holes: int = 0

    def count(self, verdict: Verdict) -> None:
        refused, failed = bool(verdict.validator), bool(verdict.corpus)
        self.drawn += 1
        if not verdict.changed:
            self.no_program += bool(verdict.breakdown)
            return
        self.changed += 1
        self.checkers += bool(verdict.checkers)
        self.validator += refused
        self.corpus += failed
        self.both += refused and failed
        self.validator_alone += refused and not failed
        self.corpus_alone += failed and not refused
        self.proved += not refused and not failed
        self.reasoned += bool(verdict.reason and not refused and not failed)
        self.holes += bool(verdict.holes)


def table(verdicts: Iterable[Verdict]) -> str:
    """Counts by kind, in Markdown."""
    rows: dict[str, Row] = {}
    for verdict in verdicts:
        kind = verdict.fault.kind.partition(",")[0]
        for name in (kind, "all"):
            rows.setdefault(name, Row()).count(verdict)
    rows["all"] = rows.pop("all", Row())
    columns = [one.name for one in fields(Row)]
    titles = [name.replace("_", " ") for name in columns]
    lines = [f"| kind | {' | '.join(titles)} |", "|---" * (1 + len(columns)) + "|"]
    for kind, row in rows.items():
        lines.append(f"| {kind} | {' | '.join(str(getattr(row, c)) for c in columns)} |")
    return "\n".join(lines)


def lists(verdicts: Sequence[Verdict]) -> str:
    """Holes first; then what nobody noticed, and what only the validator refuses."""
    parts = ["# Holes: accepted, and another result"]
    parts += [f"{v.fault}\n    {hole}" for v in verdicts for hole in v.holes]
    parts.append("# Proved equal: nobody notices, and the validator accepts")
    parts += [f"{v.fault}\n    {v.reason or ', '.join(v.proved)}" for v in verdicts if _is_equal(v)]
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
    said = {name: value for name, value in vars(verdict).items() if name != "fault"}
    return json.dumps({"kind": verdict.fault.kind, "name": verdict.fault.name, **said})


def recorded(line: str) -> Verdict:
    """What `record` gave; the fault itself cannot be planted any more."""
    said = json.loads(line)
    return Verdict(Fault(said.pop("kind"), said.pop("name")), **said)
