"""Amount of motion in the recordings of a fit, and whether it is enough for its parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import listing
from trueup.fitting import Grade, Reason
from trueup.parameters import ParameterDict
from trueup.signals import TimeSeries
from trueup.signals.checks.statistics import noise_level, resolution
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.assess.horizons import HORIZONS
from trueup.sysid.recordings.measured_state import state_columns

_PAUSE = 0.1  # time over which a joint has to move [s]
_NOISE = 6.0  # least movement, in standard deviations of the noise of one sample
_SHARE = 1e-3  # least movement, as a share of the range of the joint
_FEW = 0.5  # independent movements for each parameter: size and phase of each are two numbers
_USEFUL = 0.05  # half-width of an interval, relative to the value, for which time is given
_LONGEST = 600.0  # time up to which more of the same motion is advised [s]


@dataclass(frozen=True)
class JointMotion:
    """Motion of one joint over all recordings."""

    seconds: float
    """Time in which the joint moves [s]."""
    half_periods: float
    """Number of independent movements: half periods of a sine of the same speed and size."""


def joint_motions(groups: Sequence[ModelSequences]) -> dict[str, JointMotion]:
    """Motion of each joint with a measured position, by name.

    A joint moves where its position changes within 0.1 s by more than the noise. Half periods are
    counted by the ratio of speed and size of the motion, ``T rms(speed) / (pi std(position))``:
    twice the product of bandwidth and time, the number of independent samples of a signal.
    """
    moved: dict[str, list[tuple[float, float, float, float]]] = {}
    for group in groups:
        for sequence in group.measured_rollout:
            for name, series in _positions(sequence.model, sequence.sensordata).items():
                moved.setdefault(name, []).append(_motion(sequence.sensordata.times, series))
    out = {}
    for name, parts in moved.items():
        seconds, paths, squares, samples = (float(sum(p[k] for p in parts)) for k in range(4))
        speed = np.sqrt(paths / seconds) if seconds > 0 else 0.0
        size = np.sqrt(squares / samples) if samples > 0 else 0.0
        turns = seconds * speed / (np.pi * size) if size > 0 else 0.0
        out[name] = JointMotion(seconds, float(turns))
    return out


def _positions(model: mujoco.MjModel, measured: TimeSeries) -> dict[str, np.ndarray]:
    """Measured position ``(T,)`` of each scalar joint."""
    columns, out = state_columns(model, measured).positions, {}
    for joint in range(model.njnt):
        address = int(model.jnt_qposadr[joint])
        kind = int(model.jnt_type[joint])
        is_scalar = kind in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
        if is_scalar and address in columns:
            out[model.joint(joint).name] = measured.data[:, columns[address]]
    return out


def _motion(times: np.ndarray, position: np.ndarray) -> tuple[float, float, float, float]:
    """Moving time [s], integral of squared speed, sum of squared deviations, and samples."""
    pause = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    step = max(round(_PAUSE / pause), 1) if pause > 0 else 1
    step = min(step, max(len(times) // 4, 1))
    if len(position) <= step:
        return 0.0, 0.0, 0.0, 0.0
    change = position[step:] - position[:-step]
    least = _NOISE * noise_level(position) + resolution(position) + _SHARE * np.ptp(position)
    moves = np.abs(change) > least
    spent = times[step:] - times[:-step]
    speed = change / np.maximum(spent, 1e-12)
    deviations = float(np.sum(np.square(position - position.mean())))
    seconds = pause * float(moves.sum())
    return seconds, pause * float(np.sum(speed[moves] ** 2)), deviations, float(len(position))


def too_little(
    parameters: ParameterDict,
    asked: np.ndarray,
    widths: np.ndarray,
    motions: dict[str, JointMotion],
    held_out_seconds: Sequence[float],
    window: float,
) -> list[Reason]:
    """Reasons against a fit whose recordings hold too little motion.

    Args:
      parameters: the parameters of the fit.
      asked: elements that are parameters of the robot ``(p,)`` bool.
      widths: half-widths of their intervals over their size ``(p,)``; NaN if unknown.
      motions: motion of each joint of the training data.
      held_out_seconds: length of each held-out part [s].
      window: length of the windows of the fit [s]; 0 without windows.
    """
    found = []
    still = [name for name, motion in motions.items() if not motion.seconds]
    resting = [
        p.name
        for p in parameters.free
        if p.targets and all(t.startswith(tuple(f"joint/{n}/" for n in still)) for t in p.targets)
    ]
    if still and resting:
        found.append(
            f"Too little data: {listing(still, 4)} does not move beyond its noise, so that "
            f"{listing(resting, 4)} cannot be determined. Record a motion of it."
        )
    moving = {name: motion for name, motion in motions.items() if motion.seconds}
    count, turns = int(asked.sum()), sum(m.half_periods for m in moving.values())
    if moving and turns < _FEW * count:
        seconds = max(m.seconds for m in moving.values())
        found.append(
            f"Too little data: {seconds:.2g} s in which the joints move, with about "
            f"{max(round(turns), 1)} independent movements for {count} parameters. "
            + _needed(seconds, widths[asked])
        )
    slowest = max(
        (m.seconds / (np.pi * m.half_periods) for m in moving.values() if m.half_periods),
        default=0.0,
    )
    if held_out_seconds and max(held_out_seconds) < slowest:
        found.append(
            f"The held-out data are {max(held_out_seconds):.2g} s long, less than the "
            f"time constant of the slowest motion, {slowest:.2g} s: they test a small part of it. "
            "Hold out more."
        )
    if 0 < window < HORIZONS[0]:
        found.append(
            f"Windows of {window:g} s restart before an error of the model can grow: the fit "
            "compares little more than the next samples. Use windows of at least "
            f"{HORIZONS[0]:g} s."
        )
    return [Reason(Grade.LOOK, text, "identifiability") for text in found]


def _needed(seconds: float, widths: np.ndarray) -> str:
    """Sentence on the time for useful intervals; the variance falls with the time of motion."""
    known = widths[np.isfinite(widths)]
    worst = float(known.max(initial=0.0))
    needed = seconds * max((worst / _USEFUL) ** 2, 1.0)
    if len(known) < len(widths) or needed > _LONGEST:
        return "Record a longer and richer motion (trueup design proposes one)."
    return (
        f"By the present intervals, about {max(needed, 2 * seconds):.0f} s are needed for "
        f"+-{100 * _USEFUL:g} % of each value."
    )
