"""The commands of the training lab, and their options."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from collections.abc import Callable

from curta.app.parser import Parser
from curta.errors import ExperimentError

NEEDED = ("jax", "equinox", "optax", "jaxtyping", "matplotlib", "pyarrow")

Command = Callable[[argparse.Namespace], int]


def add_learn(commands: argparse._SubParsersAction[Parser]) -> None:
    """`curta learn` and its commands."""
    learn = commands.add_parser(
        "learn",
        help="train small transformers to compute, and see how far they get",
        description="Task, format, positions and model are four independent choices; recipes are "
        "published combinations of them.",
    )
    under = learn.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_list(under)
    add_run(under)
    add_resume(under)
    add_evaluate(under)
    add_sweep(under)
    add_compare(under)
    add_ask(under)
    add_inside(under)
    add_profile(under)
    add_units(under)


def add_list(commands: argparse._SubParsersAction[Parser]) -> None:
    listing = commands.add_parser(
        "list", help="recipes, tasks, formats, positions, models; or the options of an experiment"
    )
    listing.add_argument(
        "what",
        nargs="?",
        choices=("recipes", "tasks", "formats", "positions", "models", "options"),
        help="only these",
    )
    listing.set_defaults(command=later("show_list"))


def add_run(commands: argparse._SubParsersAction[Parser]) -> None:
    run = commands.add_parser(
        "run",
        help="train, evaluate, and write a run folder with a report",
        usage="curta learn run NAME [--preset PRESET] [--out DIR] [--log LOGGER] [--OPTION VALUE]",
        description="NAME is a recipe, a task, or a file with a task. Any option of an experiment "
        "can be given: --format reversed --positions coupled --model looped --train-digits 1..10 "
        "--test-digits 1..60 --seeds 4 --steps 5000. curta learn list options shows all of them.",
    )
    run.add_argument("name", metavar="NAME")
    run.add_argument(
        "--preset", default="small", metavar="PRESET", help="of a recipe: smoke, small or full"
    )
    add_out(run, "runs/NAME-TIMESTAMP")
    add_log(run)
    run.prepare = take_options
    run.set_defaults(command=later("run"), words=[])


def add_resume(commands: argparse._SubParsersAction[Parser]) -> None:
    resume = commands.add_parser(
        "resume", help="go on with a run that was stopped, from its last checkpoint"
    )
    resume.add_argument("run", metavar="RUN")
    add_log(resume)
    resume.set_defaults(command=later("resume"))


def add_evaluate(commands: argparse._SubParsersAction[Parser]) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="measure a run again: other lengths, other numbers of loops",
        usage="curta learn evaluate RUN [--digits 1..60] [--loops 1,2,4] [--grid] [--values 0..99] "
        "[--samples N] [--stride N] [--test N] [--probes] [--walks 10,100]",
        description="What is not given is as the run's experiment has it. evaluation.json and "
        "report.html are written anew.",
    )
    evaluate.add_argument("run", metavar="RUN")
    evaluate.prepare = take_options
    evaluate.set_defaults(command=later("evaluate"), words=[])


def add_sweep(commands: argparse._SubParsersAction[Parser]) -> None:
    sweep = commands.add_parser(
        "sweep",
        help="run every combination of some options, or random ones",
        description="FILE.toml has a table [base] with options of all runs, and [grid] with lists "
        "of values, or [random] with runs = N and lists or {low, high, log}.",
    )
    sweep.add_argument("file", metavar="FILE.toml")
    sweep.add_argument("--cluster", action="store_true", help="through Ray, all at once")
    add_out(sweep, "runs/FILE-TIMESTAMP; one that is there is gone on with")
    sweep.set_defaults(command=later("sweep"))


def add_compare(commands: argparse._SubParsersAction[Parser]) -> None:
    compare = commands.add_parser(
        "compare", help="put runs side by side: curves, heatmaps, tables with intervals"
    )
    compare.add_argument("runs", nargs="+", metavar="RUN")
    compare.add_argument(
        "-o", "--output", default="compare.html", metavar="OUT.html", help="(compare.html)"
    )
    compare.set_defaults(command=later("compare"))


def add_ask(commands: argparse._SubParsersAction[Parser]) -> None:
    ask = commands.add_parser(
        "ask", help="ask a trained model something, and see how sure it is of each token"
    )
    ask.add_argument("run", metavar="RUN")
    ask.add_argument("prompt", metavar="PROMPT", help="as the format writes it: 57+24=")
    ask.add_argument("--seed", type=int, metavar="N", help="which of the models (the first)")
    ask.add_argument("--loops", type=int, metavar="N", help="as often (as in training)")
    ask.set_defaults(command=later("ask"))


def add_inside(commands: argparse._SubParsersAction[Parser]) -> None:
    inside = commands.add_parser(
        "inside",
        help="look inside a trained model: attention, probes, shapes of numbers, ablations",
        description="Draws problems of the longest trained operands, laid out alike, and writes a "
        "page: where heads look, what can be read from the residual stream at which depth, whether "
        "numbers lie on a helix, and which heads the model cannot do without.",
    )
    inside.add_argument("run", metavar="RUN")
    inside.add_argument("--seed", type=int, metavar="N", help="which of the models (the first)")
    inside.add_argument(
        "--samples", type=int, default=1_000, metavar="N", help="problems to look at (1000)"
    )
    inside.add_argument(
        "-o", "--output", metavar="OUT.html", help="the page (inside.html in the run's folder)"
    )
    inside.set_defaults(command=later("inside", "learn_tools"))


def add_profile(commands: argparse._SubParsersAction[Parser]) -> None:
    profile = commands.add_parser(
        "profile",
        help="time a training step: compiling, memory, arithmetic, how far from the roofline",
        usage="curta learn profile NAME [--preset PRESET] [--repeats N] [-o OUT.html] "
        "[--OPTION VALUE]",
        description="NAME is a recipe (its first experiment; recipe:experiment for another), a "
        "task, or a file with a task, with any options of an experiment. Layers are compiled one "
        "after the other and scanned, and both are timed; the machine's own limits are measured "
        "beside them.",
    )
    profile.add_argument("name", metavar="NAME")
    profile.add_argument(
        "--preset", default="small", metavar="PRESET", help="of a recipe: smoke, small or full"
    )
    profile.add_argument("--repeats", type=int, default=20, metavar="N", help="steps to time (20)")
    profile.add_argument("-o", "--output", metavar="OUT.html", help="also a page, with a plot")
    profile.prepare = take_options
    profile.set_defaults(command=later("profile", "learn_tools"), words=[])


def add_units(commands: argparse._SubParsersAction[Parser]) -> None:
    units = commands.add_parser(
        "units",
        help="the benchmark of arithmetic units: how often NAC, NALU, NAU, NMU, NSR find a rule",
        description="Trains arithmetic units and plain networks on sums, products, comparisons and "
        "loops, many seeds of each, and counts those that are right far outside of the trained "
        "range.",
    )
    units.add_argument(
        "--preset", default="small", metavar="PRESET", help="smoke, small (default) or full"
    )
    units.add_argument("--seed", type=int, default=0, metavar="N", help="of all random draws (0)")
    units.add_argument("-o", "--output", metavar="OUT.html", help="also a page, with plots")
    units.set_defaults(command=later("units", "learn_tools"))


def add_out(command: Parser, default: str) -> None:
    command.add_argument("--out", metavar="DIR", help=f"the folder ({default})")


def add_log(command: Parser) -> None:
    command.add_argument(
        "--log", choices=("tensorboard", "wandb"), help="send the metrics there as well"
    )


def take_options(parser: Parser, args: list[str], namespace: argparse.Namespace) -> list[str]:
    """Set aside the options of experiments, which only the lab itself knows, with their values."""
    own: list[str] = []
    words: list[str] = []
    at = 0
    names = set(parser._option_string_actions)
    while at < len(args):
        word = args[at]
        taken = 1
        following = "".join(args[at + 1 : at + 2])
        is_value = following[:1] != "-" or following[1:2].isdigit()
        if word.startswith("-") and "=" not in word and following and is_value:
            taken = 2
        if not word.startswith("--"):
            taken = 1
        target = words if word.startswith("--") and word.partition("=")[0] not in names else own
        target += args[at : at + taken]
        at += taken
    namespace.words = words
    return own


def later(name: str, module: str = "learn") -> Command:
    """A command that is imported when it is used, once what it needs is there."""

    def command(options: argparse.Namespace) -> int:
        missing = [package for package in NEEDED if importlib.util.find_spec(package) is None]
        if missing:
            raise ExperimentError(
                f"curta learn needs {', '.join(missing)}: pip install 'curta[learn]'"
            )
        from curta.app.learn_cache import keep_compiled_programs

        keep_compiled_programs()
        chosen: Command = getattr(importlib.import_module(f"curta.app.{module}"), name)
        return chosen(options)

    return command
