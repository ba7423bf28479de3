"""`curta inspect`: what a model file computes, where, and what is proved about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from curta.options import word
from curta.terminal import AsJson, write_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from curta.compiler import Model


@dataclass(frozen=True)
class Options(AsJson):
    """Show what a model file computes, where, and what is proved about it.

    file:   of curta build, or curta bake
    verify: compile the graph again and compare every weight
    """

    file: str = word("FILE.safetensors")
    verify: bool = False


@dataclass(frozen=True)
class ModelFigures:
    """How large a model is, and what is proved about it.

    layers, width, heads, hidden_units, tokens: of the model
    layer_weights:  that are not zero
    certificate:    what is proved
    bounds_checked: for that
    """

    layers: int
    width: int
    heads: int
    hidden_units: int
    tokens: int
    layer_weights: int
    certificate: str
    bounds_checked: int

    def __str__(self) -> str:
        return (
            f"{self.layers} layers, width {self.width}, {self.heads} heads, "
            f"{self.hidden_units} hidden units, {self.tokens} tokens, "
            f"{self.layer_weights:,} layer weights that are not zero"
        )

    @staticmethod
    def of(model: Model) -> ModelFigures:
        layers = model.plan["layers"]
        return ModelFigures(
            len(layers),
            model.plan["width"],
            sum(len(layer["heads"]) for layer in layers),
            sum(len(layer["units"]) for layer in layers),
            len(model.plan["vocabulary"]),
            model.nonzero_weights,
            str(model.certificate),
            model.certificate.bounds_checked,
        )


@dataclass(frozen=True)
class Report:
    """What a file holds.

    file:     that was read
    model:    that is in it
    verified: whether the graph was compiled again, to the same weights
    """

    file: str
    model: ModelFigures
    verified: bool


def run(options: Options) -> int:
    """Print the model's plan and certificate; with `verify`, prove them again."""
    from rich.console import Console

    from curta.compiler import load_model
    from curta.compiler.verify import verify

    model = load_model(options.file)
    figures = ModelFigures.of(model)
    if not options.json:
        console = Console(highlight=False, markup=False, emoji=False)  # names hold anything
        console.print(f"{options.file}: {figures}")
        schedule = model.plan["schedule"]
        console.print(
            f"schedule: {schedule['method']} (at most {schedule['peak']} slots in use, "
            f"none below {schedule['lower_bound']})"
        )
        console.print(layers_table(model))
        console.print(slots_table(model))
        show_certificate(console, model)
    if options.verify:
        verify(model)
    if options.json:
        write_json(Report(options.file, figures, options.verify))
    elif options.verify:
        print("verified: the graph compiles to these weights, bit for bit")
    return 0


def layers_table(model: Model) -> Table:
    """Which head does what, layer by layer."""
    from rich.table import Table

    table = Table("layer", "part", "computes", "how", title="Layers", title_justify="left")
    for number, layer in enumerate(model.plan["layers"]):
        for head in layer["heads"]:
            values = ", ".join(value["name"] for value in head["values"])
            table.add_row(str(number), "head", values, describe_head(head))
        units = layer["units"]
        if units:
            names = list(dict.fromkeys(name.split(" of ")[-1] for name in units))
            text = ", ".join(names[:6]) + (" ..." if len(names) > 6 else "")
            table.add_row(str(number), "gates", text, f"{len(units)} hidden units")
    return table


def describe_head(head: dict[str, Any]) -> str:
    if head["kind"] == "mean":
        return "mean of all positions"
    digits = len(head["key"])
    spans = " x ".join(f"{digit['low']}..{digit['high']}" for digit in head["key"])
    text = f"{digits + 1}D, keys {spans}"
    text += ", latest of equal keys" if head["recency"] else ", keys all different"
    return text + (", nearest key" if head["nearest"] else "")


def slots_table(model: Model) -> Table:
    """What is where in the residual stream, and when."""
    from rich.table import Table

    table = Table(
        "slot", "periods", "holds", "up to", title="Residual stream", title_justify="left"
    )
    for slot in sorted(model.plan["slots"], key=lambda s: (s["slot"], s["first"])):
        periods = f"{slot['first']}..{slot['last']}"
        table.add_row(str(slot["slot"]), periods, slot["name"], f"{slot['magnitude']:,}")
    return table


def show_certificate(console: Console, model: Model) -> None:
    certificate = model.certificate
    console.print(f"certificate: {certificate}")
    console.print(f"{certificate.bounds_checked:,} bounds checked; the tightest of each kind:")
    for bound in certificate.tightest:
        line = f"  {bound.kind:<8} {bound.bits:g} of {bound.limit} bits  {bound.node}"
        console.print(line)
    for promise in certificate.promises:
        console.print(f"  checked at run time: {promise}")
