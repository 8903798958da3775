"""Train and held-out splits: by sequence, by group, by time, and in folds.

A fit is assessed on held-out data. No name is in both parts; time is split at samples, so that each
sample within the closed intervals belongs to one part only.
"""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import SignalError, did_you_mean, listing
from trueup.signals._samples import Array

Name = TypeVar("Name", bound=Hashable)
Interval: TypeAlias = tuple[float, float]


class Split(NamedTuple, Generic[Name]):
    """Training and held-out parts, as names or indices in their original order."""

    training: tuple[Name, ...]
    held_out: tuple[Name, ...]


class TimeSplit(NamedTuple):
    """Training and held-out parts, as closed intervals (start, end) [s] in time order."""

    training: tuple[Interval, ...]
    held_out: tuple[Interval, ...]


def split_by_sequence(
    names: Iterable[Name], held_out: float | Iterable[Name], *, seed: int = 0
) -> Split[Name]:
    """Hold out whole sequences.

    Args:
        names: Names (or indices) of all sequences.
        held_out: Names to hold out, or the share of them (0 to 1, rounded to whole sequences, at
            least one on each side), drawn with ``seed``.
        seed: Seed of the draw; the same seed gives the same split.

    Raises:
        SignalError: A name is unknown or occurs twice, or a part would be empty.
    """
    known = _distinct(names, "sequence")
    return _parts(known, _choose(known, held_out, seed, "sequence"), "sequences")


def split_by_group(
    groups: Mapping[Name, Hashable], held_out: float | Iterable[Hashable], *, seed: int = 0
) -> Split[Name]:
    """Hold out whole groups, such as all runs with one load, of one servo or of one person.

    Args:
        groups: Group of each sequence, by name (or index) of the sequence.
        held_out: Groups to hold out, or the share of the groups (0 to 1, rounded to whole groups,
            at least one on each side), drawn with ``seed``.
        seed: Seed of the draw; the same seed gives the same split.

    Raises:
        SignalError: A group is unknown, or a part would be empty.
    """
    kinds = tuple(dict.fromkeys(groups.values()))
    chosen = _choose(kinds, held_out, seed, "group")
    return _parts(tuple(groups), {n for n, group in groups.items() if group in chosen}, "groups")


def split_by_time(
    times: ArrayLike,
    *,
    held_out: float | None = None,
    boundaries: Sequence[float] | None = None,
    gap: float = 0.0,
) -> TimeSplit:
    """Hold out intervals of time: the last part, or every other interval.

    Args:
        times: Sample times (n,) [s], increasing.
        held_out: Share of the duration to hold out at the end, between 0 and 1.
        boundaries: Times [s] at which the parts alternate; the first interval is for training, the
            next is held out, and so on. A sample at a boundary belongs to the later interval.
        gap: Time [s] excluded after each boundary, because the response just after a boundary
            still depends on the motion before it.

    Raises:
        SignalError: Neither or both of held_out and boundaries are given, or one is out of range;
            an interval would contain fewer than 2 samples.
    """
    clock = _clock(times)
    start, end = float(clock[0]), float(clock[-1])
    if (held_out is None) == (boundaries is None):
        raise SignalError(
            "a split by time takes exactly one of held_out (a share) and boundaries (times)"
        )
    if held_out is not None:
        _check_share(held_out)
        edges = [start + (1.0 - held_out) * (end - start)]
    else:
        edges = [float(edge) for edge in boundaries or ()]
    if not edges or not all(start < edge <= end for edge in edges) or np.any(np.diff(edges) <= 0):
        raise SignalError(
            f"boundaries must increase within the recording, {start:.6g} to {end:.6g} s; found "
            f"{', '.join(f'{edge:.6g}' for edge in edges) or 'none'}"
        )
    stretches = _stretches(clock, edges, gap)
    return TimeSplit(tuple(stretches[0::2]), tuple(stretches[1::2]))


def k_fold(
    names: Iterable[Name],
    folds: int,
    *,
    seed: int = 0,
    groups: Mapping[Name, Hashable] | None = None,
) -> list[Split[Name]]:
    """Split names into folds, each of which is held out once.

    Args:
        names: Names (or indices) of all sequences.
        folds: Number of folds, from 2 to the number of sequences (or of groups).
        seed: Seed of the shuffle; the same seed gives the same folds.
        groups: Group of each sequence; sequences of one group stay in one fold.

    Raises:
        SignalError: There are fewer names or groups than folds, or a name occurs twice or has no
            group.
    """
    known = _distinct(names, "sequence")
    if groups is None:
        units: dict[Hashable, list[Name]] = {name: [name] for name in known}
        kind = "sequences"
    else:
        units = {}
        kind = "groups"
        for name in known:
            if name not in groups:
                raise SignalError(
                    f"sequence {name!r} has no group; groups are given for "
                    f"{listing(str(n) for n in groups)}"
                )
            units.setdefault(groups[name], []).append(name)
    _check_folds(folds, len(units), kind)
    order = np.random.default_rng(seed).permutation(len(units))
    members = list(units.values())
    return [
        _parts(known, {name for unit in part for name in members[unit]}, kind)
        for part in np.array_split(order, folds)
    ]


