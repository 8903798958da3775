"""Interpolation of sampled data along its first axis, holding the end values outside."""

from typing import Literal, TypeAlias, get_args

import numpy as np

from trueup.errors import SignalError, did_you_mean, listing

InterpolationMethod: TypeAlias = Literal[
    "linear", "cubic", "quadratic", "quintic", "zero_order_hold", "zoh"
]
"""Interpolation method between samples."""

_SPLINE_DEGREE = {"quadratic": 2, "cubic": 3, "quintic": 5}


def interpolate(
    times: np.ndarray, data: np.ndarray, query: np.ndarray, method: InterpolationMethod
) -> np.ndarray:
    """Evaluate samples at other times.

    Args:
        times: strictly increasing sample times, shape (n,) [s].
        data: samples, shape (n, ...).
        query: times to evaluate at, any order, shape (k,) [s].
        method: see :data:`InterpolationMethod`.

    Returns:
        Values of shape (k, ...); before the first and after the last sample they are held.

    Raises:
        SignalError: unknown method, or fewer samples than a spline of that degree needs.
    """
    if method == "linear":
        return _linear(times, data, query)
    if method in ("zero_order_hold", "zoh"):
        return _zero_order_hold(times, data, query)
    if method in _SPLINE_DEGREE:
        return _spline(times, data, query, method)
    methods = get_args(InterpolationMethod)
    raise SignalError(
        f"Unknown interpolation method {method!r}.{did_you_mean(str(method), methods)} "
        f"Available methods: {listing(methods)}."
    )


def _linear(times: np.ndarray, data: np.ndarray, query: np.ndarray) -> np.ndarray:
    # The elementwise operations of a column do not depend on the number of columns, so that
    # resampling columns one by one or together is bitwise identical.
    if len(times) == 1:
        return np.repeat(data.astype(np.result_type(data, 0.0)), len(query), axis=0)
    inside = query.clip(times[0], times[-1])
    left = times.searchsorted(inside, side="right") - 1
    np.minimum(left, len(times) - 2, out=left)
    start = times[left]
    fraction = (inside - start) / (times[left + 1] - start)
    before = data.take(left, axis=0)
    values = (data.take(left + 1, axis=0) - before) * fraction.reshape(-1, *[1] * (data.ndim - 1))
    values += before
    # Exactly at a sample: its own value, also next to a missing one.
    at_sample = fraction == 0
    if at_sample.any():
        values[at_sample] = before[at_sample]
    at_end = inside == times[-1]
    if at_end.any():
        values[at_end] = data[-1]
    return values


def _zero_order_hold(times: np.ndarray, data: np.ndarray, query: np.ndarray) -> np.ndarray:
    held = times.searchsorted(query, side="right") - 1
    np.clip(held, 0, len(times) - 1, out=held)
    return data.take(held, axis=0)


def _spline(times: np.ndarray, data: np.ndarray, query: np.ndarray, method: str) -> np.ndarray:
    from scipy.interpolate import make_interp_spline

    degree = _SPLINE_DEGREE[method]
    if len(times) <= degree:
        raise SignalError(
            f"{method} interpolation needs at least {degree + 1} samples, found {len(times)}: "
            "use 'linear' or 'zoh'."
        )
    if data.size == 0:
        return np.empty((len(query), *data.shape[1:]))
    inside = np.clip(query, times[0], times[-1])
    values = np.asarray(make_interp_spline(times, data, k=degree, axis=0)(inside))
    values[query <= times[0]] = data[0]
    values[query >= times[-1]] = data[-1]
    return values
