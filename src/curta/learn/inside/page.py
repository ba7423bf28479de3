"""What was found inside of a model as a page."""

from __future__ import annotations

from pathlib import Path

from curta.learn.alphabet import digit_names
from curta.learn.experiment import Setup
from curta.learn.folder import RunFolder
from curta.learn.inside import plots
from curta.learn.inside.look import Inside
from curta.learn.inside.probes import HelixFit
from curta.learn.report.parts import description
from curta.learn.report.profile import write_page
from curta.pages.html import (
    Html,
    details,
    figure,
    heading,
    page,
    paragraph,
    section,
    table,
)


def write_inside(inside: Inside, folder: RunFolder, seed: int, out: Path) -> None:
    """All sections."""
    sections = [
        section("What was trained", table((), description(folder.experiment))),
        attention(inside, folder.setup),
        probe(inside),
        numbers(inside, folder.setup),
        ablation(inside, folder.setup),
        bilinear(inside, folder.setup),
    ]
    about = f"{folder.experiment.task}, {folder.experiment.format}; seed {seed}"
    write_page(out, page(f"Inside of {folder.name}", about, sections))


def depth_name(setup: Setup, depth: int) -> str:
    """A layer, and of which loop."""
    config = setup.experiment.model
    loop, layer = divmod(depth, config.layers)
    return f"layer {layer}" if config.loops == 1 else f"loop {loop + 1}, layer {layer}"


def attention(inside: Inside, setup: Setup) -> Html:
    """Where each head looks."""
    alike = inside.alike
    question = setup.language.alphabet.decode([*alike.rows.tokens[0].tolist()])
    parts = [
        paragraph(
            f"The mean of {alike.count} problems that are laid out alike, as {question}. Rows are "
            "the tokens that look, columns those they look at, from 0 (dark) to 1. a1 is the ones "
            "of the first number, a2 its tens, b1 the ones of the next; a dot is a token that "
            "differs from problem to problem."
        )
    ]
    depths = plots.shown_depths(inside)
    if len(depths) < len(inside.attention):
        parts.append(paragraph(f"{len(depths)} of {len(inside.attention)} depths are shown."))
    for depth in depths:
        parts.append(heading(depth_name(setup, depth)))
        parts += [figure(picture, "") for picture in plots.attention(inside, depth)]
    return section("Attention", *parts)


def probe(inside: Inside) -> Html:
    """What can be read before anything is said."""
    if isinstance(inside.probe, str):
        return section("Probes", paragraph(f"None: {inside.probe}."))
    rows = [
        (name, float(inside.probe.chance[column]), *map(float, inside.probe.accuracy[:, column]))
        for column, name in enumerate(inside.targets)
    ]
    head = ("", "chance", *(f"{depth} behind" for depth in range(len(inside.probe.accuracy))))
    return section(
        "Probes",
        paragraph(
            "How much of the answer a linear map reads from the residual stream at the last token "
            "of the question, before any of the answer is said. It is fitted to half of the "
            "problems and tested on the others; dotted lines are chance, the share of the "
            "commonest token."
        ),
        figure(plots.probe(inside.probe, inside.targets), ""),
        details("all figures", table(head, rows)),
    )


def numbers(inside: Inside, setup: Setup) -> Html:
    """In which shape numbers lie."""
    whole = bool(setup.language.alphabet.number_places)
    what = "embeddings of the first numbers" if whole else "embeddings of the digits"
    words = "Such vectors lie on circles by construction; which of them the model uses it learns."
    parts = [
        paragraph(
            "The share of the variance of number vectors that a helix explains: a line, and a "
            "circle for each period, alone and together; adjusted, so that noise comes to 0 on "
            "average, and may be a little below."
        ),
        heading(what.capitalize()),
        paragraph(words) if whole else Html(""),
        explained([("embedding", inside.digits)]),
        figure(plots.spectrum_of(inside.digits), ""),
        heading("Residual stream"),
    ]
    if isinstance(inside.numbers, str):
        parts.append(paragraph(f"Not fitted: {inside.numbers}."))
        return section("The shape of numbers", *parts)
    last = inside.first_number + 2 * (len(inside.numbers[0].spectrum) - 1)
    parts += [
        paragraph(
            f"At the last token of the first operand, which goes from {inside.first_number} to "
            f"about {last - 1}, all else alike."
        ),
        figure(plots.helix(inside.numbers), ""),
        explained([(f"{depth} behind", fit) for depth, fit in enumerate(inside.numbers)]),
    ]
    return section("The shape of numbers", *parts)


def explained(fits: list[tuple[str, HelixFit]]) -> Html:
    """Shares by family."""
    families = list(fits[0][1].explained)
    rows = [(name, *(f"{fit.explained[one]:.3f}" for one in families)) for name, fit in fits]
    return table(("", *families), rows)


def ablation(inside: Inside, setup: Setup) -> Html:
    """Which heads it needs."""
    looped = setup.experiment.model.loops > 1
    return section(
        "Ablation of heads",
        paragraph(
            f"With all heads {inside.ablation.whole_exact:.3f} of the answers are exactly right, "
            f"and {inside.ablation.whole_token:.3f} of their tokens, each behind the right ones "
            "before it. Below, one head is silenced" + (" in all loops." if looped else ".")
        ),
        figure(plots.ablation(inside.ablation), ""),
    )


def bilinear(inside: Inside, setup: Setup) -> Html:
    """What bilinear layers add."""
    if isinstance(inside.spectra, str):
        return section("Bilinear layers", paragraph(f"Not shown: {inside.spectra}."))
    names = digit_names(setup.language.alphabet.base)
    return section(
        "Bilinear layers",
        paragraph(
            "What a bilinear layer adds along a direction u is a quadratic form x'Mx of what it "
            "reads. The eigenvalues of M, for the readout of each digit; few large ones mean that "
            "few features of the input decide."
        ),
        figure(plots.spectra(inside.spectra, names), ""),
    )
