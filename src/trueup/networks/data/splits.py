"""Training, validation and test parts of recordings: intervals of time or whole files.

No sample is in two parts, and no window crosses from one part into another.
"""

import fnmatch
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import SignalError, did_you_mean, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.settings import SplitBy, check_ratios

_FEWEST_SAMPLES = 2

FILES_FOR_A_TEST = 5
"""Number of files from which ``auto`` tests on whole files."""
FILES_FOR_VALIDATION = 6
"""Number of files from which ``auto`` also validates on whole files, given two per group."""

STRETCHES = (1 / 3, 0.73)
"""Centre of each validation interval, as a fraction of a recording."""

_STRETCH = re.compile(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)%")


@dataclass(frozen=True, eq=False)
class DataSplit:
    """Data for training, for the choice of the network, and for one final test.

    Attributes:
        name: ``global``, or the group or file held out.
        training: intervals or files.
        validation: for the choice of model and epoch.
        test: for the score.
        warm_up: for each test part, the preceding samples of the same file, or None. The score is
            from a cold start; with these it shows what a running network would reach.
        tested_by: ``file``: the test recordings were not trained on at all; ``time``: they are
            parts of recordings that were.
    """

    name: str
    training: tuple[ActuatorSeries, ...]
    validation: tuple[ActuatorSeries, ...]
    test: tuple[ActuatorSeries, ...]
    warm_up: tuple[ActuatorSeries | None, ...] = ()
    tested_by: str = "time"

    def __post_init__(self):
        if not self.training:
            raise SignalError(f"split {self.name!r}: no recording remains for training")
        if not self.warm_up:
            object.__setattr__(self, "warm_up", (None,) * len(self.test))

    @property
    def validates_whole(self) -> bool:
        """Whether validation recordings are whole files, unused in training."""
        trained = {(each.group, each.name, each.source) for each in self.training}
        return all((v.group, v.name, v.source) not in trained for v in self.validation)


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
        validation: share for validation; the rest is the test part.
        by: ``time``: the first part of each file trains, the next validates, the last tests;
            ``stretch``: two intervals within each file validate, its end tests; ``file``: whole
            files, drawn with ``seed``, a share of each group; ``auto``: whole files test where
            there are `FILES_FOR_A_TEST` or more, and validate from `FILES_FOR_VALIDATION` on.
        seed: seed of the draw.

    Raises:
        SignalError: a file is too short, or there are fewer files than parts.
        ExperimentError: the shares do not add up.
    """
    check_ratios(training, validation)
    if by == "auto":
        return _automatic(series, training, validation, seed)
    if by == "file":
        parts = _by_file(series, training, validation, seed)
        return DataSplit("global", *parts, tested_by="file")
    if by == "stretch":
        test = max(0.0, 1.0 - training - validation)
        return _by_stretches(
            series, inner_stretches(validation), [(1.0 - test, 1.0)] if test > 1e-9 else []
        )
    cut = [_by_time(each, training, validation) for each in series]
    return DataSplit(
        "global",
        tuple(part for parts in cut if (part := parts[0]) is not None),
        tuple(part for parts in cut if (part := parts[1]) is not None),
        tuple(part for parts in cut if (part := parts[2]) is not None),
        tuple(parts[3] for parts in cut if parts[2] is not None),
    )


def split_named(
    series: Sequence[ActuatorSeries],
    test: Sequence[str] = (),
    validation: Sequence[str] = (),
    share: float = 0.15,
) -> DataSplit:
    """Split by names and intervals that a user gives.

    Args:
        series: the recordings.
        test: names of recordings or groups, ``*`` and ``?`` allowed, that test as a whole, or
            intervals such as ``85-100%`` of every recording that is not held out as a whole.
        validation: the same for validation; None: two intervals within each recording.
        share: fraction of each recording in those two intervals.

    Raises:
        SignalError: a name matches nothing, or parts overlap.
    """
    held, test_stretches = _chosen(series, test, "data.test")
    validating, stretches = _chosen(series, validation, "data.validation")
    both = [each.name for each in held if each in validating]
    if both:
        raise SignalError(
            f"{listing(both)} are in both data.validation and data.test: remove them from one"
        )
    rest = [each for each in series if each not in held and each not in validating]
    if not rest:
        raise SignalError(
            "data.test and data.validation take every recording: none remains for training"
        )
    if not validation:
        ends = min([low for low, _ in test_stretches], default=1.0)
        stretches = [(low * ends, high * ends) for low, high in inner_stretches(share)]
    inner = _by_stretches(rest, stretches, test_stretches)
    return DataSplit(
        "global",
        inner.training,
        (*validating, *inner.validation),
        (*held, *inner.test),
        (*(None for _ in held), *inner.warm_up),
        tested_by="time" if inner.test else "file",
    )


def split_held_out(
    series: Sequence[ActuatorSeries],
    held_out: str,
    training: float = 0.7,
    validation: float = 0.15,
    by: SplitBy = "time",
    seed: int = 0,
) -> DataSplit:
    """Hold out one group or one file; validation is drawn from the others.

    Args:
        series: the recordings.
        held_out: name of a group, or of a file where no group has it.
        training: weight of training among the others.
        validation: weight of validation among them.
        by: as for `split_global`.
        seed: as for `split_global`.

    Raises:
        SignalError: no such group or file, or no other remains.
        ExperimentError: the shares do not add up.
    """
    check_ratios(training, validation)
    names = [each.group for each in series]
    if held_out not in names:
        names = [each.name for each in series]
    if held_out not in names:
        known = sorted({each.group for each in series} | set(names))
        raise SignalError(
            f"no such group or recording {held_out!r}.{did_you_mean(held_out, known)} "
            f"Available: {listing(known)}"
        )
    test = tuple(s for s, name in zip(series, names, strict=True) if name == held_out)
    others = [s for s, name in zip(series, names, strict=True) if name != held_out]
    if not others:
        raise SignalError(
            f"all {len(test)} recordings belong to {held_out!r}: none remains for training. "
            "Holding out a group requires at least two groups"
        )
    share = training / (training + validation)
    inner = split_global(others, share, 1.0 - share, by, seed)
    return DataSplit(held_out, inner.training, inner.validation, test, tested_by="file")


def split_lomo(
    series: Sequence[ActuatorSeries],
    training: float = 0.7,
    validation: float = 0.15,
    by: SplitBy = "time",
    seed: int = 0,
) -> list[DataSplit]:
    """Hold out each group in turn (``lomo_cv``), in the order of the groups.

    Arguments and errors are those of `split_held_out`.
    """
    groups = list(dict.fromkeys(each.group for each in series))
    if len(groups) < 2:
        raise SignalError(
            f"holding out a group requires at least two groups; found {listing(groups)}. Add "
            "groups to data.inertia_groups, or use evaluation_mode=global"
        )
    return [split_held_out(series, group, training, validation, by, seed) for group in groups]


def inner_stretches(share: float) -> list[tuple[float, float]]:
    """Two validation intervals, together a share of a recording."""
    half = 0.25 * share
    return [(middle - half, middle + half) for middle in STRETCHES] if share > 0 else []


def _automatic(
    series: Sequence[ActuatorSeries], training: float, validation: float, seed: int
) -> DataSplit:
    test = max(0.0, 1.0 - training - validation)
    files = len({file_of(each) for each in series})
    groups = len({each.group for each in series})
    if files >= max(FILES_FOR_VALIDATION, 2 * groups):
        return split_global(series, training, validation, "file", seed)
    if files < FILES_FOR_A_TEST or test <= 1e-9:
        return split_global(series, training, validation, "stretch", seed)
    kept, _, held = _by_file(series, 1.0 - test, 0.0, seed)
    inner = _by_stretches(kept, inner_stretches(validation), [])
    return DataSplit("global", inner.training, inner.validation, held, tested_by="file")


def _by_stretches(
    series: Sequence[ActuatorSeries],
    validation: Sequence[tuple[float, float]],
    test: Sequence[tuple[float, float]],
) -> DataSplit:
    """Intervals of every recording, as fractions of it; the rest is for training."""
    marked = sorted([*((a, b, 1) for a, b in validation), *((a, b, 2) for a, b in test)])
    for (_, end, _), (start, _, _) in itertools.pairwise(marked):
        if start < end - 1e-9:
            raise SignalError("the intervals of data.validation and data.test overlap")
    parts: list[list[ActuatorSeries]] = [[], [], []]
    warm_up: list[ActuatorSeries | None] = []
    for each in series:
        count, done = len(each), 0
        for low, high, kind in [*marked, (1.0, 1.0, 0)]:
            first, last = round(low * count), round(high * count)
            if first - done >= _FEWEST_SAMPLES:
                parts[0].append(each.part(done, first))
            if 0 < last - first < _FEWEST_SAMPLES or (kind and first == last):
                raise SignalError(
                    f"{each.name} has {count} samples, too few to split into intervals: record "
                    "longer, or split by file"
                )
            if kind:
                parts[kind].append(each.part(first, last))
                if kind == 2:
                    warm_up.append(each.part(0, first) if first >= _FEWEST_SAMPLES else None)
            done = last
    training, chosen_by, judged_on = (tuple(part) for part in parts)
    return DataSplit("global", training, chosen_by, judged_on, tuple(warm_up))


def _chosen(
    series: Sequence[ActuatorSeries], entries: Sequence[str], key: str
) -> tuple[list[ActuatorSeries], list[tuple[float, float]]]:
    """Recordings and intervals that the entries name."""
    whole, stretches = [], []
    for entry in entries:
        if found := _STRETCH.fullmatch(entry.strip()):
            low, high = float(found[1]) / 100, float(found[2]) / 100
            if not low < high <= 1.0:
                raise SignalError(f"{key}: {entry} is not an interval within 0-100%")
            stretches.append((low, high))
            continue
        members = [
            s
            for s in series
            if any(fnmatch.fnmatchcase(n, entry) for n in (s.group, s.name, _last(s.name)))
        ]
        if not members:
            known = list(dict.fromkeys(n for s in series for n in (s.group, s.name)))
            raise SignalError(
                f"{key}: no such recording or group {entry!r}.{did_you_mean(entry, known)} "
                f"Available: {listing(known)}; an interval is written as 85-100%"
            )
        whole += [each for each in members if each not in whole]
    return whole, stretches


def _last(name: str) -> str:
    return name.rsplit("/", 1)[-1]


def _by_time(
    series: ActuatorSeries, training: float, validation: float
) -> tuple[
    ActuatorSeries | None, ActuatorSeries | None, ActuatorSeries | None, ActuatorSeries | None
]:
    """Training, validation, test and the part before the test; None where the share is zero."""
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
    # parts of one file, between gaps in its clock, stay together
    files = list(dict.fromkeys(file_of(each) for each in series))
    if len(files) < sum(wanted):
        raise SignalError(
            f"{len(files)} recordings cannot be split by file into {sum(wanted)} parts: record "
            "more files, or split by time"
        )
    order = np.random.default_rng(seed).permutation(len(files))
    order = order[_shares_of_groups(series, files, order)]
    # one file for each part with a share, the rest by the largest remainder method
    counts = np.array([int(want) for want in wanted])
    while counts.sum() < len(files):
        counts[int(np.argmax(np.array(shares) * len(files) - counts))] += 1
    ends = np.cumsum(counts)
    parts = [{files[i] for i in part} for part in np.split(order, ends[:-1])]
    first, second, third = (tuple(s for s in series if file_of(s) in part) for part in parts)
    return first, second, third


def _shares_of_groups(
    series: Sequence[ActuatorSeries], files: list[str], order: np.ndarray
) -> np.ndarray:
    """Order of the files in which each part receives its share of each group, shape (n,)."""
    group_of = {file_of(each): each.group for each in series}
    groups = [group_of[files[i]] for i in order]
    shares = [
        (groups[:number].count(group) + 0.5) / groups.count(group)
        for number, group in enumerate(groups)
    ]
    return np.argsort(np.array(shares), kind="stable")


def file_of(series: ActuatorSeries) -> str:
    return series.source or f"{series.group}/{series.name}"
