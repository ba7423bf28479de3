"""Optax, by configuration."""

from __future__ import annotations

import optax

from curta.learn.training.config import TrainingConfig


def learning_rate(config: TrainingConfig) -> optax.Schedule:
    """By step: a linear rise over `warmup` steps, then the schedule."""
    peak, rest = config.learning_rate, max(config.steps - config.warmup, 1)
    match config.schedule:
        case "constant":
            after = optax.constant_schedule(peak)
        case "cosine":
            after = optax.cosine_decay_schedule(peak, rest, alpha=0.01)
        case "linear":
            after = optax.linear_schedule(peak, peak / 100, rest)
    if not config.warmup:
        return after
    rise = optax.linear_schedule(0.0, peak, config.warmup)
    return optax.join_schedules([rise, after], [config.warmup])


def optimiser(config: TrainingConfig) -> optax.GradientTransformation:
    """What turns gradients into updates."""
    rate = learning_rate(config)
    match config.optimiser:
        case "sgd":
            update = optax.sgd(rate, momentum=config.momentum or None)
        case "adam":
            update = optax.adam(rate)
        case "adamw":
            update = optax.adamw(rate, b2=0.99, weight_decay=config.weight_decay)
        case "lion":
            update = optax.lion(rate, weight_decay=config.weight_decay)
        case "adafactor":
            update = optax.adafactor(rate)
    if not config.clip:
        return update
    return optax.chain(optax.clip_by_global_norm(config.clip), update)
