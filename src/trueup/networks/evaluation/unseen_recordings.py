"""Grading of a network by recordings that it has not seen, one by one and together."""

from collections.abc import Sequence

import numpy as np

from trueup.fitting import Grade, Reason
from trueup.fitting.judgement.paired_errors import CHANCE, is_clearly_worse
from trueup.networks.evaluation.cross_validation import UnseenRecording

EXPLAINS = 0.02
"""Smallest relative improvement on a constant; with less the network has learned nothing."""

BY_CHANCE = 0.05
"""Probability that a network no better than a simpler one counts as better over the recordings."""

_FEWEST = 3
"""Number of recordings from which they, rather than their pieces, say what chance gives."""

_SHOWN = 3


def gain_over(recordings: Sequence[UnseenRecording], baseline: str) -> tuple[float, bool] | None:
    """Relative gain of a network over a baseline on unseen recordings, and whether it is certain.

    Each recording has equal weight. The gain is certain where the errors of the baseline are
    larger by more than chance over the recordings gives.

    Args:
      recordings: errors on unseen recordings.
      baseline: name of the baseline.

    Returns:
      Gain and its certainty; None where a recording lacks the pieces of the errors.
    """
    own, other, errors, baseline_errors = [], [], [], []
    for each in recordings:
        mine, its = each.pair(baseline)
        if not len(mine) or len(mine) != len(its) or not each.deviation > 0:
            return None
        scale = each.deviation**2 * len(mine)
        own.append(mine / scale)
        other.append(its / scale)
        errors.append(each.error / each.deviation)
        baseline_errors.append(each.baselines[baseline] / each.deviation)
    if not own:
        return None
    if len(own) >= _FEWEST:
        mine, its = (np.array([sums.sum() for sums in all_sums]) for all_sums in (own, other))
    else:
        mine, its = np.concatenate(own), np.concatenate(other)
    gain = 1.0 - float(np.sqrt(np.mean(np.square(errors)) / np.mean(np.square(baseline_errors))))
    return gain, gain > 0.0 and _is_larger(its, mine)


def _is_larger(other: np.ndarray, own: np.ndarray) -> bool:
    """Whether errors are larger by more than chance: Student's t of their logarithms, one-sided."""
    from scipy.special import stdtrit

    floor = 1e-12 * float(other.sum())
    logarithms = np.log((other + floor) / (own + floor))
    spread = float(logarithms.std(ddof=1)) / np.sqrt(len(logarithms))
    limit = -float(stdtrit(len(logarithms) - 1, BY_CHANCE))
    return bool(logarithms.mean() > limit * spread)


def judged_recordings(recordings: Sequence[UnseenRecording], constant: str) -> list[Reason]:
    """Recordings on which a simpler network is clearly better, or the network no use.

    Args:
      recordings: errors on unseen recordings.
      constant: name of the baseline that is a constant.
    """
    reasons = []
    useless = [
        each
        for each in recordings
        if each.error > (1.0 - EXPLAINS) * each.baselines.get(constant, np.inf)
    ]
    if useless:
        figures = "; ".join(
            f"{each.name} {each.error:.3g} N m, {constant} {each.baselines[constant]:.3g} N m"
            for each in useless[:_SHOWN]
        )
        reasons.append(
            Reason(
                Grade.LOOK,
                f"The network does not predict {_names(useless)}: {figures}. Check that torque and "
                "inputs belong together there, or record more motion of that kind.",
                "scores",
            )
        )
    for baseline in dict.fromkeys(name for each in recordings for name in each.baselines):
        worse = [
            each
            for each in recordings
            if each not in useless and _is_beaten(each, baseline, len(recordings))
        ]
        if worse:
            figures = "; ".join(
                f"{each.name}, held out RMSE {each.error:.3g} N m compared with "
                f"{each.baselines[baseline]:.3g} N m"
                for each in worse[:_SHOWN]
            )
            reasons.append(
                Reason(
                    Grade.LOOK, f"Worse than {baseline} on {_names(worse)}: {figures}.", "scores"
                )
            )
    return reasons


def _is_beaten(recording: UnseenRecording, baseline: str, count: int) -> bool:
    """Whether a baseline is better on a recording, by more than chance where that is known."""
    if recording.error <= recording.baselines.get(baseline, np.inf):
        return False
    own, other = recording.pair(baseline)
    if not len(own) or len(own) != len(other):
        return True
    return is_clearly_worse(own, other, CHANCE / count)


def _names(recordings: Sequence[UnseenRecording]) -> str:
    shown = ", ".join(each.name for each in recordings[:_SHOWN])
    more = len(recordings) - _SHOWN
    return shown if more <= 0 else f"{shown} and {more} more"