def k_fold_by_time(times: ArrayLike, folds: int, *, gap: float = 0.0) -> list[TimeSplit]:
    """Split a recording into intervals of equal duration, each of which is held out once.

    Args:
        times: Sample times (n,) [s], increasing.
        folds: Number of intervals, at least 2.
        gap: Time [s] excluded between a held-out interval and its neighbours, at the start of the
            later of the two.

    Raises:
        SignalError: An interval would contain fewer than 2 samples.
    """
    clock = _clock(times)
    _check_folds(folds, clock.size // 2, "intervals of 2 samples")
    start, duration = float(clock[0]), float(clock[-1] - clock[0])
    edges = [start + duration * fold / folds for fold in range(1, folds)]
    splits = []
    for fold in range(folds):
        # Training intervals on one side of the fold are merged, without gaps between them.
        around = edges[max(fold - 1, 0) : fold + 1]
        stretches = _stretches(clock, around, gap)
        held_out = stretches.pop(0 if fold == 0 else 1)
        splits.append(TimeSplit(tuple(stretches), (held_out,)))
    return splits


def in_intervals(times: ArrayLike, intervals: Iterable[Interval]) -> np.ndarray:
    """Return which samples (n,) lie in one of the closed intervals (start, end) [s]."""
    clock = np.asarray(times, dtype=np.float64)
    inside = np.zeros(clock.shape, dtype=bool)
    for start, end in intervals:
        inside |= (clock >= start) & (clock <= end)
    return inside


def _stretches(clock: Array, edges: Sequence[float], gap: float) -> list[Interval]:
    """Return the intervals between edges, from first to last sample, later ones after a gap."""
    if not (math.isfinite(gap) and gap >= 0):
        raise SignalError(f"gap must be a time of at least 0 s, found {gap!r}")
    starts = [float(clock[0]), *(edge + gap for edge in edges)]
    first = np.searchsorted(clock, starts, side="left")
    stop = np.append(np.searchsorted(clock, edges, side="left"), clock.size)
    short = np.flatnonzero(stop - first < 2)
    if short.size:
        which = int(short[0])
        limits = [float(clock[0]), *edges, float(clock[-1])]
        raise SignalError(
            f"the interval {limits[which]:.6g} to {limits[which + 1]:.6g} s contains fewer than "
            f"2 samples after a gap of {gap:g} s: move the boundary, shorten the gap, or use "
            "fewer parts"
        )
    return [(float(clock[a]), float(clock[b - 1])) for a, b in zip(first, stop)]


def _choose(
    known: tuple[Hashable, ...], held_out: float | Iterable[Hashable], seed: int, kind: str
) -> set[Hashable]:
    """Return the held-out names: the given ones, or a random share."""
    if isinstance(held_out, int | float) and not isinstance(held_out, bool):
        _check_share(float(held_out))
        if len(known) < 2:
            raise SignalError(
                f"{len(known)} {kind} cannot be split into two parts: split it by time instead"
            )
        count = min(max(round(held_out * len(known)), 1), len(known) - 1)
        drawn = np.random.default_rng(seed).permutation(len(known))[:count]
        return {known[index] for index in drawn}
    if isinstance(held_out, str) or not isinstance(held_out, Iterable):
        raise SignalError(f"held_out must be a share or a list of {kind} names, found {held_out!r}")
    chosen = set(held_out)
    unknown = [name for name in chosen if name not in known]
    if unknown:
        names = [str(name) for name in known]
        first = min(str(name) for name in unknown)
        raise SignalError(
            f"no {kind} {first!r} to hold out.{did_you_mean(first, names)} Available: "
            f"{listing(names)}."
        )
    return chosen


def _parts(names: tuple[Name, ...], held_out: set, kind: str) -> Split[Name]:
    split = Split(
        tuple(name for name in names if name not in held_out),
        tuple(name for name in names if name in held_out),
    )
    for part, members in (("training", split.training), ("held-out", split.held_out)):
        if not members:
            raise SignalError(
                f"the {part} part is empty: of {len(names)} sequences, "
                f"{len(split.held_out)} are held out; choose other {kind}"
            )
    return split


def _distinct(names: Iterable[Name], kind: str) -> tuple[Name, ...]:
    if isinstance(names, str):
        raise SignalError(f"names must be a list of {kind} names, found the string {names!r}")
    known = tuple(names)
    repeated = (
        {name for name in known if known.count(name) > 1} if len(set(known)) < len(known) else ()
    )
    if repeated:
        raise SignalError(
            f"{kind} names occur more than once: {listing(sorted(map(str, repeated)))}"
        )
    return known


def _clock(times: ArrayLike) -> Array:
    clock = np.asarray(times, dtype=np.float64)
    if clock.ndim != 1 or clock.size < 4:
        raise SignalError(
            f"times have shape {clock.shape}: a split by time requires at least 4 times, (n,)"
        )
    if not np.all(np.isfinite(clock)) or np.any(np.diff(clock) <= 0):
        raise SignalError(
            "times must be strictly increasing: check the quality of the recording first"
        )
    return clock


def _check_share(share: float) -> None:
    if not 0.0 < share < 1.0:
        raise SignalError(f"the share to hold out must be between 0 and 1, found {share!r}")


def _check_folds(folds: int, available: int, kind: str) -> None:
    if isinstance(folds, bool) or not isinstance(folds, int | np.integer) or folds < 2:
        raise SignalError(f"folds must be an integer of at least 2, found {folds!r}")
    if folds > available:
        raise SignalError(
            f"{folds} folds require at least {folds} {kind}, found {available}: use fewer folds"
        )
