"""The choices that make a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from curta.errors import ExperimentError

Norm = Literal["pre", "post", "none"]
Activation = Literal["gelu", "relu", "gated", "bilinear"]


@dataclass(frozen=True)
class ModelConfig:
    """A decoder-only transformer.

    width, layers, heads, feedforward: its size; heads have width / heads features, or head_width
    head_width:  of each head (width / heads)
    norm:        before each half layer, after its addition, or nowhere
    activation:  gelu, relu, or gated (silu(Ax) * Bx), bilinear (Ax * Bx)
    tied:        the readout is the transposed embedding
    dropout:     on what attention and feed-forward add, in training
    loops:       how often the whole stack is applied, with the same weights
    injection:   the embedding is added again before every further loop
    pauses:      tokens without a meaning between question and answer
    scan_layers: layers are compiled once and scanned, rather than one after the other
    """

    width: int = 64
    layers: int = 4
    heads: int = 8
    feedforward: int = 256
    head_width: int | None = None
    norm: Norm = "pre"
    activation: Activation = "gelu"
    tied: bool = True
    dropout: float = 0.0
    loops: int = 1
    injection: bool = False
    pauses: int = 0
    scan_layers: bool = False

    def __post_init__(self) -> None:
        for name in ("width", "layers", "heads", "feedforward", "loops"):
            if getattr(self, name) < 1:
                raise ExperimentError(f"model {name} = {getattr(self, name)}: must be at least 1")
        if self.head_width is not None and self.head_width < 1:
            raise ExperimentError(f"model head_width = {self.head_width}: must be at least 1")
        if self.head_width is None and self.width % self.heads:
            raise ExperimentError(
                f"model width = {self.width} is not a multiple of heads = {self.heads}: "
                "change one of them, or set head_width"
            )
        if not 0 <= self.dropout < 1:
            raise ExperimentError(f"model dropout = {self.dropout}: must be at least 0, below 1")
        for name, choices in (("norm", Norm), ("activation", Activation)):
            if getattr(self, name) not in get_args(choices):
                raise ExperimentError(
                    f"model {name} = {getattr(self, name)!r}: one of {', '.join(get_args(choices))}"
                )

    @property
    def features_per_head(self) -> int:
        """The width of a head."""
        return self.head_width or self.width // self.heads
