"""`curta inspect`: what a model file computes, where, and what is proved about it."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from curta.compiler import Model, load_model
from curta.compiler.verify import verify as prove_again


def run(path: str, *, verify: bool = False) -> None:
    """Print the model's plan and certificate; with `verify`, prove them again first."""
    model = load_model(path)
    console = Console(highlight=False, markup=False, emoji=False)  # names hold anything
    show_summary(console, path, model)
    console.print(layers_table(model))
    console.print(slots_table(model))
    show_certificate(console, model)
    if verify:
        prove_again(model)
        console.print("verified: the graph compiles to these weights, bit for bit")


def show_summary(console: Console, path: str, model: Model) -> None:
    plan = model.plan
    units = sum(len(layer["units"]) for layer in plan["layers"])
    heads = sum(len(layer["heads"]) for layer in plan["layers"])
    console.print(
        f"{path}: {len(plan['layers'])} layers, width {plan['width']}, {heads} heads, "
        f"{units} hidden units, {len(plan['vocabulary'])} tokens, "
        f"{model.nonzero_weights:,} layer weights that are not zero"
    )
    schedule = plan["schedule"]
    console.print(
        f"schedule: {schedule['method']} (at most {schedule['peak']} slots in use, "
        f"none below {schedule['lower_bound']})"
    )


def layers_table(model: Model) -> Table:
    """Which head does what, layer by layer."""
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
    for claim in certificate.tightest:
        line = f"  {claim.kind:<8} {claim.bits:g} of {claim.limit} bits  {claim.node}"
        console.print(line)
    for promise in certificate.promises:
        console.print(f"  checked at run time: {promise}")
