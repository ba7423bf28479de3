"""`curta learn export`: a trained model as a file for PyTorch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from curta.options import option, word


@dataclass(frozen=True)
class Options:
    """Write one model of a run as safetensors, which a PyTorch module in one file loads without JAX
    (curta.learn.export.torch_module).

    folder: of the run; of a recipe's, RUN/EXPERIMENT
    output: the file
    seed:   which of the models (the first)
    """

    folder: str = word("RUN")
    output: str = option("model.safetensors", short="-o", metavar="FILE")
    seed: int | None = None


def run(options: Options) -> int:
    """One file."""
    from curta.learn.commands.shared import picked_model
    from curta.learn.export.write import export

    folder, model, _ = picked_model(options.folder, options.seed)
    export(model, folder.setup, Path(options.output))
    print(f"model: {options.output}")
    return 0
