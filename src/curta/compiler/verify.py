"""Verify: prove a model again. Compile its graph and compare weights, plan and certificate."""

from __future__ import annotations

from curta.compiler.compile import compile
from curta.compiler.model import Model
from curta.errors import FileError


def verify(model: Model) -> None:
    """Raise an error that names the first difference, if there is one."""
    certificate = model.certificate
    again = compile(model.graph, certificate.max_tokens, arithmetic=certificate.arithmetic)
    if again.weights.keys() != model.weights.keys():
        names = sorted(again.weights.keys() ^ model.weights.keys())
        raise FileError(f"the graph compiles to other tensors: {', '.join(names[:4])}")
    for name, tensor in again.weights.items():
        other = model.weights[name]
        if tensor.dtype != other.dtype or tensor.tobytes() != other.tobytes():
            raise FileError(
                f"tensor {name} is not what the graph compiles to; build the file again (or, if "
                "another version of curta wrote it, verify with that version)"
            )
    if again.certificate != certificate:
        raise FileError("the certificate is not the one that the graph's compilation proves")
    if again.plan != model.plan:
        raise FileError("the plan is not the one that the graph compiles to")
