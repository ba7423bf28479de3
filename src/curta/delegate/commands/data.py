"""`curta delegate data`: questions with calls, for training."""

from __future__ import annotations

from dataclasses import dataclass, field

from curta.delegate.data.data_set import Mix
from curta.delegate.options import folder_of
from curta.errors import DataError
from curta.options import option
from curta.terminal import AsJson


@dataclass(frozen=True)
class Options(AsJson):
    """Make a data set of questions with calls: from templates (whose tests are of other kinds than
    the training) and, if given, from annotated sets. train.jsonl, valid.jsonl and test.jsonl as
    chat messages, and a card with counts and plots.

    out:            a new folder
    gsm8k:          add GSM8K's training set, from its JSON lines
    calc_x:         add a set of Calc-X, a file or a name on the Hub, as MU-NLPC/Calc-ape210k; can
                    be given repeatedly
    most_annotated: so many examples of each of these sets, the shortest answers first (all)
    """

    out: str = option(metavar="FOLDER")
    mix: Mix = field(default_factory=Mix)
    gsm8k: str | None = option(None, metavar="FILE")
    calc_x: tuple[str, ...] = option((), metavar="SET")
    most_annotated: int | None = None


@dataclass(frozen=True)
class Report:
    """What there is.

    parts:   for each, examples by kind
    dropped: examples that were left out, by the reason
    card:    the file that says more
    """

    parts: dict[str, dict[str, int]]
    dropped: dict[str, int]
    card: str

    def __str__(self) -> str:
        lines = []
        for name, counts in self.parts.items():
            kinds = ", ".join(f"{kind} {count:,}" for kind, count in counts.items())
            lines.append(f"{name}: {sum(counts.values()):,} ({kinds})")
        lines += [f"left out: {count:,} times {why}" for why, count in self.dropped.items()]
        return "\n".join([*lines, f"card: {self.card}"])


def run(options: Options) -> int:
    """Draw, convert, write, and say what there is."""
    from curta.delegate.data import annotated, card, data_set

    folder = folder_of(options.out)
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"{folder} is there already: choose another --out")
    gsm8k = [options.gsm8k] if options.gsm8k else []
    converted = [annotated.from_gsm8k(annotated.read_rows(source)) for source in gsm8k]
    converted += [annotated.from_calc_x(annotated.read_rows(source)) for source in options.calc_x]
    if options.most_annotated is not None:
        for each in converted:
            annotated.shortest(each, options.most_annotated)
    made = data_set.build(options.mix, [one for each in converted for one in each.examples])
    for each in converted:
        made.dropped.update(each.dropped)
    data_set.write(made, folder)
    card.write_card(made, folder)
    parts = {name: dict(data_set.counts(part).most_common()) for name, part in made.parts.items()}
    report = Report(parts, dict(made.dropped), str(folder / "README.md"))
    return options.show(report)
