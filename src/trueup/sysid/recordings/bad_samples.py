"""Samples of a motor that are no measurement: repeats of its last frame, and spikes.

A motor sends its channels in one frame. Where a frame was logged again, or holds the bytes of
another one, all channels of the motor in that row are replaced by values between its neighbours, so
that simulation, inverse dynamics and states of windows see the same motion. Rows in which a motor
was not read for long are left out instead, as a curve through them would be invented.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from trueup.signals import Recording, TimeSeries
from trueup.signals._samples import GAP_STEPS
from trueup.signals.checks.recorded import Channel
from trueup.signals.checks.spikes import spike_rows
from trueup.signals.checks.stale import Repeats, repeats
from trueup.signals.checks.statistics import runs
from trueup.signals.recording import Stream
from trueup.simulation.targets.actuator_types import command_quantity
from trueup.sysid.recordings.measured_state import state_columns

_LONG = 2.0  # usual distances of a motor's samples above which a stretch is not bridged
_WITH_FRAME = 0.9  # share of the repeated rows in which a channel repeats that is in the frame


@dataclass(frozen=True)
class Motor:
    """Columns of one joint in a recording."""

    joint: str
    position: str
    velocity: str
    """Empty if it was not measured."""
    measured: tuple[str, ...]
    """Its other measured columns, such as its torque."""
    torques: tuple[str, ...]
    """Controls that may be measured torques."""


def motors_of(
    model: mujoco.MjModel,
    measured: TimeSeries,
    compared: Sequence[str],
    commands: Mapping[str, str],
) -> list[Motor]:
    """Joints with a measured position, and their columns.

    Args:
      model: the model.
      measured: signals of a recording.
      compared: name of each column of ``measured`` in the recording.
      commands: actuators and their columns in the recording.
    """
    columns = state_columns(model, measured)
    torque_columns = _torque_columns(model, measured)
    out = []
    for joint in range(model.njnt):
        position = columns.positions.get(int(model.jnt_qposadr[joint]))
        if position is None:
            continue
        velocity = columns.velocities.get(int(model.jnt_dofadr[joint]))
        driving = [c for actuator, c in commands.items() if _drives(model, actuator, joint)]
        out.append(
            Motor(
                model.joint(joint).name or f"joint {joint}",
                compared[position],
                "" if velocity is None else compared[velocity],
                tuple(compared[k] for k in torque_columns.get(joint, [])),
                tuple(driving),
            )
        )
    return out


def without_bad_samples(
    recording: Recording, motors: Sequence[Motor], kinds: Collection[str]
) -> tuple[Recording, list[tuple[float, float]]]:
    """Replace repeated frames and spikes of each motor, with a note for each kind.

    Returns:
      The recording, and the stretches [s] in which a motor was not read for long.

    Args:
      recording: a recording on clocks that increase, by the names of the motors' columns.
      motors: from :func:`motors_of`.
      kinds: ``repeats``, ``spikes``, or both.
    """
    long: list[tuple[float, float]] = []
    for kind, finder in (("spikes", _without_spikes), ("repeats", _without_repeats)):
        if kind not in kinds:
            continue
        said = []
        for motor in motors:
            stream, _ = recording.find(motor.position)
            changed, sentence, stretches = finder(stream, motor)
            long += stretches
            if sentence:
                said.append(sentence)
                streams = tuple(changed if s is stream else s for s in recording.streams)
                recording = replace(recording, streams=streams)
        if said:
            recording = recording.noted(f"{_WHAT[kind]}: {'; '.join(said)}")
    return recording, sorted(long)


def outside(times: np.ndarray, stretches: Sequence[tuple[float, float]]) -> np.ndarray:
    """Whether times lie outside of all stretches, shape (n,) of bool."""
    kept = np.ones(len(times), bool)
    for begin, end in stretches:
        kept[np.searchsorted(times, begin) : np.searchsorted(times, end)] = False
    return kept


_WHAT = {
    "repeats": "repeated frames are left out (leave_out)",
    "spikes": "spikes are left out (leave_out)",
}


_Stretches = list[tuple[float, float]]


def _without_repeats(stream: Stream, motor: Motor) -> tuple[Stream, str, _Stretches]:
    found = repeated_frames(stream, motor)
    rows = found.rows
    if not rows.any():
        return stream, "", []
    frame = [motor.position]
    for name in (motor.velocity, *motor.measured, *motor.torques):
        values = stream.columns.get(name)
        if values is None:
            continue
        same = np.diff(values, prepend=np.nan) == 0
        if np.mean(same[rows]) >= _WITH_FRAME:
            frame.append(name)
    count = int(np.count_nonzero(rows))
    sentence = (
        f"{motor.joint} repeats its last sample in {count} rows "
        f"({100.0 * found.share:.2g} % of those in which it is distinguishable)"
    )
    starts, stops = runs(rows)
    usual = float(np.median(np.diff(np.flatnonzero(~rows))))
    long = stops - starts > max(GAP_STEPS, _LONG * usual)
    times = stream.times
    stretches = [
        (float(times[a]), float(times[min(b, len(times) - 1)]))
        for a, b in zip(starts[long], stops[long], strict=True)
    ]
    return _bridged(stream, frame, rows), sentence, stretches


def repeated_frames(stream: Stream, motor: Motor) -> Repeats:
    """Rows of a stream that hold the last frame of a motor again."""
    position = stream.columns[motor.position]
    others = [stream.columns[n] for n in motor.measured if n in stream.columns]
    velocity = stream.columns.get(motor.velocity)
    known = [values for values in (position, velocity, *others) if values is not None]
    if not all(np.isfinite(values).all() for values in known):
        return Repeats(np.zeros(position.size, bool))
    channel = Channel(motor.position, position, "position")
    return repeats(channel, velocity, others, stream.times)


def _without_spikes(stream: Stream, motor: Motor) -> tuple[Stream, str, _Stretches]:
    position = stream.columns[motor.position]
    rows = spike_rows(position) if np.isfinite(position).all() else np.zeros(position.size, bool)
    if not rows.any():
        return stream, "", []
    first = int(np.argmax(rows))
    sentence = (
        f"{motor.joint} jumps away and back in {np.count_nonzero(rows)} samples, the first to "
        f"{position[first]:.6g} at {stream.times[first]:.6g} s"
    )
    stream = _bridged(stream, [motor.position], rows)
    # the other channels of a foreign frame, where they are off too
    for name in (motor.velocity, *motor.measured):
        values = stream.columns.get(name)
        if values is not None and np.isfinite(values).all():
            stream = _bridged(stream, [name], rows & spike_rows(values))
    return stream, sentence, []


def _bridged(stream: Stream, names: Sequence[str], rows: np.ndarray) -> Stream:
    """A stream whose columns are interpolated between the other rows."""
    kept = ~rows
    if not rows.any() or np.count_nonzero(kept) < 4:
        return stream
    columns = dict(stream.columns)
    inside = rows & (stream.times > stream.times[kept][0]) & (stream.times < stream.times[kept][-1])
    for name in names:
        values = np.array(columns[name])
        curve = CubicSpline(stream.times[kept], values[kept])
        values[inside] = curve(stream.times[inside])
        columns[name] = values
    return replace(stream, columns=columns)


def _torque_columns(model: mujoco.MjModel, measured: TimeSeries) -> dict[int, list[int]]:
    """Columns of torque sensors of joints."""
    out: dict[int, list[int]] = {}
    for name, (_, columns) in (measured.signal_mapping or {}).items():
        sensor = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_SENSOR, name)
        if sensor < 0:
            continue
        kind, element = int(model.sensor_type[sensor]), int(model.sensor_objid[sensor])
        if kind == int(mujoco.mjtSensor.mjSENS_JOINTACTFRC):
            out.setdefault(element, []).append(int(columns[0]))
        elif kind == int(mujoco.mjtSensor.mjSENS_ACTUATORFRC) and _on_joint(model, element):
            joint = int(model.actuator_trnid[element, 0])
            out.setdefault(joint, []).append(int(columns[0]))
    return out


def _on_joint(model: mujoco.MjModel, actuator: int) -> bool:
    return int(model.actuator_trntype[actuator]) == int(mujoco.mjtTrn.mjTRN_JOINT)


def _drives(model: mujoco.MjModel, name: str, joint: int) -> bool:
    """Whether an actuator gives a joint the torque of its control, which may be a measured one."""
    actuator = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_ACTUATOR, name)
    if actuator < 0 or not _on_joint(model, actuator):
        return False
    return (
        int(model.actuator_trnid[actuator, 0]) == joint
        and command_quantity(model, actuator) == "effort"
    )
