"""Training, validation and test parts of recordings: stretches of time or whole files.

No sample is in two parts, and no window crosses from one part into another.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import SignalError, did_you_mean, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.data_settings import SplitBy, check_ratios

_FEWEST_SAMPLES = 2


@dataclass(frozen=True, eq=False)
class DataSplit:
    """What a network is trained on, chosen by, and judged on once.

    Attributes:
        name: ``global``, or the group or file held out.
        training: stretches or files.
        validation: for the choice of model and epoch.
        test: for the score.
        warm_up: of each test part, the samples of the same file that go before it, or None. The
            score is from a cold start; these show what a running network would reach.
    """

    name: str
    training: tuple[ActuatorSeries, ...]
    validation: tuple[ActuatorSeries, ...]
    test: tuple[ActuatorSeries, ...]
    warm_up: tuple[ActuatorSeries | None, ...] = ()

    def __post_init__(self):
        if not self.training:
            raise SignalError(f"split {self.name!r}: no recording is left for training")
        if not self.warm_up:
            object.__setattr__(self, "warm_up", (None,) * len(self.test))


def split_global(
    series: Sequence[ActuatorSeries],
    training: float = 0.7,
    validation: float = 0.15,
    by: SplitBy = "time",
    seed: int = 0,
) -> DataSplit:
    """Split all recordings, groups mixed.

    Args:
        series: the recordings.
        training: share for training.
        validation: share for validation; what is left is the test.
        by: ``time``: the first stretch of each file trains, the next validates, the last tests;
            ``file``: whole files, drawn with ``seed``.
        seed: of the draw.

    Raises:
        SignalError: a file is too short, or there are fewer files than parts.
        ExperimentError: the shares do not add up.
    """
    check_ratios(training, validation)
    if by == "file":
        parts = _by_file(series, training, validation, seed)
        return DataSplit("global", *parts)
    cut = [_by_time(each, training, validation) for each in series]
    return DataSplit(
        "global",
        tuple(part for parts in cut if (part := parts[0]) is not None),
        tuple(part for parts in cut if (part := parts[1]) is not None),
        tuple(part for parts in cut if (part := parts[2]) is not None),
        tuple(parts[3] for parts in cut if parts[2] is not None),
    )


def split_held_out(
    series: Sequence[ActuatorSeries],
    held_out: str,
    training: float = 0.7,
    validation: float = 0.15,
    by: SplitBy = "time",
    seed: int = 0,
) -> DataSplit:
    """Hold one group or one file out; validation comes from the others.

    Args:
        series: the recordings.
        held_out: name of a group, or of a file where no group has it.
        training: weight of training among the others.
        validation: weight of validation among them.
        by: as for `split_global`.
        seed: as for `split_global`.

    Raises:
        SignalError: there is no such group or file, or nothing else is left.
        ExperimentError: the shares do not add up.
    """
    check_ratios(training, validation)
    names = [each.group for each in series]
    if held_out not in names:
        names = [each.name for each in series]
    if held_out not in names:
        known = sorted({each.group for each in series} | set(names))
        raise SignalError(
            f"there is no group or recording {held_out!r}.{did_you_mean(held_out, known)} There "
            f"are {listing(known)}"
        )
    test = tuple(s for s, name in zip(series, names, strict=True) if name == held_out)
    others = [s for s, name in zip(series, names, strict=True) if name != held_out]
    if not others:
        raise SignalError(
            f"all {len(test)} recordings belong to {held_out!r}: nothing is left to train on. "
            "Leaving one group out takes at least two groups"
        )
    share = training / (training + validation)
    inner = split_global(others, share, 1.0 - share, by, seed)
    return DataSplit(held_out, inner.training, inner.validation, test)


def split_lomo(
    series: Sequence[ActuatorSeries],
    training: float = 0.7,
    validation: float = 0.15,
    by: SplitBy = "time",
    seed: int = 0,
) -> list[DataSplit]:
    """Leave each group out in turn (``lomo_cv``), in the order in which the groups come.

    Arguments and errors are those of `split_held_out`.
    """
    groups = list(dict.fromkeys(each.group for each in series))
    if len(groups) < 2:
        raise SignalError(
            f"leaving one group out takes at least two groups; found {listing(groups)}. Add "
            "groups to data.inertia_groups, or use evaluation_mode=global"
        )
    return [split_held_out(series, group, training, validation, by, seed) for group in groups]


def _by_time(
    series: ActuatorSeries, training: float, validation: float
) -> tuple[
    ActuatorSeries | None, ActuatorSeries | None, ActuatorSeries | None, ActuatorSeries | None
]:
    """Training, validation, test and what goes before the test, None where the share is zero."""
    count = len(series)
    ends = [round(training * count), round((training + validation) * count), count]
    parts: list[ActuatorSeries | None] = []
    for first, last in zip([0, *ends[:-1]], ends, strict=True):
        if 0 < last - first < _FEWEST_SAMPLES:
            raise SignalError(
                f"{series.name} has {count} samples, too few for shares of {training:g} and "
                f"{validation:g}: record longer, or split by file"
            )
        parts.append(series.part(first, last) if last > first else None)
    return parts[0], parts[1], parts[2], series.part(0, ends[1])


def _by_file(
    series: Sequence[ActuatorSeries], training: float, validation: float, seed: int
) -> tuple[tuple[ActuatorSeries, ...], tuple[ActuatorSeries, ...], tuple[ActuatorSeries, ...]]:
    shares = [training, validation, max(0.0, 1.0 - training - validation)]
    wanted = [share > 1e-9 for share in shares]
    # stretches of one file, between gaps in its clock, stay together
    files = list(dict.fromkeys(_file(each) for each in series))
    if len(files) < sum(wanted):
        raise SignalError(
            f"{len(files)} recordings cannot be split by file into {sum(wanted)} parts: record "
            "more files, or split by time"
        )
    order = np.random.default_rng(seed).permutation(len(files))
    # a file for each part that is wanted, the rest by the largest remainder
    counts = np.array([int(want) for want in wanted])
    while counts.sum() < len(files):
        counts[int(np.argmax(np.array(shares) * len(files) - counts))] += 1
    ends = np.cumsum(counts)
    parts = [{files[i] for i in part} for part in np.split(order, ends[:-1])]
    first, second, third = (tuple(s for s in series if _file(s) in part) for part in parts)
    return first, second, third


def _file(series: ActuatorSeries) -> str:
    return series.source or f"{series.group}/{series.name}"
