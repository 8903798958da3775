"""Sections of a servo report: distribution of residuals, and identified friction."""

from typing import Any

import numpy as np

from trueup import reports
from trueup.actuators.assess.model_errors import ModelErrors
from trueup.actuators.bench.loads import bench_of
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.actuators.report._friction_curves import friction_curves
from trueup.actuators.selection._information_criteria import effective_samples
from trueup.errors import RecordingError

_MRAD = 1e3
_BINS = 40
_FEWEST = 20  # smallest number of samples in a bin of speed
_QUANTILES = (0.5, 0.9)
_BARS, _LAGS = 60, 7  # autocorrelation: number of bars, and samples between them at most


def residual_section(errors: ModelErrors, held: np.ndarray) -> reports.Section:
    """Section on residuals: over time, against speed, histogram, autocorrelation."""
    usable = np.isfinite(errors.mae)
    if not usable.any():
        return reports.Section("Residuals", "residuals", content=["All simulations diverged."])
    parts = [("training", ~held & usable), ("held out", held & usable)]
    parts = [(name, mask) for name, mask in parts if mask.any()]
    over_time, against_speed = [], []
    for name, mask in parts:
        numbers = np.flatnonzero(mask).tolist()
        times, means = _over_time(errors, numbers)
        over_time.append(reports.Trace(name, times, means * _MRAD))
        speeds, quantiles = _against_speed(errors, numbers)
        for q, values in zip(_QUANTILES, quantiles, strict=True):
            what = "median" if q == 0.5 else f"{100 * q:.0f} % quantile"
            against_speed.append(reports.Trace(f"{name}, {what}", speeds, values * _MRAD))
    content: list[Any] = [
        reports.Row(
            [
                reports.line_figure(
                    over_time,
                    x_label="time",
                    x_unit="s",
                    y_label="mean absolute error",
                    y_unit="mrad",
                    markers=False,
                    title="Error over time",
                ),
                reports.line_figure(
                    against_speed,
                    x_label="measured speed",
                    x_unit="rad/s",
                    y_label="absolute error",
                    y_unit="mrad",
                    markers=False,
                    title="Error against speed",
                ),
            ]
        )
    ]
    residuals = [errors.residuals[i] for i in np.flatnonzero(usable)]
    samples = sum(r.size for r in residuals)
    independent = sum(effective_samples(r) for r in residuals)
    longest = min(max(r.size for r in residuals) - 1, _LAGS * _BARS)
    stride = max(1, longest // _BARS)
    dt = errors.logs[int(np.flatnonzero(usable)[0])].dt or 1.0
    content.append(
        reports.Row(
            [
                reports.histogram_figure(
                    np.concatenate(residuals) * _MRAD,
                    label="simulated minus measured position",
                    unit="mrad",
                    title="Residuals of all logs",
                ),
                reports.acf_figure(
                    _mean_autocorrelation(residuals, longest)[::stride],
                    samples=samples,
                    lag_step=stride * dt,
                    lag_unit="s",
                    title="Autocorrelation of the residuals",
                    caption=f"{samples:,} samples equal {independent:.0f} independent ones.",
                ),
            ]
        )
    )
    return reports.Section("Residuals", "residuals", content=content)


def friction_section(model: ServoModel, errors: ModelErrors) -> reports.Section:
    """Section on friction: torque against speed, at loads that occur in the logs."""
    greatest = max((_gravity_torque(log) for log in errors.logs), default=0.0)
    loads = [0.0, greatest / 3, 2 * greatest / 3, greatest] if greatest > 0 else None
    fastest = float(max(np.percentile(np.abs(log.speed), 99) for log in errors.logs))
    speeds = max(fastest, 0.5) * np.linspace(0.0, 1.0, 121) ** 2
    curves = friction_curves(model, loads, speeds.tolist())
    names = ["no load" if load == 0 else f"load {load:.3g} N m" for load in curves.loads]
    finite = np.where(np.isfinite(curves.friction), curves.friction, 0.0)
    if np.ptp(finite, axis=0).max() < 1e-6 * finite.max():
        names = ["at any load"]

    def figure(values: Array, title: str) -> reports.Figure:
        finite = np.where(np.isfinite(values), values, np.nan)[: len(names)]
        return reports.line_figure(
            [
                reports.Trace(name, curves.speeds, row)
                for name, row in zip(names, finite, strict=True)
            ],
            x_label="speed",
            x_unit="rad/s",
            y_label="friction torque",
            y_unit="N m",
            markers=False,
            title=title,
        )

    where = ", at any load" if len(names) == 1 else ""
    title = f"Friction torque while the motor drives{where}"
    figures: list[reports.Content] = [figure(curves.friction, title)]
    if model.friction.has_stribeck:
        figures.append(figure(curves.stribeck, "Stribeck part, near standstill only"))
    text = (
        "Friction torque while the motor drives a load at constant speed. The largest load is "
        f"that of gravity in the logs; the speeds reach {curves.speeds[-1]:.2g} rad/s, the 99th "
        "percentile of the fastest log."
    )
    return reports.Section("Friction", "friction", text, [reports.Row(figures)])


def _over_time(errors: ModelErrors, numbers: list[int]) -> tuple[Array, Array]:
    """Centres of time bins [s], and the mean absolute error in them [rad]."""
    end = max(errors.logs[i].duration for i in numbers)
    edges = np.linspace(0.0, end, _BINS + 1)
    times = np.concatenate([errors.logs[i].times - errors.logs[i].times[0] for i in numbers])
    error = np.abs(np.concatenate([errors.residuals[i] for i in numbers]))
    bins = np.clip(np.searchsorted(edges, times, side="right") - 1, 0, _BINS - 1)
    counts = np.bincount(bins, minlength=_BINS)
    sums = np.bincount(bins, error, _BINS)
    means = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return 0.5 * (edges[1:] + edges[:-1]), means


def _against_speed(errors: ModelErrors, numbers: list[int]) -> tuple[Array, list[Array]]:
    """Centres of speed bins [rad/s], and quantiles of the absolute error in them [rad]."""
    speed = np.concatenate([errors.logs[i].speed for i in numbers])
    error = np.abs(np.concatenate([errors.residuals[i] for i in numbers]))
    low, high = np.percentile(speed, [0.5, 99.5])
    edges = np.linspace(low, max(high, low + 1e-9), _BINS // 2 + 1)
    bins = np.searchsorted(edges, speed, side="right") - 1
    quantiles = np.full((len(_QUANTILES), edges.size - 1), np.nan)
    for b in range(edges.size - 1):
        inside = error[bins == b]
        if inside.size >= _FEWEST:
            quantiles[:, b] = np.quantile(inside, _QUANTILES)
    return 0.5 * (edges[1:] + edges[:-1]), list(quantiles)


def _mean_autocorrelation(residuals: list[Array], lags: int) -> Array:
    """Autocorrelation at lags from 0 without mean removal, averaged over logs."""
    found = []
    for residual in residuals:
        padded = np.zeros(max(lags + 1, residual.size))
        spectrum = np.fft.rfft(residual, 2 * padded.size)
        correlation = np.fft.irfft(np.abs(spectrum) ** 2)[: lags + 1]
        if correlation[0] > 0:
            found.append(correlation / correlation[0])
    return np.mean(found, axis=0) if found else np.eye(1, lags + 1)[0]


def _gravity_torque(log: ServoLog) -> float:
    """Greatest torque of gravity in a log [N m]; 0 without a pendulum."""
    try:
        return float(bench_of(log).gravity_torque)
    except RecordingError:
        return 0.0
