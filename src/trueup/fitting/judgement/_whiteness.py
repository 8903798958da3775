"""Tests of the residuals of a fit: whiteness, and constant variance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import FitError

__all__ = [
    "HeteroscedasticityTest",
    "WhitenessTest",
    "heteroscedasticity",
    "ljung_box",
    "whiteness",
]


@dataclass(frozen=True)
class WhitenessTest:
    """Result of :func:`ljung_box` for one channel.

    Args:
        channel: Name of the channel.
        statistic: Ljung-Box Q.
        lags: Number of lags in Q.
        p_value: Probability of such a Q, or a larger one, if the residuals were white.
        lag_one_correlation: Correlation of neighbouring samples.
        white: True unless ``p_value`` is below the level of the test.
        sentence: The result as a sentence.
    """

    channel: str
    statistic: float
    lags: int
    p_value: float
    lag_one_correlation: float
    white: bool
    sentence: str


@dataclass(frozen=True)
class HeteroscedasticityTest:
    """Result of :func:`heteroscedasticity` for one channel.

    Args:
        channel: Name of the channel.
        driver: Name of the signal that the variance of the residual may depend on.
        statistic: Koenker's T R^2.
        p_value: Probability of such a statistic, or a larger one, under constant variance.
        ratio: Root mean square of the residual where the driver is in its upper half over that
            where it is in its lower half.
        constant: True unless ``p_value`` is below the level of the test.
        sentence: The result in words.
    """

    channel: str
    driver: str
    statistic: float
    p_value: float
    ratio: float
    constant: bool
    sentence: str


def default_lags(samples: int) -> int:
    """Return the number of lags for a record: ``10 log10(T)``, at most a fifth of it."""
    return int(max(1, min(round(10.0 * np.log10(max(samples, 2))), samples // 5)))


def ljung_box(
    residual: np.ndarray,
    lags: int | None = None,
    level: float = 0.05,
    channel: str = "residual",
) -> WhitenessTest:
    """Test whether a residual ``(T,)`` is white noise (Ljung and Box 1978, Biometrika 65).

    ``Q = T (T + 2) sum r[k]^2 / (T - k)`` is compared with chi-squared of ``lags`` degrees of
    freedom. The few parameters of a simulation fitted to thousands of samples use much less than
    one degree of freedom per lag, so none is subtracted.

    Args:
        residual: The residual; at least 10 samples.
        lags: Number of lags; default ``10 log10(T)``, at most ``T / 5``.
        level: Significance level: probability of rejecting white noise.
        channel: Name used in the sentence.

    Raises:
        FitError: Too few samples, too many lags, or values that are not finite.
    """
    values = _finite_vector(residual, channel)
    samples = len(values)
    count = default_lags(samples) if lags is None else int(lags)
    if not 1 <= count < samples:
        raise FitError(
            f"{channel}: lags must be between 1 and {samples - 1} for {samples} samples, found "
            f"{count}."
        )
    centred = values - values.mean()
    energy = centred @ centred
    if energy <= (np.finfo(float).eps * np.abs(values).max(initial=0.0)) ** 2 * samples:
        return WhitenessTest(
            channel, 0.0, count, 1.0, 0.0, True, f"{channel}: the residual is constant."
        )
    from scipy.fft import irfft, next_fast_len, rfft
    from scipy.special import chdtrc

    size = next_fast_len(samples + count)
    spectrum = np.abs(np.asarray(rfft(centred, size))) ** 2
    correlation = np.asarray(irfft(spectrum, size))[1 : count + 1] / energy
    statistic = float(
        samples * (samples + 2) * np.sum(correlation**2 / (samples - np.arange(1, count + 1)))
    )
    p_value = float(chdtrc(count, statistic))
    lag_one = float(correlation[0])
    white = p_value >= level
    if white:
        sentence = f"{channel}: the residual is consistent with white noise (p = {p_value:.2g})."
    else:
        sentence = (
            f"{channel}: the residual is not white noise (p = {p_value:.2g}, lag-one "
            f"correlation {lag_one:.2f}): the sensor filters its noise, a start was measured with "
            "noise, or the model has an error; intervals that assume white noise would be wrong."
        )
    return WhitenessTest(channel, statistic, count, p_value, lag_one, white, sentence)


def predictable_share(residual: np.ndarray) -> float:
    """Share of the variance of a residual ``(T,)`` that its own past predicts, from 0 to 1.

    It is zero for white noise; for noise and a smooth error together it is the share of the error.
    The prediction is that of an autoregressive model (Burg, order by Akaike's criterion).
    """
    from trueup.fitting.uncertainty.autoregressive import fit_autoregressive, whitened

    values = np.asarray(residual, float) - np.mean(residual)
    if len(values) < 10 or np.ptp(values) == 0:
        return 0.0
    model = fit_autoregressive(values)
    fresh = whitened(values, model.coefficients)[model.order :]
    return float(np.clip(1.0 - np.mean(fresh**2) / np.mean(values**2), 0.0, 1.0))


def whiteness(
    residuals: np.ndarray,
    channels: Sequence[str] = (),
    lags: int | None = None,
    level: float = 0.05,
) -> list[WhitenessTest]:
    """Return :func:`ljung_box` for each channel of residuals ``(T, C)``."""
    table, names = _table(residuals, channels)
    return [ljung_box(table[:, c], lags, level, name) for c, name in enumerate(names)]


def heteroscedasticity(
    residuals: np.ndarray,
    driver: np.ndarray,
    channels: Sequence[str] = (),
    driver_name: str = "signal",
    level: float = 0.01,
) -> list[HeteroscedasticityTest]:
    """Test whether the variance of residuals depends on a signal, such as the speed.

    The residual is first whitened by an autoregressive model, since the sample variance of
    correlated noise varies by chance; its square is regressed on the magnitude of the driver and
    ``T R^2`` is compared with chi-squared (Koenker 1981, Journal of Econometrics 17, which does not
    require normal noise).

    Args:
        residuals: ``(T, C)`` or ``(T,)``.
        driver: ``(T,)`` signal, or ``(T, C)`` one for each channel; its magnitude is used.
        channels: Names of the channels.
        driver_name: Name of the driver for the sentences, such as ``"speed"``.
        level: Significance level: probability of rejecting constant variance.

    Raises:
        FitError: Shapes do not match, too few samples, or values that are not finite.
    """
    from scipy.special import chdtrc

    from trueup.fitting.uncertainty.autoregressive import fit_autoregressive, whitened

    table, names = _table(residuals, channels)
    drivers = np.abs(np.asarray(driver, dtype=float))
    if drivers.ndim == 1:
        drivers = np.repeat(drivers[:, None], table.shape[1], axis=1)
    if drivers.shape != table.shape:
        raise FitError(
            f"the driver {driver_name!r} has shape {np.shape(driver)}, the residuals "
            f"{table.shape}; give one value for each time."
        )
    results = []
    for c, name in enumerate(names):
        values = _finite_vector(table[:, c], name)
        magnitude = _finite_vector(drivers[:, c], driver_name)
        model = fit_autoregressive(values)
        fresh = whitened(values, model.coefficients)[model.order :]
        magnitude = magnitude[model.order :]
        size = fresh**2
        share = _squared_correlation(size, magnitude)
        statistic = float(len(size) * share)
        p_value = float(chdtrc(1, statistic))
        ratio = _upper_to_lower(size, magnitude)
        constant = p_value >= level
        results.append(
            HeteroscedasticityTest(
                name,
                driver_name,
                statistic,
                p_value,
                ratio,
                constant,
                _size_sentence(name, driver_name, ratio, p_value, constant),
            )
        )
    return results


def _size_sentence(channel: str, driver: str, ratio: float, p_value: float, constant: bool) -> str:
    if constant:
        return (
            f"{channel}: the variance of the residual does not depend on the {driver} "
            f"(p = {p_value:.2g})."
        )
    return (
        f"{channel}: the residual is {ratio:.2g} times as large where the {driver} is large as "
        f"where it is small (p = {p_value:.2g}): the variance is not constant, and intervals "
        "must account for it."
    )


def _squared_correlation(first: np.ndarray, second: np.ndarray) -> float:
    first = first - first.mean()
    second = second - second.mean()
    scale = (first @ first) * (second @ second)
    return float((first @ second) ** 2 / scale) if scale > 0.0 else 0.0


def _upper_to_lower(size: np.ndarray, magnitude: np.ndarray) -> float:
    upper = magnitude > np.median(magnitude)
    if not upper.any() or upper.all():
        return 1.0
    low, high = size[~upper].mean(), size[upper].mean()
    if low <= 0.0:
        return 1.0 if high <= 0.0 else float(np.finfo(float).max)
    return float(np.sqrt(high / low))


def _table(residuals: np.ndarray, channels: Sequence[str]) -> tuple[np.ndarray, list[str]]:
    table = np.asarray(residuals, dtype=float)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2:
        raise FitError(f"residuals have shape {table.shape}; give (time, channels).")
    names = list(channels) or [f"channel {c}" for c in range(table.shape[1])]
    if len(names) != table.shape[1]:
        raise FitError(f"{len(names)} channel names for {table.shape[1]} channels of residuals.")
    return table, names


def _finite_vector(values: np.ndarray, name: str) -> np.ndarray:
    vector = np.asarray(values, dtype=float)
    if vector.ndim != 1 or len(vector) < 10:
        raise FitError(f"{name}: expected at least 10 values in a row, found shape {vector.shape}.")
    if not np.isfinite(vector).all():
        raise FitError(f"{name}: residuals or driver are not finite; remove those samples first.")
    return vector
