"""Default budget, lanes and schedules of a training, from the recordings.

All are in gradient steps: an epoch of a short recording has a step or two, for which a budget or a
patience in epochs is not meaningful.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trueup.networks.training.lanes import Lanes
from trueup.networks.training.settings import ModelSettings, TrainSettings

STEPS = 4000
"""Default number of gradient steps, without a limit of time or steps."""

CHUNK_SECONDS = 0.15
"""Duration of backpropagation through time [s], within `CHUNK_SAMPLES`; the state continues."""
CHUNK_SAMPLES = (16, 128)

STEPS_AN_EPOCH = 16
"""Target number of steps per epoch for the number of lanes, within `LANES`."""
LANES = (4, 64)

_VALIDATION_STEPS = 100
_WARM_UP_STEPS = 100
_PATIENCE = 20
_PATIENT_SHARE = 1 / 3


def chunk_samples(rate: float) -> int:
    """Number of unrolled steps for recordings of a rate [Hz]."""
    return int(np.clip(round(CHUNK_SECONDS * rate), *CHUNK_SAMPLES))


def lane_count(lengths: Sequence[int], chunk: int) -> int:
    """Number of lanes in a batch for recordings of given lengths [samples]."""
    return int(np.clip(round(sum(lengths) / (chunk * STEPS_AN_EPOCH)), *LANES))


def steps_an_epoch(lanes: Lanes) -> int:
    """Gradient steps per epoch; varies between epochs by about one with the cuts."""
    return sum(-(-int(wave.lengths[0]) // lanes.chunk) for wave in lanes.waves(0))


def scheduled(
    model: ModelSettings, train: TrainSettings, lanes: Lanes
) -> tuple[ModelSettings, TrainSettings]:
    """Settings with defaults for every missing budget and schedule.

    Args:
        model: settings of the network.
        train: settings of the training.
        lanes: lanes of the training.
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
