"""What an adapter is, for those who find it: `README.md` beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from curta.delegate.interception.protocol import Protocol
from curta.delegate.training.kept import last_metrics

RUN = ("base", "source", "examples")
"""Of a run's notes, those that are no settings."""


def write_card(folder: Path, model: str, protocol: Protocol) -> None:
    """`README.md`; it replaces the form that PEFT leaves to be filled in."""
    held = json.loads((folder / "training.json").read_text("utf-8"))
    (folder / "README.md").write_text(
        card(model, protocol, held, last_metrics(folder)), encoding="utf-8"
    )


def card(model: str, protocol: Protocol, held: dict[str, Any], metrics: dict[str, Any]) -> str:
    """The text: how to use it, what it was made of and how it ended."""
    name = Path(model).name
    calls = held.get("calls", True)
    settings = {key: value for key, value in held.items() if key not in RUN}
    return f"""---
base_model: {name if Path(model).is_dir() else model}
library_name: peft
pipeline_tag: text-generation
tags:
- lora
- calculator
---

# {name}, taught to {"call a calculator" if calls else "write calculations out"}

{CALLING.format(open=protocol.open, close=protocol.close) if calls else INLINE}

```sh
curta {"calc" if calls else "delegate evaluate"} {USE[calls]}
```

It was trained on the weights "{held["source"]}"; the examples' digest is {held["examples"]}.

| at the end | |
|---|---|
{rows(metrics)}

| setting | |
|---|---|
{rows(settings)}
""".replace("MODEL", model)


CALLING = (
    "This adapter was made by curta. With it the model writes `{open} 87*24{close}`, a calculator "
    "puts the exact\nresult behind it, and the model goes on from there."
)
INLINE = (
    "This adapter was made by curta, to compare with one that calls a calculator: the same "
    "answers, in which the\nmodel has to compute by itself."
)
USE = {
    True: '"3 boxes of 48 apples shared by 9 children?" --model MODEL --adapter THIS_FOLDER',
    False: "--model MODEL --inline THIS_FOLDER --suite templates",
}


def rows(values: dict[str, Any]) -> str:
    """Of a table of two columns."""
    return "\n".join(f"| {name} | {shown(value)} |" for name, value in values.items())


def shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
