"""Several devices: seeds are spread over them, or else the rows of a batch.

The step stays what it is. Arrays say where they lie, and XLA divides the work and adds what is
needed to put sums together.
"""

from __future__ import annotations

import os

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
        self.seeds = config.seeds
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

    @property
    def threads(self) -> int:
        """Threads that train a seed each; 0 where all seeds are one program."""
        if self.many or self.mesh.devices.flat[0].platform != "cpu":
            return 0
        return min(self.seeds, usable_cores())

    def placed(self, state: TrainingState) -> TrainingState:
        """The state where it belongs: seeds on their devices, or all of it on each."""
        if not self.many:
            return state
        everywhere = NamedSharding(self.mesh, PartitionSpec())  # type: ignore[no-untyped-call]
        spread = NamedSharding(self.mesh, PartitionSpec(AXIS))  # type: ignore[no-untyped-call]
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
        where = NamedSharding(self.mesh, PartitionSpec(AXIS))  # type: ignore[no-untyped-call]
        constrain = jax.lax.with_sharding_constraint
        divided: Rows = constrain(rows, where)  # type: ignore[no-untyped-call]
        return divided


def usable_cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
