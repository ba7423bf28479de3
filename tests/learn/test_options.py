"""Options by name: each goes where it belongs, and mistakes say how it is written."""

from __future__ import annotations

import pytest

from curta.app.parser import parse
from curta.errors import ExperimentError
from curta.learn.commands.run import Options
from curta.learn.experiment import Experiment
from curta.learn.options import choices, described_changes, options, with_options


def made(line: str) -> Experiment:
    given: Options = parse("learn run", Options, ["addition", *line.split()])
    return with_options(Experiment(), given.choices)


def test_options_go_where_they_belong() -> None:
    found = made(
        "--format plain --positions rope(base=100.0) --model looped --width 32 --loops 4 "
        "--train-digits 1..7 --test-digits 2..30 --test-loops 1,2,8 --seeds=4 --learning-rate 3e-4 "
        "--steps 10,000 --grid --no-tied --no-equal --priming 12 --head-width none"
    )
    assert (found.format, found.positions) == ("plain", "rope(base=100.0)")
    assert (found.model.width, found.model.loops, found.model.injection) == (32, 4, True)
    assert (found.model.tied, found.model.head_width) == (False, None)
    assert (found.sampling.digits, found.sampling.priming) == ((1, 7), (12, 12))
    assert (found.evaluation.digits, found.evaluation.loops) == ((2, 30), (1, 2, 8))
    assert (found.training.seeds, found.training.steps) == (4, 10_000)
    assert (found.training.learning_rate, found.evaluation.grid) == (3e-4, True)


def test_what_toml_says_means_the_same() -> None:
    given = {"train_digits": [1, 7], "seeds": 4, "tied": False, "test-loops": [1, 2], "width": 32}
    words = "--train-digits 1..7 --seeds 4 --no-tied --test-loops 1,2 --width 32"
    assert with_options(Experiment(), given) == made(words)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--stpes 5", "no option --stpes: did you mean --steps"),
        ("--steps", "--steps needs a value"),
        ("--steps --seeds 2", "--steps --seeds: write a whole number"),
        ("--steps many", "--steps many: write a whole number"),
        ("--steps 0", "steps = 0: must be at least 1"),
        ("--train-digits 3..x", "--train-digits 3..x: write a range as in 1..10"),
        ("--train-digits 9..3", "digits = 9..3: a range goes from 1"),
        ("--test-digits 0..3", "evaluation digits = 0..3: a range goes from 1"),
        ("--grid maybe", "maybe does not belong to anything"),
        ("--tied=perhaps", "--tied takes no value"),
        ("--schedule never", "--schedule never: one of constant, cosine, linear"),
        ("--model loped", "no model is called 'loped': did you mean looped?"),
        ("--width 30", "not a multiple of heads"),
        ("--test-samples 0", "evaluation samples = 0"),
    ],
)
def test_mistakes_name_the_option_and_the_remedy(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises((ExperimentError, SystemExit)) as error:
        made(line)
    assert words in f"{error.value} {capsys.readouterr().err}"


def test_every_choice_has_an_option_of_its_own() -> None:
    found = choices(Experiment())
    fields = sum(len(part.__dataclass_fields__) for part in (
        type(Experiment().model), type(Experiment().sampling),
        type(Experiment().training), type(Experiment().evaluation)))  # fmt: skip
    assert len(found) == fields + 4
    assert set(found) - {"name", "task", "format", "positions"} <= {
        option.name for option in options()
    }


def test_changes_are_written_as_they_were_given() -> None:
    line = "--positions rope --width 32 --digits 1..7 --seeds 4 --test-digits 2..30"
    assert described_changes(made(line)) == line
