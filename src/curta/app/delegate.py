"""What the commands of the calculator-calling language model do."""

from __future__ import annotations

import argparse
from pathlib import Path

from curta.delegate.data import annotated, card, mix
from curta.errors import DataError


def make_data(options: argparse.Namespace) -> int:
    """Draw, convert, write, and say what there is."""
    wanted = mix.Mix(
        train=options.train,
        valid=options.valid,
        test=options.test,
        negatives=options.negatives,
        arithmetic=options.arithmetic,
        digits=digits(options.digits),
        seed=options.seed,
    )
    folder = Path(options.out)
    if folder.exists() and any(folder.iterdir()):
        raise DataError(f"{folder} is there already: choose another --out")
    converted = []
    if options.gsm8k:
        converted.append(annotated.from_gsm8k(annotated.read_rows(options.gsm8k)))
    for source in options.calc_x:
        converted.append(annotated.from_calc_x(annotated.read_rows(source)))
    made = mix.build(wanted, [one for each in converted for one in each.examples])
    for each in converted:
        made.dropped.update(each.dropped)
    mix.write(made, folder)
    card.write_card(made, folder)
    for name, part in made.parts.items():
        counted = ", ".join(f"{kind} {count:,}" for kind, count in mix.counts(part).most_common())
        print(f"{name}: {len(part):,} ({counted})")
    for why, count in made.dropped.items():
        print(f"left out: {count:,} times {why}")
    print(f"card: {folder / 'README.md'}")
    return 0


def digits(written: str) -> tuple[int, int]:
    """`1..4`, or `3` for 3 to 3."""
    low, dots, high = written.partition("..")
    try:
        return int(low), int(high if dots else low)
    except ValueError:
        raise DataError(f"--digits {written}: write a range as in 1..4") from None
