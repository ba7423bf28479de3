"""Which joint model: the choices that several commands have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from curta.delegate.options import SMOLLM2
from curta.options import option
from curta.terminal import spinning

if TYPE_CHECKING:
    from curta.hybrid.model import HybridModel


@dataclass(frozen=True)
class Joint:
    """
    model:   on the Hub, a folder of it, or one that a hybrid model was saved in
    module:  a compiled module: one that curta ships (curta hybrid modules lists them), a gallery
             program (gallery:multiplication), a file of C or WebAssembly, or a function of such
             (dates.c:weekday); can be given repeatedly
    adapter: from curta delegate train, or none; of the packaged model the one that comes with curta
    unit:    a typed unit from curta hybrid train
    device:  as cpu or cuda:1 (a GPU if there is one)
    """

    model: str | None = option(None, metavar="NAME")
    module: tuple[str, ...] = option((), metavar="NAME")
    adapter: str | None = option(None, metavar="FOLDER")
    unit: str | None = option(None, metavar="FOLDER")
    device: str | None = None

    def joint_model(self) -> HybridModel:
        """The model, loaded, with its modules."""
        name = self.model or self.unit or SMOLLM2
        with spinning("the language model and its modules; what is new is compiled once"):
            from curta.hybrid.model import HybridModel

            return HybridModel.from_pretrained(
                name, modules=self.module, adapter=self.adapter, unit=self.unit, device=self.device
            )
