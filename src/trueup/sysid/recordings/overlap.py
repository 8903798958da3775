"""Check of recordings of one experiment that overlap in time."""

from collections.abc import Sequence

import numpy as np

from trueup.errors import RecordingError
from trueup.simulation.measured.system_trajectory import SystemTrajectory

_ABSOLUTE = 1e8
"""Times above it [s] are absolute, not of a clock that starts with the recording."""
_FEWEST = 10  # consecutive equal samples that identify a copy
_MOST_PLACES = 100  # places of one sample in a longer recording that are compared


def check_overlap(recordings: Sequence[SystemTrajectory]) -> None:
    """Check that no interval of time is in two recordings.

    Clocks of logs usually start with the recording, so equal times are not sufficient: the samples
    are equal too, or the clock is absolute.

    Raises:
      RecordingError: two recordings overlap.
    """
    for i, first in enumerate(recordings):
        for second in recordings[i + 1 :]:
            found = _overlap(first, second)
            if found is None:
                _check_copy(first, second)
                continue
            start, end, why = found
            raise RecordingError(
                f"recordings {first.name!r} and {second.name!r} overlap from {start:.9g} to "
                f"{end:.9g} "
                f"s{why}: duplicate samples make intervals too narrow, and held-out data are no "
                "longer independent. Remove or trim one of them"
            )


def _check_copy(first: SystemTrajectory, second: SystemTrajectory) -> None:
    """Check that a recording is no copy of another one on another clock.

    Raises:
      RecordingError: most of the shorter recording is in the longer one, sample by sample.
    """
    longer, shorter = sorted((first, second), key=lambda t: -len(t.sensordata.times))
    a, b = longer.sensordata, shorter.sensordata
    if (a.signal_mapping or {}).keys() != (b.signal_mapping or {}).keys():
        return
    middle = len(b.times) // 2
    for start in np.flatnonzero((a.data == b.data[middle]).all(axis=1))[:_MOST_PLACES]:
        shift = int(start) - middle
        low, high = max(0, -shift), min(len(b.times), len(a.times) - shift)
        own, other = b.data[low:high], a.data[low + shift : high + shift]
        same = (own == other).all(axis=1)
        driven, others_driven = (
            t.control.interpolate(times, "zoh")
            for t, times in (
                (shorter, b.times[low:high]),
                (longer, a.times[low + shift : high + shift]),
            )
        )
        if driven.shape != others_driven.shape:
            return
        same &= (driven == others_driven).all(axis=1)
        moves = np.ptp(own[same], axis=0).max(initial=0.0) > 0 if same.any() else False
        if moves and same.sum() >= max(_FEWEST, 0.5 * len(b.times)):
            raise RecordingError(
                f"recordings {first.name!r} and {second.name!r} hold the same {same.sum()} "
                "samples, on clocks that differ: held-out data are then no longer independent. "
                "Remove one of them"
            )


def _overlap(first: SystemTrajectory, second: SystemTrajectory) -> tuple[float, float, str] | None:
    a, b = first.sensordata, second.sensordata
    start, end = max(a.times[0], b.times[0]), min(a.times[-1], b.times[-1])
    if end <= start:
        return None
    if start > _ABSOLUTE:
        return float(start), float(end), " of absolute time"
    if (a.signal_mapping or {}).keys() != (b.signal_mapping or {}).keys():
        return None
    step = float(np.median(np.diff(a.times)))
    shared = a.times[(a.times >= start) & (a.times <= end)]
    places = np.clip(np.searchsorted(b.times, shared - 1e-6 * step), 0, len(b.times) - 1)
    at = np.abs(b.times[places] - shared) < 1e-3 * step
    if at.sum() < _FEWEST:
        return None
    ours = a.data[np.searchsorted(a.times, shared[at])]
    same = (ours == b.data[places[at]]).all(axis=1)
    # the same motion under different torques is not a copy
    ours_driven, driven = (r.control.interpolate(shared[at], "zoh") for r in (first, second))
    same &= (ours_driven == driven).all(axis=1) if driven.shape == ours_driven.shape else False
    # a robot at rest repeats its values, which is not a copy
    moves = np.ptp(ours[same], axis=0).max(initial=0.0) > 0 if same.any() else False
    if not moves or same.sum() < max(_FEWEST, 0.5 * len(same)):
        return None
    return float(start), float(end), " with the same samples"
