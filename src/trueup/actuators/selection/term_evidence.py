"""Evidence for a missing term in measurements compared with a model without it, as phrases."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.bench._simulated_torque import simulated_torque
from trueup.actuators.bench.loads import Bench
from trueup.actuators.bench.simulator import BenchSimulator
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import Array, ServoLog
from trueup.actuators.search.fit_settings import FitSettings

AT_LIMIT = 0.98
"""Fraction of the greatest duty cycle above which a bridge counts as at its limit."""

_FEWEST = 50  # fewest samples for evidence
_SLOW = 0.05  # speed below which the direction is not significant [rad/s]


@dataclass(frozen=True)
class Motion:
    """Concatenated measurements of all logs, and the simulation of a model without the term."""

    model: ServoModel
    driven: np.ndarray
    """Whether torque is on ``(n,)``."""
    error: Array
    """Simulated minus measured position [rad]."""
    speed: Array
    """Simulated speed [rad/s]."""
    measured_speed: Array
    current: Array
    """Simulated motor current [A]; for a law without a winding, the torque [N m]."""
    duty: Array
    """Simulated duty cycle."""
    measured_duty: Array | None
    volts: Array | None
    """Measured bus voltage [V]."""
    temperature: Array | None
    """Measured temperature [degrees C]."""


def motion_of(
    model: ServoModel,
    logs: Sequence[ServoLog],
    settings: FitSettings,
    benches: Sequence[Bench] | None = None,
) -> Motion:
    """Simulation of a model in logs, with the measurements.

    Args:
      model: model without the term in question.
      logs: evenly sampled logs.
      settings: scheme, reset period and voltage of the fit.
      benches: load of each log; by default the pendulum that the log describes.
    """
    simulator = BenchSimulator(
        model,
        logs,
        benches=benches,
        scheme=settings.scheme,
        reset_period=settings.reset_period,
        vin=settings.vin,
    )
    found = simulator.simulate()
    positions, speeds, duties = (
        [values[0] for values in channel] for channel in (found.position, found.speed, found.duty)
    )
    torques = [
        simulated_torque(model, log, *motion, vin=settings.vin)
        for log, *motion in zip(logs, positions, speeds, duties, strict=True)
    ]

    def joined(name: str) -> Array | None:
        values = [getattr(log, name) for log in logs]
        return None if any(v is None for v in values) else np.concatenate(values)

    return Motion(
        model,
        np.concatenate([log.torque_enable for log in logs]),
        np.concatenate([s - log.position for s, log in zip(positions, logs, strict=True)]),
        np.concatenate(speeds),
        np.concatenate([log.speed for log in logs]),
        np.concatenate(torques) / model.values.get("kt", 1.0),
        np.concatenate(duties),
        joined("load"),
        joined("input_volts"),
        joined("temperature"),
    )


def evidence_for(term: str, motion: Motion, value: float) -> str:
    """Evidence for a term, as a phrase; empty if the logs show none.

    Args:
      term: the term.
      motion: measurements and simulation of a model without the term.
      value: value of the term in a model that has it.
    """
    sign = _SIGNS.get(term)
    return "" if sign is None else sign(motion, value)


def evidence_for_terms(
    values_of: Mapping[str, tuple[ServoModel, float]],
    logs: Sequence[ServoLog],
    settings: FitSettings,
    benches: Sequence[Bench] | None = None,
) -> dict[str, str]:
    """Evidence for terms; terms without any are omitted.

    Args:
      values_of: term -> model without it, and the value of the term in a model that has it.
      logs, settings, benches: see :func:`motion_of`.
    """
    motions: dict[int, Motion] = {}
    found = {}
    for term, (model, value) in values_of.items():
        if id(model) not in motions:
            motions[id(model)] = motion_of(model, logs, settings, benches)
        if sign := evidence_for(term, motions[id(model)], value):
            found[term] = sign
    return found


def lag(error: Array, speed: Array) -> float:
    """Time by which the measured motion lags behind the simulated one [s], by least squares."""
    power = float(speed @ speed)
    return float(error @ speed) / power if power > 0 else 0.0


def duty_at_limit(motion: Motion) -> tuple[float, float] | None:
    """Fractions of driven samples with the duty cycle at its limit, measured and simulated."""
    if motion.measured_duty is None or motion.driven.sum() < _FEWEST:
        return None
    measured, simulated = (
        float((np.abs(duty[motion.driven]) >= AT_LIMIT * motion.model.servo.max_pwm).mean())
        for duty in (motion.measured_duty, motion.duty)
    )
    return measured, simulated


def _delay(motion: Motion, value: float) -> str:
    if motion.driven.sum() < _FEWEST:
        return ""
    found = lag(motion.error[motion.driven], motion.speed[motion.driven])
    return f"{1e3 * found:.0f} ms behind the simulated motion while driven" if found > 0 else ""


def _limited(motion: Motion, value: float) -> str:
    current = np.abs(motion.current[motion.driven])
    if current.size < _FEWEST:
        return ""
    share = float((current > value).mean())
    words = f"more than {value:.2g} A in {100 * share:.0f} % of the driven samples without it"
    return f"{words}{_duty_words(motion)}" if share > 0 else ""


def _saturated(motion: Motion, value: float) -> str:
    current = np.abs(motion.current[motion.driven])
    if current.size < _FEWEST:
        return ""
    most = float(np.percentile(current, 99))
    fall = 1.0 - 1.0 / (1.0 + value * most)
    return f"{100 * fall:.0f} % less torque per ampere at {most:.2g} A{_duty_words(motion)}"


def _duty_words(motion: Motion) -> str:
    shares = duty_at_limit(motion)
    if shares is None or max(shares) < 0.005:
        return ""
    measured, simulated = shares
    return (
        f"; duty cycle at its limit in {100 * measured:.0f} % of the driven samples, simulated "
        f"{100 * simulated:.0f} %"
    )


def _dead_zone(motion: Motion, value: float) -> str:
    sides = [
        motion.error[motion.driven & (np.sign(motion.current) == side)] for side in (-1.0, 1.0)
    ]
    if min(side.size for side in sides) < _FEWEST:
        return ""
    step = abs(float(sides[1].mean() - sides[0].mean()))
    moving = np.sign(motion.measured_speed[np.abs(motion.measured_speed) > _SLOW])
    reversals = int((np.diff(moving) != 0).sum())
    return (
        f"the error differs by {1e3 * step:.0f} mrad between torque to either side; {reversals} "
        "reversals"
    )


def _warmth(motion: Motion, value: float) -> str:
    if motion.temperature is None:
        return ""
    middle = float(np.median(motion.temperature[motion.driven])) if motion.driven.any() else 0.0
    halves = [
        motion.driven & (motion.temperature <= middle),
        motion.driven & (motion.temperature > middle),
    ]
    if min(half.sum() for half in halves) < _FEWEST:
        return ""
    cold, warm = (1e3 * lag(motion.error[half], motion.speed[half]) for half in halves)
    ends = motion.temperature.min(), motion.temperature.max()
    return (
        f"a lag of {cold:.1f} ms up to {middle:.0f} degrees C and of {warm:.1f} ms above, from "
        f"{ends[0]:.0f} to {ends[1]:.0f}"
    )


def _plateau(motion: Motion, value: float) -> str:
    if motion.driven.sum() < _FEWEST:
        return ""
    measured, simulated = (
        float(np.percentile(np.abs(speed[motion.driven]), 99.5))
        for speed in (motion.measured_speed, motion.speed)
    )
    if simulated <= measured:
        return ""
    return f"speeds up to {measured:.1f} rad/s, simulated up to {simulated:.1f} rad/s"


def _bus(motion: Motion, value: float) -> str:
    if motion.volts is None or not motion.driven.any():
        return ""
    power = np.abs(motion.duty * motion.current)
    low, high = np.percentile(power[motion.driven], [20, 80])
    idle, loaded = (
        float(motion.volts[motion.driven & where].mean()) for where in (power <= low, power >= high)
    )
    return f"{idle:.2f} V where the servo draws little, {loaded:.2f} V where it draws most"


def _braking(motion: Motion, value: float) -> str:
    limp = ~motion.driven
    if limp.sum() < _FEWEST:
        return ""
    measured, simulated = (
        float(np.sqrt(np.mean(speed[limp] ** 2))) for speed in (motion.measured_speed, motion.speed)
    )
    return (
        f"torque off in {100 * limp.mean():.0f} % of the samples, at {measured:.2f} rad/s (rms), "
        f"simulated {simulated:.2f} rad/s"
    )


def _gain(motion: Motion, value: float) -> str:
    if motion.measured_duty is None:
        return ""
    most = AT_LIMIT * motion.model.servo.max_pwm
    free = motion.driven & (np.abs(motion.duty) < most) & (np.abs(motion.measured_duty) < most)
    power = float(motion.duty[free] @ motion.duty[free])
    if free.sum() < _FEWEST or power <= 0.0:
        return ""
    ratio = float(motion.measured_duty[free] @ motion.duty[free]) / power
    return f"the measured duty cycle is {ratio:.2g} times the simulated one below its limit"


_SIGNS: dict[str, Callable[[Motion, float], str]] = {
    "command_delay": _delay,
    "current_limit": _limited,
    "torque_saturation": _saturated,
    "backlash": _dead_zone,
    "resistance_temperature": _warmth,
    "max_velocity": _plateau,
    "supply_resistance": _bus,
    "measured_voltage": _bus,
    "winding_braking": _braking,
    "error_gain_ratio": _gain,
}
