"""The adapter that comes with curta.

    python -m curta.delegate.training.bundle FOLDER --gsm8k train.jsonl

makes its data in FOLDER, trains it there (killed, it goes on with the same command), and writes it
in half precision, with a card, where `curta calc` looks for it. `--evaluation FOLDER`, of
`curta delegate evaluate`, puts its figures in the card. `--as-it-is` takes the last checkpoint of a
training that is not over.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from safetensors.torch import load_file, save_file

from curta.delegate import models
from curta.delegate.commands import data, train
from curta.delegate.data.data_set import Mix
from curta.delegate.evaluation.figures import Share
from curta.delegate.markdown import table
from curta.delegate.markers import Markers, write_markers
from curta.delegate.options import SMOLLM2
from curta.delegate.training import run_folder
from curta.delegate.training.config import TrainingConfig
from curta.delegate.training.run_folder import Metrics
from curta.delegate.training.trainer import last_checkpoint, step_of
from curta.errors import DataError

MIX = Mix(
    train=240_000, valid=400, test=400, negatives=0.25, arithmetic=0.06, composed=0.45,
    digits=(1, 8),
)  # fmt: skip
SHORTEST_OF_GSM8K = 5_000
CONFIG = TrainingConfig(
    steps=3_000, batch=256, learning_rate=2e-3, warmup=100, last_blocks=0, rank=16, alpha=32,
    longest=320, precision="bfloat16", checkpoint=500,
)  # fmt: skip
STRENGTH = 0.8
"""How much of what was learned is added to the model: with a little less than all it calls less
where there is nothing to compute, and hardly knows less.
"""
WEIGHTS = "adapter_model.safetensors"


def main(arguments: Sequence[str] | None = None) -> int:
    """Make what is not there yet, and write it."""
    parser = argparse.ArgumentParser(prog=f"python -m {__spec__.name}", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--gsm8k", metavar="FILE", required=True, help="train.jsonl of GSM8K")
    parser.add_argument(
        "--evaluation", type=Path, action="append", metavar="FOLDER", help="figures for the card"
    )
    parser.add_argument("--as-it-is", action="store_true", help="take the last checkpoint")
    given = parser.parse_args(arguments)
    made, run = given.folder / "data", given.folder / "run"
    if not made.exists():
        shortest = SHORTEST_OF_GSM8K
        data.run(data.Options(out=str(made), mix=MIX, gsm8k=given.gsm8k, most_annotated=shortest))
    if not given.as_it_is:
        train.run(train.Options(model=SMOLLM2, data=str(made), out=str(run), first_stage=CONFIG))
    place = models.BUNDLED[SMOLLM2]
    write(run, place)
    (place / "README.md").write_text(card(place, run, given.evaluation or ()), encoding="utf-8")
    print(place)
    return 0


def write(run: Path, place: Path) -> None:
    """The adapter of a run, in half precision, and what it needs to be loaded."""
    trained = reached(run)
    place.mkdir(parents=True, exist_ok=True)
    half = {name: one.bfloat16() for name, one in load_file(trained / WEIGHTS).items()}
    save_file(half, place / WEIGHTS, metadata={"format": "pt"})
    (place / WEIGHTS).chmod(0o644)  # it is written for its owner only
    settings = json.loads((trained / "adapter_config.json").read_text("utf-8"))
    settings["lora_alpha"] *= STRENGTH
    settings["target_modules"] = sorted(settings["target_modules"])
    (place / "adapter_config.json").write_text(f"{json.dumps(settings, indent=1)}\n", "utf-8")
    write_markers(Markers(CONFIG.protocol), place)


def reached(run: Path) -> Path:
    """The last checkpoint of a run, which is the adapter, too; of a finished one it is its end."""
    if (found := last_checkpoint(run)) is None:
        raise DataError(f"{run} has no checkpoint yet: leave --as-it-is out")
    return found


def card(place: Path, run: Path, evaluations: Sequence[Path] = ()) -> str:
    """The card of its run, up to the checkpoint that was taken; how often it is right, what is in
    the folder, and whose it is.
    """
    settings = json.loads((run / "training.json").read_text("utf-8"))
    measured = Metrics(run).rows()[: step_of(reached(run))]
    digest = hashlib.sha256((place / WEIGHTS).read_bytes()).hexdigest()
    of_run = run_folder.card(SMOLLM2, CONFIG.protocol, settings, measured)
    of_run = of_run.replace("---", "---\nlicense: mit", 1)
    return f"""{of_run}{figures(evaluations)}
## What comes with curta

`{WEIGHTS}`: {STRENGTH} of what was learned, in bfloat16, SHA-256 {digest}.

    python -m curta.delegate.training.bundle FOLDER --gsm8k train.jsonl

makes it: {MIX.train:,} questions of curta's own templates (MIT licence, as curta), and the
{SHORTEST_OF_GSM8K:,} shortest of GSM8K's training set whose calculations are right (Cobbe et al.,
2021; MIT licence). Nothing of SVAMP, of GSM8K's test set or of the kinds of templates that are held
back was trained. The adapter has the MIT licence; the model itself has the Apache licence 2.0, and
is not part of curta.
"""


COUNTED = {
    "trained": "kinds of problem that it was trained on, new numbers",
    "templates": "kinds that it was not",
    "svamp": "SVAMP",
    "gsm8k": "GSM8K",
    "false_calls": "calls where there is nothing to compute",
    "false_calls_with_digits": "... though there are numbers",
}


def figures(evaluations: Sequence[Path]) -> str:
    """How often it was right, with 95% intervals."""
    held: dict[str, Any] = {}
    for folder in evaluations:
        (of_system,) = json.loads((folder / "figures.json").read_text("utf-8")).values()
        held |= {name: one for name, one in (of_system | of_system["accuracy"]).items() if one}
    rows = [
        (title, Share(held[name]["right"], held[name]["count"]), held[name]["count"])
        for name, title in COUNTED.items()
        if name in held
    ]
    if not rows:
        return ""
    return f"""
## How often it is right

Shares with Wilson's 95% intervals.

{table(("", "", "of"), rows)}
"""


if __name__ == "__main__":
    sys.exit(main())
