"""Quality check of channels against the ranges of the model."""

from collections.abc import Iterator

import numpy as np

from trueup.signals.checks.finding import Found, warn
from trueup.signals.checks.recorded import Limit, Recorded
from trueup.signals.checks.spikes import spike_rows

# Excess over a range that noise and rounding explain: in standard deviations of the noise, and as a
# share of the range.
_NOISE = 5.0
_SHARE = 0.02
# Samples beyond it: fewer are single losses.
_FEWEST = 3


def limits(recorded: Recorded) -> Iterator[Found]:
    """Find channels beyond the range that the model gives them."""
    for name, limit in recorded.limits.items():
        channel = recorded.channel(name)
        if channel is None:
            continue
        values = channel.values[~spike_rows(channel.values)]
        sentence = beyond(name, values, limit, channel.noise)
        if sentence:
            reached = float(values.max() if values.max() > limit.high else values.min())
            found = warn(sentence, name, low=limit.low, high=limit.high, reached=reached)
            yield found.because(limit.cause)


def beyond(name: str, values: np.ndarray, limit: Limit, noise: float = 0.0) -> str:
    """Sentence on values beyond a range; empty if none is, by more than noise explains.

    Args:
        name: Name of the channel.
        values: Samples (n,).
        limit: The range.
        noise: Standard deviation of noise on the values.
    """
    slack = max(_NOISE * noise, _SHARE * (limit.high - limit.low))
    over, under = values - limit.high, limit.low - values
    outside = np.maximum(over, under) > slack
    if np.count_nonzero(outside) < _FEWEST:
        return ""
    reached = [f"{values.max():.4g}"] if np.any(over > slack) else []
    reached += [f"{values.min():.4g}"] if np.any(under > slack) else []
    share = float(np.mean((over > 0) | (under > 0)))
    consequence = f": {limit.consequence}" if limit.consequence else ""
    return (
        f"{name} reaches {' and '.join(reached)}, beyond {limit.what} of {limit.low:.4g} to "
        f"{limit.high:.4g}, in {100.0 * share:.2g} % of the samples{consequence}"
        f"{_widened(limit, values)}."
    )


def _widened(limit: Limit, values: np.ndarray) -> str:
    """The parameter of an experiment file that widens a range to the values of the recording."""
    if not limit.target:
        return ""
    low, high = min(limit.low, float(values.min())), max(limit.high, float(values.max()))
    ends = f"[{low:.4g}, {high:.4g}]"
    name = "_".join(limit.target.split("/")[1:])
    return (
        f". If the robot moves beyond it, widen it under parameters: {name}: "
        f"{{target: {limit.target}, "
        f"start: {ends}, bounds: [{low:.4g}, {high:.4g}], frozen: true}}"
    )
