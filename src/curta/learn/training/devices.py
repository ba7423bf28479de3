"""Several devices: seeds are spread over them, or else the rows of a batch.

The step stays what it is. Arrays say where they lie, and XLA divides the work and adds what is
needed to put sums together.
"""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from curta.errors import ExperimentError
from curta.learn.language import Rows
from curta.learn.training.config import TrainingConfig
from curta.learn.training.state import TrainingState

AXIS = "devices"


class Devices:
    """How a run lies on the devices of this machine."""

    def __init__(self, config: TrainingConfig) -> None:
        there = jax.devices()
        count = config.devices or len(there)
        if count > len(there):
            raise ExperimentError(
                f"devices = {config.devices}: this machine has {len(there)} "
                f"({there[0].platform}); ask for fewer, or 0 for all"
            )
        self.mesh = Mesh(np.array(there[:count]), (AXIS,))
        self.by_seed = config.seeds % count == 0
        rows = config.batch // config.accumulate
        if not self.by_seed and rows % count:
            raise ExperimentError(
                f"{count} devices divide neither seeds = {config.seeds} nor the {rows} rows of a "
                "step: change seeds, batch or devices"
            )

    @property
    def many(self) -> bool:
        """Whether there is anything to spread."""
        return bool(self.mesh.size > 1)

    def placed(self, state: TrainingState) -> TrainingState:
        """The state where it belongs: seeds on their devices, or all of it on each."""
        if not self.many:
            return state
        everywhere = NamedSharding(self.mesh, PartitionSpec())
        spread = NamedSharding(self.mesh, PartitionSpec(AXIS))
        held = spread if self.by_seed else everywhere

        def put(leaf: object, where: NamedSharding) -> object:
            return jax.device_put(leaf, where) if eqx.is_array(leaf) else leaf

        model, optimiser = jax.tree.map(
            lambda leaf: put(leaf, held), (state.model, state.optimiser)
        )
        return TrainingState(model, optimiser, jax.device_put(state.step, everywhere))

    def divided(self, rows: Rows) -> Rows:
        """The rows of a batch, each device with its share."""
        if not self.many or self.by_seed:
            return rows
        where = NamedSharding(self.mesh, PartitionSpec(AXIS))
        divided: Rows = jax.lax.with_sharding_constraint(rows, where)
        return divided
