"""The page about an evaluation: who is how good at what, and what goes wrong, with examples."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from curta.delegate.data.answers import FEWEST_DECIMALS, PRINTED_DECIMALS
from curta.delegate.data.example import FAILURE, RESULT
from curta.delegate.evaluation.figures import Figures, Share
from curta.delegate.evaluation.running import Answers, Config, Folder
from curta.delegate.evaluation.suites import NEGATIVES, Question
from curta.delegate.evaluation.systems import System
from curta.delegate.evaluation.taxonomy import WRONG, Kind, Verdict
from curta.pages.html import Html, details, figure, heading, note, page, section, table, text
from curta.pages.pictures import COLOURS, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXAMPLES = 3
"""Of each kind, for each system."""

CALL = re.compile(rf"&lt;&lt;calc:(?:[^\n]*?&gt;&gt;(?: = (?:{FAILURE}|{RESULT}))?|[^\n]*)")
MISSING = "–"

KIND_COLOURS: dict[Kind, str] = {
    "right": "#2a9d6f",
    "wrong reasoning": "#d9a72b",
    "wrong computation": "#c2452d",
    "wrong format": "#7a6ad8",
    "stopped early": "#8a8f98",
    "unneeded call": "#b84fa0",
}

LINE: Any = {"marker": "o", "markersize": 4, "linewidth": 1.4, "elinewidth": 1, "capsize": 2}

Groups = Mapping[str, Mapping[Any, Share]]
"""Shares by group, for each system."""

ALWAYS = {
    "format": "format",
    "valid_calls": "valid calls",
    "false_calls": "false calls",
    "false_calls_with_digits": "with digits",
}
"""What a terminal shows of every system beside its right answers, and what it is called there."""


def write_report(
    folder: Folder, config: Config, questions: Sequence[Question], answers: Answers
) -> Figures:
    """`report.html` and `figures.json` of a finished evaluation."""
    figures = Figures(config.systems, questions, answers)
    folder.report_file.write_text(report(figures, config), encoding="utf-8")
    written = json.dumps(figures.as_json(), indent=1, ensure_ascii=False) + "\n"
    (folder.path / "figures.json").write_text(written, encoding="utf-8")
    return figures


def report(figures: Figures, config: Config) -> str:
    counts = ", ".join(
        f"{sum(one.suite == suite for one in figures.questions):,} {suite}"
        for suite in figures.suites
    )
    about = f"Questions: {counts}. Greedy decoding, at most {config.max_new_tokens:,} tokens."
    return page(
        "Evaluation",
        about,
        [
            section("Systems", systems(figures)),
            section("Accuracy", accuracy(figures), digits(figures), categories(figures)),
            section("What goes wrong", kinds(figures)),
            section("How they write", writing(figures)),
            section("Differences", differences(figures)),
            section("Backends", backends(figures)),
            section("Examples", *examples(figures)),
        ],
    )


def noted(head: Sequence[object], rows: Sequence[Sequence[object]], words: str) -> Html:
    """A table, and how its figures came to be; nothing of nothing."""
    return Html(table(head, rows) + note(words)) if rows else Html("")


def systems(figures: Figures) -> Html:
    rows = [
        (
            one.name,
            one.model.rstrip("/").rpartition("/")[2],
            one.origin or MISSING,
            one.adapter.rstrip("/").rpartition("/")[2] if one.adapter else "none",
            ", ".join(filter(None, (one.format, f"answered by {one.backend}")))
            if one.backend
            else "not intercepted",
        )
        for one in figures.systems
    ]
    return table(("system", "model", "weights", "adapter", "calls"), rows)


def accuracy(figures: Figures) -> Html:
    rows = [
        (one.name, *(percent(figures.accuracy(one.name, suite)) for suite in figures.computing))
        for one in figures.systems
    ]
    return noted(
        ("right answers", *figures.computing),
        rows,
        "The final answer (behind “The answer is” or ####, or else the last number) has to be "
        "the wanted one: the same words or the same number. A number may be rounded correctly "
        f"to fewer decimals than the wanted one has, at least {FEWEST_DECIMALS} and with as "
        f"many digits that count. Where the wanted one has {PRINTED_DECIMALS} decimals or "
        "more, so that it may be rounded itself, a number with as many or more decimals is "
        "right, too, if it is that one when it is rounded. Intervals are Wilson's, 95%; of "
        "questions with equal wordings by bootstrap over wordings.",
    )


def digits(figures: Figures) -> Html:
    """By length of numbers."""
    groups = grouped(figures, lambda question: question.digits)
    caption = "Right answers by length of numbers, with 95% intervals."
    differing = [
        suite for suite in groups if has_lengths(groups[suite]) and figures.kinds_differ(suite)
    ]
    if differing:
        caption += (
            f" In {' and '.join(differing)}, some lengths lack kinds of questions that others "
            "have: what differs there is not the length alone."
        )
    picture = figure(by_digits(groups), caption)
    return Html(picture + group_tables(groups, "digits", "digits, in numbers"))


def categories(figures: Figures) -> Html:
    """By kind of question."""
    groups = grouped(figures, lambda question: question.category)
    return group_tables(groups, "kind", "kind of question")


def grouped(figures: Figures, group: Callable[[Question], Any]) -> dict[str, Groups]:
    """Shares of each suite, system and group."""
    return {
        suite: {one.name: figures.by(one.name, suite, group) for one in figures.systems}
        for suite in figures.computing
    }


def group_tables(suites: dict[str, Groups], name: str, what: str) -> Html:
    """Groups below each other, systems side by side; to be opened for each suite."""
    tables = []
    for suite, systems in suites.items():
        rows = [
            (group, *(percent(shares.get(group)) for shares in systems.values()))
            for group in sorted(set().union(*systems.values()))
        ]
        tables.append(details(f"{suite} by {what}", table((name, *systems), rows)))
    return Html("\n".join(tables))


def kinds(figures: Figures) -> Html:
    """Bars and numbers."""
    rows = [
        (f"{suite}: {one.name}", counts)
        for suite in figures.suites
        for one in figures.systems
        if (counts := figures.kinds(one.name, suite))
        and (suite != NEGATIVES or one.backend is not None)
    ]
    shown = [kind for kind in ("right", *WRONG) if any(counts[kind] for _, counts in rows)]
    numbers = [(name, *(counts[kind] for kind in shown)) for name, counts in rows]
    caption = "Every answer is of exactly one kind; the first rule that holds decides."
    return Html(
        figure(bars(rows), caption)
        + details("in numbers", table(("answers", *shown), numbers))
        + note(
            "Stopped early: not ended when all tokens were used. Wrong format: a call without a "
            "result (unless its error is the right answer), or no final answer. Wrong "
            "computation: a call or an inline equation that the calculator contradicts. Wrong "
            "reasoning: nothing of these, and the answer is another."
        )
    )


def writing(figures: Figures) -> Html:
    """Format, calls, speed."""
    rows = []
    for one in figures.systems:
        kept, *of_calls = figures.shares(one.name).values()
        speed, taken = figures.speed(one.name), figures.microseconds(one.name)
        rows.append(
            (
                one.name,
                percent(kept),
                *(percent(share if one.backend is not None else None) for share in of_calls),
                f"{speed:,.1f}" if speed else MISSING,
                f"{taken:,.0f}" if taken is not None else MISSING,
            )
        )
    head = (
        "system", "format kept", "answers with calls", "valid calls", "false calls",
        "false calls, digits in the question", "tokens/s", "µs a call, median",
    )  # fmt: skip
    return noted(
        head,
        rows,
        "Format kept: the answer ended, states “The answer is”, and left no call without a "
        "result. Valid: calls with a result, of all begun. A call whose error is the right "
        "answer counts as one with a result. False: answers with a call to questions with "
        "nothing to compute; and to those of them only in which there are digits. Tokens/s: whole "
        "batches, results of calls among the tokens; only what was generated.",
    )


def differences(figures: Figures) -> Html:
    rows = [
        (
            one.suite,
            f"{one.first} − {one.second}",
            with_interval(f"{100 * one.difference:+.1f}", one.interval, "+.1f"),
            f"{one.p:.4f}" if one.p >= 1e-4 else f"{one.p:.1e}",
        )
        for one in figures.comparisons()
    ]
    return noted(
        ("suite", "systems", "percentage points [95%]", "McNemar's p"),
        rows,
        "Both answered the same questions: the interval is by bootstrap over questions, p by "
        "McNemar's exact test, not corrected for the number of comparisons.",
    )


def backends(figures: Figures) -> Html:
    """What computes the calls."""
    rows = [
        (
            f"{one.system}, as {one.source}",
            f"{one.calls.right:,} of {one.calls.count:,}",
            f"{one.answers.right:,} of {one.answers.count:,}",
            one.differs or "none",
        )
        for one in figures.agreements()
    ]
    return noted(
        ("systems", "expressions with the same result", "answers taken over", "differs"),
        rows,
        "An answer is taken over if the backend, asked for every call in it, gives the same "
        "text to put behind: greedy decoding then goes on with the same tokens. All other "
        "answers were generated again. So accuracies agree by construction where answers "
        "were taken over, and speed is of the generated ones only.",
    )


def examples(figures: Figures) -> list[Html]:
    """Some of each kind for each system, from the first to the last."""
    parts: list[Html] = []
    for kind in (*WRONG, "right"):
        shown = []
        for system, judged in figures.judged.items():
            found = [one for one in judged if one.kind == kind]
            some = found[:: max(1, len(found) // EXAMPLES)][:EXAMPLES]
            if found:
                shown.append(details(f"{system}, {len(found):,}", *map(example, some)))
        parts += [heading(kind), *shown] if shown else []
    return parts


def example(one: Verdict) -> Html:
    """A question, the answer with its calls marked, and what is wrong."""
    wanted = f" (right: {one.question.value})" if one.question.value is not None else ""
    why = Html(f"<p class=note>{text(one.why)}</p>") if one.why else ""
    return Html(
        f"<div class=example><p><b>{text(one.question.suite)}</b> {text(one.question.text)}"
        f"{text(wanted)}</p><pre>{marked(one.answer.text)}</pre>{why}</div>"
    )


def marked(answer: str) -> Html:
    """Calls with a colour; those without a result in another one."""

    def mark(match: re.Match[str]) -> str:
        good = "&gt;&gt; = " in match[0] and "= error" not in match[0]
        return f"<mark{'' if good else ' class=bad'}>{match[0]}</mark>"

    return Html(CALL.sub(mark, html.escape(answer)))


def percent(one: Share | None) -> Html:
    """A share with its interval."""
    if one is None or not one.count:
        return Html(MISSING)
    return with_interval(f"{100 * one.value:.1f}%", one.interval, ".1f")


def with_interval(value: str, interval: tuple[float, float], form: str) -> Html:
    """A figure that is followed by its interval, in hundredths."""
    low, high = (f"{100 * end:{form}}" for end in interval)
    return Html(f"<span class=together>{value} <span class=interval>[{low}, {high}]</span></span>")


def plain(figures: Figures) -> str:
    """The main figures for a terminal, a paragraph for each system."""
    lines = []
    for one in figures.systems:
        shares, speed = counted(figures, one), figures.speed(one.name)
        names = (*figures.computing, *ALWAYS.values())
        shown = {name: str(shares.get(name, MISSING)) for name in names}
        shown["tokens/s"] = f"{speed:,.1f}" if speed else MISSING
        lines += [one.name, *(f"  {what:12} {value}" for what, value in shown.items())]
    return "\n".join(lines)


def counted(figures: Figures, system: System) -> dict[str, Share]:
    """Whatever was counted of a system."""
    shares = {suite: figures.accuracy(system.name, suite) for suite in figures.computing}
    for name, share in figures.shares(system.name).items():
        if name in ALWAYS and (name == "format" or system.backend is not None):
            shares[ALWAYS[name]] = share
    return {what: share for what, share in shares.items() if share.count}


# -- pictures ---------------------------------------------


def by_digits(suites: Mapping[str, Groups]) -> str:
    """A panel for each suite: accuracy by the digits of the longest number, a line per system."""
    shown = {suite: groups for suite, groups in suites.items() if has_lengths(groups)}

    def draw(panels: Sequence[Axes]) -> None:
        for axes, (suite, groups) in zip(panels, shown.items(), strict=True):
            for number, (system, shares) in enumerate(groups.items()):
                offset = 0.12 * (number - (len(groups) - 1) / 2)
                values = np.array([one.value for one in shares.values()])
                low, high = np.array([one.interval for one in shares.values()]).T
                reach = np.maximum(0, [values - low, high - values])
                colour = COLOURS[number % len(COLOURS)]
                places = np.array(list(shares)) + offset
                axes.errorbar(places, values, reach, label=system, color=colour, **LINE)
            axes.set_title(suite, fontsize=9)
            axes.set_ylim(-0.03, 1.03)
            axes.set_xlabel("digits of the longest number in the question")
            axes.set_xticks(sorted(set().union(*groups.values())))
        panels[0].set_ylabel("right answers")
        handles, labels = panels[0].get_legend_handles_labels()
        panels[0].figure.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=8)

    return drawn(draw, len(shown), (max(5.0, 3.7 * len(shown)), 3.4)) if shown else ""


def has_lengths(groups: Groups) -> bool:
    """Whether there is more than one, so that there is something to see."""
    return any(len(shares) > 1 for shares in groups.values())


def bars(rows: Sequence[tuple[str, Mapping[Kind, int]]]) -> str:
    """A bar for each row, all answers in it by what they are."""

    def draw(panels: Sequence[Axes]) -> None:
        (axes,) = panels
        places = range(len(rows))
        left = np.zeros(len(rows))
        for kind, colour in KIND_COLOURS.items():
            widths = np.array([counts.get(kind, 0) / sum(counts.values()) for _, counts in rows])
            if widths.any():
                axes.barh(places, widths, left=left, color=colour, height=0.72, label=kind)
            left = left + widths
        axes.set_yticks(places, [name for name, _ in rows])
        axes.invert_yaxis()
        axes.set_xlim(0, 1)
        axes.set_xlabel("share of answers")
        axes.figure.legend(loc="outside upper center", ncols=6, fontsize=8)

    return drawn(draw, 1, (8.4, 1.1 + 0.28 * len(rows))) if rows else ""
