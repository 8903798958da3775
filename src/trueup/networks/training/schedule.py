"""Budget, lanes and schedules of a training: from the recordings, and within limits of time.

Defaults are in gradient steps: an epoch of a short recording has a step or two, for which a budget
or a patience in epochs is not meaningful.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

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

TIME_LIMIT = "the time limit"
"""End of a training whose epochs were reduced to a time limit."""

PLANNED = 0.95
"""Fraction of a time limit for which epochs are planned, until their duration is known."""

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


@dataclass(frozen=True)
class TimeLimit:
    """A time limit, from a moment on."""

    began: float
    """Moment of ``time.perf_counter``."""
    seconds: float
    """Duration of the limit [s]."""

    @classmethod
    def of(cls, seconds: float) -> "TimeLimit":
        """The limit from now on."""
        return cls(time.perf_counter(), seconds)

    @property
    def elapsed(self) -> float:
        """Time since the beginning [s]."""
        return time.perf_counter() - self.began

    def left(self, share: float = 1.0) -> float:
        """Time until a fraction of the limit [s]; negative after it."""
        return share * self.seconds - self.elapsed

    def part(self, share: float, index: int, count: int) -> float:
        """Time of one of the parts up to a fraction of the limit [s].

        What earlier parts did not use, or used too much, is divided among the remaining ones.
        """
        return self.left(share) / (count - index)


def epochs_within(
    done: int, elapsed: Sequence[float], planned: int, most: int | None, every: int, seconds: float
) -> int:
    """Number of epochs that fill the time limit of a training.

    Args:
        done: number of completed epochs.
        elapsed: time at the latest validations, the last of them now [s].
        planned: number of epochs until their duration is known.
        most: largest number; None: none.
        every: number of epochs from validation to validation; the last epoch is validated.
        seconds: time limit [s].
    """
    if len(elapsed) < 2:
        epochs = max(planned, done + every)
    else:
        between = (elapsed[-1] - elapsed[0]) / (len(elapsed) - 1)
        more = int(max(0.0, seconds - elapsed[-1]) / max(between, 1e-9))
        epochs = done + more * every
    return epochs if most is None else min(most, epochs)
