"""Initial states of recordings and windows as parameters of a fit."""

from collections.abc import Sequence

import mujoco
import numpy as np

from trueup.parameters import Parameter, ParameterDict
from trueup.signals import TimeSeries
from trueup.sysid.fit.window_states import window_label
from trueup.sysid.recordings.measured_state import StateColumns, measured_state, state_columns


def window_starts(
    measured: TimeSeries, timestep: float, window: float, name: str
) -> list[tuple[str, float]]:
    """Label and start time of each window of a sequence; without windows of the sequence itself."""
    start, end = float(measured.times[0]), float(measured.times[-1])
    steps = round(window / timestep)
    if steps < 2:
        return [(name, start)]
    count = max(int(np.ceil((end - start) / (steps * timestep) - 1e-6)), 1)
    # skip a last window shorter than two steps, which has no prediction
    times = [start + k * steps * timestep for k in range(count)]
    return [(window_label(name, k), t) for k, t in enumerate(times) if t < end - 2 * timestep]


def add_initial_states(
    parameters: ParameterDict,
    model: mujoco.MjModel,
    measured: TimeSeries,
    base: np.ndarray,
    starts: Sequence[tuple[str, float]],
    half_width: float,
) -> None:
    """Add parameters for the initial position and velocity of every measured scalar joint.

    Args:
      parameters: changed in place.
      model: the model.
      measured: the recording.
      base: state for unmeasured entries; the start of the sequence itself uses it unchanged.
      starts: label and time [s] of each start.
      half_width: half width of the local fit that gives the start value [s].
    """
    columns = state_columns(model, measured)
    for label, time in starts:
        state = base
        if "#" in label:
            state = measured_state(model, measured, columns, time, half_width, base)
        qpos, qvel = state[1 : 1 + model.nq], state[1 + model.nq : 1 + model.nq + model.nv]
        for dof, address in columns.position_of_velocity.items():
            if address not in columns.positions:
                continue
            joint = model.joint(int(np.flatnonzero(model.jnt_qposadr == address)[0])).name
            reach, speed = _spans(measured, columns, address)
            for kind, value, lower, upper in (
                ("qpos", qpos[address], qpos[address] - reach, qpos[address] + reach),
                # a joint at rest that jumps seems to move already
                ("qvel", qvel[dof], min(qvel[dof], 0.0) - speed, max(qvel[dof], 0.0) + speed),
            ):
                parameters.add(
                    Parameter(
                        start_name(f"state/{joint}/{kind}", label),
                        value,
                        lower,
                        upper,
                        target=f"state/{joint}/{kind}@{label}",
                        description=f"initial {kind} of {joint} in {label}",
                    )
                )


def estimated_starts(parameters: ParameterDict) -> set[str]:
    """Names of automatically added initial states, which are not parameters of the robot."""
    out = set()
    for param in parameters.values():
        for target in param.targets[:1]:
            place, _, label = target.partition("@")
            if place.startswith("state/") and param.name == start_name(place, label):
                out.add(param.name)
    return out


def start_name(place: str, label: str) -> str:
    """Parameter name of an initial state, such as ``state/elbow/qpos``, of a sequence or window."""
    return f"initial_{place.removeprefix('state/').replace('/', '_')}_{label}"


def _spans(measured: TimeSeries, columns: StateColumns, address: int) -> tuple[float, float]:
    """Allowed deviation of an initial position and velocity from the measured ones."""
    position = measured.data[:, columns.positions[address]]
    reach = max(0.1 * float(np.ptp(position)), 1e-4)
    fastest = float(np.percentile(np.abs(np.gradient(position, measured.times)), 95))
    # at rest the position determines the velocity poorly: use the span of the whole motion
    return reach, max(fastest, 1e-3)
