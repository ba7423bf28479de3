"""The commands of the calculator-calling language model."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable

from curta.app.parser import Parser

Command = Callable[[argparse.Namespace], int]


def add_delegate(commands: argparse._SubParsersAction[Parser]) -> None:
    """`curta delegate data`, `curta delegate train`, `curta delegate evaluate`"""
    delegate = commands.add_parser("delegate", help="teach a language model to call a calculator")
    inner = delegate.add_subparsers(title="commands", required=True, metavar="COMMAND")
    add_data(inner)
    add_train(inner)
    add_evaluate(inner)


def add_data(commands: argparse._SubParsersAction[Parser]) -> None:
    data = commands.add_parser(
        "data",
        help="make a data set of questions with calls",
        description="Questions from templates (whose tests are of other kinds than the training) "
        "and, if given, from annotated sets: train.jsonl, valid.jsonl and test.jsonl as chat "
        "messages, and a card with counts and plots.",
    )
    data.add_argument("--out", required=True, metavar="FOLDER")
    for name, default, what in (
        ("train", 8_000, "examples from templates for training"),
        ("valid", 400, "examples for validation"),
        ("test", 1_000, "examples of the test templates"),
        ("seed", 0, "the same seed makes the same set"),
    ):
        data.add_argument(
            f"--{name}", type=int, default=default, metavar="N", help=f"{what} ({default})"
        )
    data.add_argument(
        "--digits", default="1..4", help="how long numbers are that may be of any length (1..4)"
    )
    data.add_argument(
        "--negatives", type=float, default=0.25, help="share without anything to compute (0.25)"
    )
    data.add_argument(
        "--arithmetic", type=float, default=0.15, help="share of bare calculations (0.15)"
    )
    data.add_argument(
        "--mistakes",
        type=float,
        default=0.0,
        help="share of calls that fail and are written again, and of questions that have no "
        "answer (0; 0.04 is a good one)",
    )
    data.add_argument(
        "--gsm8k", metavar="FILE", help="add GSM8K's training set, from its JSON lines"
    )
    data.add_argument(
        "--calc-x",
        action="append",
        default=[],
        metavar="SET",
        help="add a set of Calc-X, a file or a name on the Hub, as MU-NLPC/Calc-ape210k",
    )
    data.add_argument(
        "--most-annotated",
        type=int,
        metavar="N",
        help="so many examples of each of these sets, the shortest answers first (all)",
    )
    data.set_defaults(command=later("make_data"))


def add_train(commands: argparse._SubParsersAction[Parser]) -> None:
    train = commands.add_parser(
        "train",
        help="fine-tune an adapter on such a data set",
        description="First stage: supervised fine-tuning of a low-rank adapter. Killed, it goes on "
        "from its last checkpoint with the same command, to the same adapter. Second stage, with "
        "--stage grpo --adapter FOLDER: the adapter answers the questions itself, several times "
        "each, and learns from what its answers are worth (a right answer, valid calls). Several "
        "GPUs or processes: accelerate launch -m curta delegate train ...",
    )
    train.add_argument(
        "--stage", choices=("sft", "grpo"), default="sft", help="first or second stage (sft)"
    )
    train.add_argument("--model", required=True, metavar="NAME", help="on the Hub, or a folder")
    train.add_argument("--data", required=True, metavar="FOLDER", help="from curta delegate data")
    train.add_argument("--out", required=True, metavar="FOLDER")
    train.add_argument(
        "--no-calls",
        dest="calls",
        action="store_false",
        help="the same answers, written out without calls: what a calculator is compared with",
    )
    train.add_argument(
        "--special-tokens",
        action="store_true",
        help="the markers of a call are tokens of their own; one that the model does not know "
        "begins as the mean of all others",
    )
    train.add_argument(
        "--adapter", default="", metavar="FOLDER", help="what the second stage goes on with"
    )
    for name, kind, default, what in (
        ("open", str, "<<calc:", "what a call begins with"),
        ("close", str, ">>", "what a call ends with"),
        ("mode", str, "full", "full: all linear layers; mlp: not those of linear attention"),
        ("last-blocks", int, 16, "adapters on so many of the last blocks; 0 for all"),
        ("rank", int, 32, "of the adapters"),
        ("alpha", int, 64, "they are scaled by alpha / rank"),
        ("dropout", float, 0.0, "of the adapters"),
        ("steps", int, 3_000, "updates"),
        ("batch", int, 1, "conversations in a pass; questions in the second stage"),
        ("accumulate", int, 1, "passes in an update"),
        ("learning-rate", float, 2e-5, "at its highest"),
        ("warmup", int, 100, "updates in which it grows"),
        ("longest", int, 2_048, "tokens of a conversation; longer ones are left out"),
        ("precision", str, "float32", "float32 or bfloat16"),
        ("seed", int, 0, "the same seed trains the same adapter"),
        ("checkpoint", int, 200, "updates between checkpoints"),
        ("group", int, 8, "second stage: answers to each question"),
        ("max-new-tokens", int, 256, "second stage: tokens of an answer"),
        ("temperature", float, 1.0, "second stage: of the answers that are drawn"),
        ("pull", float, 0.0, "second stage: weight of staying near the first stage's adapter"),
        ("right", float, 1.0, "second stage: reward of the right answer"),
        ("valid", float, 0.1, "second stage: reward of calls that are answered"),
        ("rejected", float, 0.2, "second stage: what calls that fail cost"),
        ("unneeded", float, 0.2, "second stage: what calls that nobody needs cost"),
    ):
        train.add_argument(f"--{name}", type=kind, default=default, help=f"{what} ({default})")
    train.set_defaults(command=later("train_adapter"))


def add_evaluate(commands: argparse._SubParsersAction[Parser]) -> None:
    evaluate = commands.add_parser(
        "evaluate",
        help="measure how often models are right, and what goes wrong",
        description="Asks systems the same questions: the model with each adapter and its calls "
        "answered by each backend, adapters trained without calls (--inline), and the model as "
        "it is (--untrained). With none of these it is the model itself that calls. Writes "
        "answers, figures and report.html; killed, it goes on with the same command.",
    )
    evaluate.add_argument("--model", required=True, metavar="NAME", help="on the Hub, or a folder")
    evaluate.add_argument(
        "--adapter",
        action="append",
        default=[],
        metavar="[NAME=]FOLDER",
        help="from curta delegate train; may be given again",
    )
    evaluate.add_argument(
        "--inline",
        action="append",
        default=[],
        metavar="[NAME=]FOLDER",
        help="an adapter trained with --no-calls; calls are not intercepted",
    )
    evaluate.add_argument(
        "--untrained", action="store_true", help="the model without adapter and calls, too"
    )
    for name, first, what in (
        ("backend", "exact", "who computes calls: exact, torch, kernel, machine"),
        (
            "suite",
            "templates",
            "what is asked: templates (kinds that training does not have), trained (those that it "
            "has, drawn anew), gsm8k, svamp",
        ),
    ):
        evaluate.add_argument(f"--{name}", default=first, metavar="A,B", help=f"{what} ({first})")
    evaluate.add_argument(
        "--data",
        metavar="FOLDER",
        help="templates as in its test.jsonl; without, or with --digits, they are drawn anew",
    )
    evaluate.add_argument("--gsm8k", metavar="FILE", help="test.jsonl of GSM8K")
    evaluate.add_argument("--svamp", metavar="FILE", help="SVAMP.json")
    evaluate.add_argument(
        "--digits", metavar="A..B", help="of the longest number in questions drawn anew (1..4)"
    )
    for name, number, what in (
        ("count", None, "questions of each suite, at most (all of files, 200 drawn anew)"),
        ("negatives", None, "questions with nothing to compute (a quarter of --count)"),
        ("seed", 0, "the same seed asks the same questions (0)"),
        ("batch", 16, "questions in a pass (16)"),
        ("max-new-tokens", 400, "of an answer (400)"),
    ):
        evaluate.add_argument(f"--{name}", type=int, default=number, metavar="N", help=what)
    evaluate.add_argument("--device", help="as cpu or cuda:1 (a GPU if there is one)")
    evaluate.add_argument(
        "--out", default="evaluation", metavar="FOLDER", help="where it lies (evaluation)"
    )
    evaluate.set_defaults(command=later("evaluate", "curta.app.delegate_evaluate"))


def later(name: str, module: str = "curta.app.delegate") -> Command:
    """A command that is imported when it is used."""

    def command(options: argparse.Namespace) -> int:
        chosen: Command = getattr(importlib.import_module(module), name)
        return chosen(options)

    return command
