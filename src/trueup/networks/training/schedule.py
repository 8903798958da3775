"""Budget, lanes and schedules of a training, from the recordings where settings leave them open.

Everything is counted in gradient steps: an epoch of a short recording is a step or two, and a
budget or a patience in epochs would then mean nothing.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.networks.training.lanes import Lanes
from trueup.networks.training.settings import ModelSettings, TrainSettings

STEPS = 4000
"""Gradient steps of a network where neither time nor steps are given."""

CHUNK_SECONDS = 0.15
"""Time that gradients flow back through [s], within `CHUNK_SAMPLES`; the state is carried on."""
CHUNK_SAMPLES = (16, 128)

STEPS_AN_EPOCH = 16
"""Steps that the number of lanes is chosen for, within `LANES`."""
LANES = (4, 64)

_VALIDATION_STEPS = 100
_WARM_UP_STEPS = 100
_PATIENCE = 20
_PATIENT_SHARE = 1 / 3


def chunk_samples(rate: float) -> int:
    """Steps that are unrolled at a time, for recordings of a rate [Hz]."""
    return int(np.clip(round(CHUNK_SECONDS * rate), *CHUNK_SAMPLES))


def lane_count(lengths: Sequence[int], chunk: int) -> int:
    """Lanes side by side, for recordings of some lengths [samples]."""
    return int(np.clip(round(sum(lengths) / (chunk * STEPS_AN_EPOCH)), *LANES))


def steps_an_epoch(lanes: Lanes) -> int:
    """Gradient steps of an epoch; the cuts differ from one to the next by a step or so."""
    return sum(-(-int(wave.lengths[0]) // lanes.chunk) for wave in lanes.waves(0))


def scheduled(
    model: ModelSettings, train: TrainSettings, lanes: Lanes
) -> tuple[ModelSettings, TrainSettings]:
    """Settings with every budget and schedule that they leave open filled in.

    Args:
        model: of the network.
        train: of the training.
        lanes: that it runs on.
    """
    per_epoch = steps_an_epoch(lanes)
    every, epochs = train.check_val_every_n_epoch, train.max_epochs
    if every is None:
        every = 1 if epochs is not None else -(-_VALIDATION_STEPS // per_epoch)
    if train.max_steps is not None or epochs is None:
        budget = -(-(train.max_steps or STEPS) // per_epoch)
        epochs = budget if epochs is None else min(epochs, budget)
        if train.max_epochs is None:
            epochs = -(-epochs // every) * every  # the last epoch is validated
    every = min(every, epochs)
    stopping = train.early_stopping
    if stopping.patience is None:
        patient = max(_PATIENCE, round(_PATIENT_SHARE * epochs / every))
        stopping = replace(stopping, patience=patient)
    if model.warmup_epochs is None:
        model = replace(model, warmup_epochs=min(_WARM_UP_STEPS / per_epoch, 0.1 * epochs))
    train = replace(
        train, max_epochs=epochs, check_val_every_n_epoch=every, early_stopping=stopping
    )
    return model, train
