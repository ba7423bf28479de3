"""Teach a small language model to call the calculator, and measure what that is worth.

    python examples/teach_smollm2.py FOLDER --gsm8k-train FILE --gsm8k FILE --svamp FILE

This makes a data set, an adapter that calls, an adapter of the same answers without calls, and an
evaluation of both beside the model as it came. It is a list of the commands that one would type,
printed as they run. Killed, it goes on where it was. Without the files of GSM8K and SVAMP it uses
templates alone.

The defaults take hours on two cores; a smaller --steps, --train and --count show how it goes.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

from curta.app.command_line import main as curta

MODEL = "HuggingFaceTB/SmolLM2-135M-Instruct"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where everything is put")
    parser.add_argument("--model", default=MODEL, help=f"on the Hub, or a folder ({MODEL})")
    parser.add_argument("--gsm8k-train", help="GSM8K's train.jsonl, to train with")
    parser.add_argument("--gsm8k", help="GSM8K's test.jsonl, to evaluate with")
    parser.add_argument("--svamp", help="SVAMP.json, to evaluate with")
    parser.add_argument("--train", type=int, default=4_000, help="examples from templates (4000)")
    parser.add_argument("--steps", type=int, default=700, help="updates of each adapter (700)")
    parser.add_argument("--count", type=int, default=200, help="questions of each suite (200)")
    parser.add_argument("--precision", default="bfloat16", help="float32 or bfloat16 (bfloat16)")
    parser.add_argument(
        "--max-new-tokens", type=int, default=320, help="of an answer in the evaluation (320)"
    )
    options = parser.parse_args()
    for command in commands(options):
        print(f"$ curta {shlex.join(command)}", flush=True)
        if code := curta(command):
            return code
    return 0


def commands(options: argparse.Namespace) -> Iterator[list[str]]:
    """One after the other."""
    folder = options.folder
    data, calls, inline = folder / "data", folder / "calls", folder / "inline"
    if not data.exists():
        annotated = ["--gsm8k", options.gsm8k_train] if options.gsm8k_train else []
        yield [
            "delegate", "data", f"--out={data}", f"--train={options.train}", "--digits=1..6",
            "--mistakes=0.03", *annotated, *(["--most-annotated=1600"] if annotated else []),
        ]  # fmt: skip
    training = [
        "delegate", "train", f"--model={options.model}", f"--data={data}",
        f"--steps={options.steps}", "--last-blocks=0", "--batch=8", "--learning-rate=5e-4",
        "--warmup=50", "--longest=400", f"--precision={options.precision}",
    ]  # fmt: skip
    yield [*training, f"--out={calls}"]
    yield [*training, f"--out={inline}", "--no-calls"]
    files = {"gsm8k": options.gsm8k, "svamp": options.svamp}
    given = {suite: file for suite, file in files.items() if file}
    yield [
        "delegate", "evaluate", f"--model={options.model}", "--untrained", f"--inline={inline}",
        f"--adapter={calls}", "--backend=exact,machine", f"--data={data}",
        "--digits=1..8", f"--suite={','.join(['templates', 'trained', *given])}",
        f"--count={options.count}", f"--max-new-tokens={options.max_new_tokens}", "--batch=32",
        f"--out={folder / 'evaluation'}",
        *(f"--{suite}={file}" for suite, file in given.items()),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
