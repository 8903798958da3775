"""Intervals of samples that a clock may have."""

import numpy as np

from trueup.errors import RecordingError

SHORTEST, LONGEST = 1e-12, 1e12
"""Limits of the mean interval of samples [s]: products of two are numbers one can divide by."""


def check_intervals(recording: str, times: np.ndarray, unit: str) -> None:
    """Check that the times of a recording are those of a clock.

    Args:
        recording: its name or file, for the message.
        times: times [s].
        unit: unit in which they were recorded; empty for that of the format.

    Raises:
        RecordingError: the mean interval is shorter or longer than that of any recording.
    """
    if len(times) < 2:
        return
    # divided first: the difference of the largest numbers is infinite
    mean = float(times.max()) / (len(times) - 1) - float(times.min()) / (len(times) - 1)
    if mean == 0.0 or SHORTEST <= mean <= LONGEST:  # equal times are a finding of the checks
        return
    read_in = f", as its times are read in {unit}" if unit else ""
    raise RecordingError(
        f"{recording} has samples {mean:.3g} s apart{read_in}: no clock measures that. Correct "
        "the times or their unit, or give the rate of the samples in place of a time column"
    )
