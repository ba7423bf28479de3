"""The table of commands: what help lists, and which module a name stands for.

The module is called as the command; those of a group are in the group's room, which knows nothing
of this one. It has a frozen dataclass `Options`, whose docstring is its help, and `run(options) ->
int`, which is the exit code; `Report` is the dataclass that `--json` writes. Nothing of a command
is imported before it is called.
"""

from __future__ import annotations

from collections.abc import Sequence

from curta.errors import UserError

COMMANDS = {
    "run": "run a program of C, C++, Zig, Rust or WebAssembly inside the transformer",
    "resume": "go on with a run that was kept",
    "bake": "compile a program into weights of its own",
    "verify": "check a run against the plain softmax model and against wasmtime",
    "disasm": "show WebAssembly beside core instructions beside tokens",
    "explore": "write a page in which a run can be looked at, token by token",
    "gallery": "list the worked programs, or compile and run one",
    "build": "compile a program and write it to a file",
    "inspect": "show what a model file computes, where, and what is proved about it",
    "learn list": "recipes, tasks, formats, positions, models; or the options of an experiment",
    "learn run": "train, evaluate, and write a run folder with a report",
    "learn resume": "go on with a run that was stopped, from its last checkpoint",
    "learn evaluate": "measure a run again: other lengths, other numbers of loops",
    "learn sweep": "run every combination of some options, or random ones",
    "learn compare": "put runs side by side: curves, heatmaps, tables with intervals",
    "learn ask": "ask a trained model something, and see how sure it is of each token",
    "learn export": "write a trained model as a file that PyTorch loads",
    "learn inside": "look inside a trained model: attention, probes, shapes of numbers, ablations",
    "learn profile": "time a training step: compiling, memory, arithmetic, and the roofline",
    "learn units": "how often NAC, NALU, NAU, NMU, NSR and plain networks find a rule",
    "calc ask": "ask a language model; what it calls is evaluated while it writes",
    "calc eval": "evaluate expressions",
    "delegate data": "make a data set of questions with calls",
    "delegate train": "fine-tune an adapter on such a data set",
    "delegate evaluate": "measure how often models are right, and what goes wrong",
    "hybrid train": "teach a unit inside of a language model when to compute what",
    "hybrid evaluate": "measure such a unit beside calls and beside the model as it came",
    "hybrid ask": "ask a language model that holds compiled modules, and see who says what",
    "hybrid verify": "check a transcript: every token, by forward passes of the joint model",
    "hybrid page": "write a page in which a transcript can be looked at: who said what",
    "hybrid modules": "list the modules that curta ships",
    "fit": "fit the holes of a program to examples of what it does",
    "serve": "serve a language model that calls the calculator, as OpenAI's API does",
    "mcp": "serve tools, a sandbox for C among them, by the Model Context Protocol",
    "site": "build the project's site: documentation, and runs that compute in the browser",
    "cache": "show what is kept to save time, or clear it",
    "doctor": "say what is there, what is missing, and what to do",
    "completion": "write what a shell needs to complete commands",
}
GROUPS = {
    "learn": "train small transformers to compute, and see how far they get",
    "calc": "the calculator that language models call, and a model that calls it",
    "delegate": "teach a language model to call a calculator",
    "hybrid": "compiled programs inside of a language model",
}
HELP, VERSION = ("-h", "--help"), "--version"
IMPLIED = {"calc": "ask"}
"""What is meant where no command of a group is named: curta calc QUESTION."""

ROOMS = {
    "explore": "explore",
    "learn": "learn.commands",
    "calc": "delegate.commands",
    "delegate": "delegate.commands",
    "hybrid": "hybrid.commands",
    "fit": "hybrid.commands",
    "serve": "delegate.commands",
    "mcp": "delegate.commands",
}
"""Where the commands of a group are, or a command, if not in this room."""
NEEDED = {
    "learn": ("learn",),
    "calc ask": ("delegate",),
    "delegate train": ("delegate",),
    "hybrid": ("delegate",),
    "fit": ("torch",),
    "serve": ("delegate", "web"),
    "mcp": ("mcp",),
}
"""The extras of curta that commands or groups cannot do without."""
EXTRAS = {
    "explore": ("elftools",),
    "export": ("onnx", "onnxruntime"),
    "torch": ("torch",),
    "learn": ("jax", "equinox", "optax", "jaxtyping", "matplotlib", "pyarrow"),
    "delegate": ("torch", "transformers", "peft", "accelerate", "gguf", "llguidance"),
    "web": ("starlette", "uvicorn", "pydantic", "prometheus_client"),
    "mcp": ("mcp", "uvicorn"),
}
"""What has to be importable for an extra to count as installed."""


def module_of(name: str) -> str:
    """Where a command is."""
    first, _, last = name.rpartition(" ")
    return f"curta.{ROOMS.get(first or name, 'app')}.{last}"


def listed(group: str = "") -> dict[str, str]:
    """Names and summaries of the commands of a group, or of those that help begins with."""
    if group:
        names = [name for name in COMMANDS if name.startswith(f"{group} ")]
        return {name.partition(" ")[2]: COMMANDS[name] for name in names}
    return {name.partition(" ")[0]: summary for name, summary in COMMANDS.items()} | GROUPS


def find(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The command that words begin with, or the group, and the other words."""
    group, *rest = words or [""]
    if group not in GROUPS:
        return (group, rest) if group in COMMANDS else ("", words)
    if rest and rest[0] in listed(group):
        return f"{group} {rest[0]}", rest[1:]
    if rest and group in IMPLIED and not is_command(group, rest[0]):
        return f"{group} {IMPLIED[group]}", rest
    return group, rest


def is_command(group: str, word: str) -> bool:
    """Whether a command, help or the version is meant by a word, and not a question."""
    from curta.app.parser import likely

    return word in (*HELP, VERSION) or likely(word, listed(group)) is not None


def check_packages(name: str) -> None:
    """Raise an error that says what to install, if packages of a command are missing."""
    extras = NEEDED.get(name) or NEEDED.get(name.partition(" ")[0], ())
    lacking = {package: extra for extra in reversed(extras) for package in missing(extra)}
    if lacking:
        wanted = ",".join(sorted(set(lacking.values())))
        packages = ", ".join(sorted(lacking))
        raise UserError(f"curta {name} needs {packages}: pip install 'curta[{wanted}]'")


def missing(extra: str) -> list[str]:
    """The packages of an extra that are not installed; nothing is imported."""
    from importlib import util

    return [package for package in EXTRAS[extra] if util.find_spec(package) is None]
