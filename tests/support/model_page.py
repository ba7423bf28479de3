"""What docs/model-file.md tells somebody who writes a checker, as functions of the page itself."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "model-file.md"
Tensors = Mapping[str, Any]


@cache
def function(name: str) -> Callable[..., Any]:
    """A function that the page defines."""
    scope: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL):
        if "def " in block:
            imports_and_functions = re.split(r"^(?=\w+.* = |print)", block, flags=re.MULTILINE)[0]
            exec(imports_and_functions, scope)
    found: Callable[..., Any] = scope[name]
    return found


def differences(model: Path, trace: Path) -> list[int]:
    """The places of claimed tokens that the model would not have said, by the page alone."""
    tensors, metadata = function("read")(model)
    parts, about = function("read")(trace)
    assert about["curta"] == "trace 1"
    assert about["model"] == function("digest")(tensors, metadata["curta"])
    content = json.loads(metadata["curta"])
    wrong: list[int] = []
    for start, end in pairwise([*parts["starts"].tolist(), len(parts["tokens"])]):
        tokens, given = parts["tokens"][start:end], parts["given"][start:end]
        assert len(tokens) <= content["certificate"]["softmax_tokens"]
        if len(tokens) == 1:
            continue
        periods = list(function("streams")(tensors, tokens[:-1]))
        for guard in content["plan"]["guards"]:
            held = sum(w * periods[guard["period"]][:, slot] for slot, w in guard["terms"])
            assert ((guard["low"] <= held) & (held <= guard["high"])).all(), guard["name"]
        said = (periods[-1] @ tensors["unembedding.weight"].T).argmax(axis=1)
        wrong += (start + 1 + np.flatnonzero((said != tokens[1:]) & (given[1:] == 0))).tolist()
    return wrong
