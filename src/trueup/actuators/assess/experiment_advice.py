"""Recommended recordings for parameters that the logs do not determine."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trueup.actuators.logs.servo_log import ServoLog
from trueup.fitting.judgement.identifiability import Identifiability
from trueup.fitting.uncertainty import CovarianceEstimate
from trueup.parameters import Space

_UNCERTAIN = 0.5  # half-width of an interval over the value above which it counts as uncertain
_WIDE = 0.25  # half-width of an interval over the range, likewise
_SLOW = 0.1  # speed [rad/s] below which a joint creeps
_MOST_PARTS = 3  # experiments per recommendation

_STRIBECK = (
    "friction_stribeck",
    "dtheta_stribeck",
    "alpha",
    "load_friction_stribeck",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
)
_EXTERNAL = ("load_friction_external", "load_friction_external_stribeck")
_LOAD = (
    "load_friction_base",
    "load_friction_motor",
    "load_friction_external",
    "load_friction_stribeck",
    "load_friction_motor_stribeck",
    "load_friction_external_stribeck",
    "load_friction_motor_quad",
    "load_friction_external_quad",
)
_MOTOR = ("kt", "R", "error_gain_ratio", "ratio")
_OWN = {
    "command_delay": "steps and fast chirps, at the highest sampling rate",
    "backlash": "slow reversals near the hanging position, where the load changes sides",
    "winding_braking": "swings with torque off (releases, lift_and_drop)",
    "measured_voltage": "recordings at two supply voltages",
    "supply_resistance": "recordings with long and short cables, or with another servo loading the "
    "supply",
    "torque_saturation": "slow lifts of light and heavy loads, up to the greatest the servo holds",
    "resistance_temperature": "the same trajectory cold and warm",
    "max_velocity": "large steps at a high gain, so that the firmware limits the speed",
    "current_limit": "stalls at a high gain, so that the firmware limits the current",
    "max_torque": "stalls at a high gain, so that the firmware limits the torque",
    "q_offset": "slow motion to both sides of the hanging position",
    "friction_viscous": "fast swings with torque off (releases) and fast driven swings",
    "friction_base": "slow ramps and releases that come to rest",
    "armature": "a fast chirp, also with a light load",
}


@dataclass(frozen=True)
class Advice:
    """Parameters that the logs do not determine, and experiments that would determine them."""

    parameters: tuple[str, ...]
    """Parameters that the logs do not determine, alone or in combination."""
    sentence: str
    """Sentence with the parameters and the experiments."""


@dataclass(frozen=True)
class Coverage:
    """Excitation of a set of logs."""

    loads: int
    """Different loads: masses, lengths or inertias."""
    load: str
    """Description of the load, if there is only one."""
    gains: tuple[float, ...]
    """Different firmware gains."""
    limp: float
    """Share of the samples with torque off."""
    creeping: float
    """Share of the samples with slow driven motion."""
    fastest: float
    """99.9th percentile of the speed [rad/s]."""

    @classmethod
    def of(cls, logs: Sequence[ServoLog]) -> "Coverage":
        """Coverage of some logs."""
        loads = {
            (
                round(log.mass, 4),
                round(log.arm_mass, 4),
                round(log.length, 4),
                log.header.get("total_inertia"),
            )
            for log in logs
        }
        speed = np.abs(np.concatenate([log.speed for log in logs]))
        enabled = np.concatenate([log.torque_enable for log in logs])
        creeping = (speed > 0.01) & (speed < _SLOW) & enabled
        first = logs[0]
        return cls(
            loads=len(loads),
            load=f"{first.mass:g} kg at {first.length:g} m",
            gains=tuple(sorted({log.kp for log in logs})),
            limp=float(1.0 - enabled.mean()),
            creeping=float(creeping.mean()),
            fastest=float(np.quantile(speed, 0.999)),
        )


def advise(
    identifiability: Identifiability,
    covariance: CovarianceEstimate,
    space: Space,
    x: np.ndarray,
    intervals: np.ndarray,
    logs: Sequence[ServoLog],
) -> tuple[Advice, ...]:
    """Recommended recordings for each group of parameters that the logs do not determine.

    Groups are directions without effect on the residuals, pairs of correlated parameters, and
    single parameters with wide intervals.

    Args:
      identifiability: of the fit.
      covariance: of the fit.
      space: the free parameters.
      x: their values ``(p,)``.
      intervals: their intervals ``(p, 2)``.
      logs: the training logs.
    """
    coverage = Coverage.of(logs)
    open_alone = _uncertain(space, x, intervals, covariance)
    groups: list[tuple[str, ...]] = []
    groups += [tuple(d.coefficients) for d in identifiability.directions]
    groups += [
        (p.first, p.second) for p in identifiability.pairs if {p.first, p.second} & open_alone
    ]
    grouped = {name for group in groups for name in group}
    groups += [(name,) for name in space.names if name in open_alone - grouped]
    groups += [(name,) for name in identifiability.no_effect if name not in open_alone]
    merged: dict[tuple[str, ...], list[str]] = {}
    for group in dict.fromkeys(groups):
        parts = tuple(experiments(group, coverage))
        names = merged.setdefault(parts, [])
        names += [name for name in group if name not in names]
    return tuple(
        Advice(tuple(names), _sentence(names, parts, identifiability))
        for parts, names in merged.items()
    )


def experiments(names: Sequence[str], coverage: Coverage) -> list[str]:
    """Recordings that make parameters distinguishable, missing ones first."""
    wanted: list[tuple[bool, str]] = []
    own = set(names)
    # driven motion determines only kt/R and the sum of back-EMF and viscous friction, at any load
    traded = own <= {*_MOTOR, "friction_viscous"} and "friction_viscous" in own
    if "error_gain_ratio" in own:
        steps = "large steps at a high gain, which drive the duty cycle to its limit: below, kt "
        wanted.append((True, f"{steps}and R make up for the gain"))
    if own & set(_STRIBECK):
        share = f"{100 * coverage.creeping:.1f} % of these samples creep"
        wanted.append(
            (coverage.creeping < 0.1, f"a slow staircase and slow_ramp under torque ({share})")
        )
    by_load = {*_LOAD, *_MOTOR, *_STRIBECK, "armature", "friction_base"}
    if not traded and (own & by_load or len(own) > 1):
        have = f"all are of {coverage.load}" if coverage.loads == 1 else f"{coverage.loads} so far"
        wanted.append((coverage.loads < 2, f"other masses or lengths ({have})"))
    if own & {*_EXTERNAL, "friction_viscous", "friction_base", "armature", *_MOTOR}:
        have = f"{100 * coverage.limp:.0f} % of these samples are limp"
        wanted.append(
            (
                coverage.limp < 0.05,
                f"releases with torque off, in which the motor applies no torque ({have})",
            )
        )
    if own & set(_MOTOR):
        few = len(coverage.gains) < 2
        have = ", ".join(f"{g:g}" for g in coverage.gains)
        wanted.append((few, f"other gains (kp {have} so far)"))
        wanted.append(
            (
                coverage.fastest < 3.0,
                "fast motion, at which the back-EMF separates kt from R "
                f"(at most {coverage.fastest:.1f} rad/s so far)",
            )
        )
    found = [text for lacking, text in wanted if lacking] or [text for _, text in wanted]
    found += [_OWN[name] for name in names if name in _OWN and (len(own) == 1 or not found)]
    return found[:_MOST_PARTS] or ["other loads, gains and trajectories"]


def _uncertain(
    space: Space, x: np.ndarray, intervals: np.ndarray, covariance: CovarianceEstimate
) -> set[str]:
    """Parameters whose interval is wide compared with their value and their range."""
    width = 0.5 * (intervals[:, 1] - intervals[:, 0])
    span = space.upper - space.lower
    wide = (width > _UNCERTAIN * np.abs(x)) & (width > 0.02 * span) | (width > _WIDE * span)
    chosen = wide | covariance.undetermined
    return {name for name, is_open in zip(space.names, chosen, strict=True) if is_open}


def _sentence(names: Sequence[str], parts: Sequence[str], identifiability: Identifiability) -> str:
    subject = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    if set(names) <= set(identifiability.no_effect):
        what = f"{subject} has no effect in these logs"
    elif len(names) == 1:
        what = f"{subject} is poorly determined by these logs"
    else:
        what = f"{subject} are not determined individually by these logs"
    return f"{what}. To determine {'it' if len(names) == 1 else 'them'}, record {'; '.join(parts)}."
