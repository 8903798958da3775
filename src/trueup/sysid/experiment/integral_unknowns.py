"""Initial integrals of controllers as parameters of a fit.

An integrator at rest carries the weight, which is computed for each candidate. In motion, or if dry
friction may carry a part of the weight, its value depends on the time before the recording, so it
is estimated.
"""

import mujoco
import numpy as np

from trueup.parameters import Parameter, ParameterDict
from trueup.signals.checks.statistics import noise_level
from trueup.simulation.engine.held_start import HeldStart, Holding, held_states
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.experiment.initial_unknowns import start_name
from trueup.sysid.recordings.measured_state import state_columns

_REST = 0.05  # duration under a constant command that identifies rest [s]
_FEWEST = 5  # minimum number of samples at rest
_REACH = 10.0  # bound of an integral, relative to the effect of the proportional part


def add_integrals(
    parameters: ParameterDict, sequence: SystemTrajectory, own: ParameterDict
) -> list[str]:
    """Add a parameter for each initial integral that is not determined by rest.

    Args:
      parameters: changed in place.
      sequence: the recording.
      own: parameters of the experiment.

    Returns:
      Actuators with these integrals.
    """
    model, before = sequence.model, sequence.lead_in
    act = sequence.initial_state[1 + model.nq + model.nv :][: model.na]
    opened = [one for one in HeldStart(model).holding if np.isnan(act[one.place])]
    if not opened or (before is not None and before.measured is not None):
        return []  # it continues from the simulation of the lead-in
    if before is None and not _has_friction(model, own) and _rests(sequence):
        return []
    control = sequence.control.data
    (held,) = held_states([model], sequence.initial_state[None], control[:1])
    values = held[1 + model.nq + model.nv :]
    named = [target.partition("@") for p in own.values() for target in p.targets]
    given = {place for place, _, label in named if label in ("", sequence.name)}
    added = []
    for one in opened:
        actuator = model.actuator(one.actuator).name
        place = f"state/{actuator}/act"
        index = one.place - int(model.actuator_actadr[one.actuator])
        several = int(model.actuator_actnum[one.actuator]) > 1
        target = f"{place}/{index}" if several else place
        if given & {place, target}:
            continue  # already a parameter of the experiment
        value, span = float(values[one.place]), _span(model, one, sequence)
        low, high = _limits(model, one, value - span, value + span)
        parameters.add(
            Parameter(
                start_name(target, sequence.name),
                value,
                low,
                high,
                target=f"{target}@{sequence.name}",
                description=f"integral of {actuator} at the beginning of {sequence.name}",
            )
        )
        added.append(actuator)
    return added


def _has_friction(model: mujoco.MjModel, parameters: ParameterDict) -> bool:
    """Whether dry friction, or the bristle of a motor, may carry a part of the weight."""
    searched = any("frictionloss" in t for p in parameters.values() for t in p.targets)
    motors = model.actuator_dyntype == int(mujoco.mjtDyn.mjDYN_DCMOTOR)
    bristles = (model.actuator_dynprm[motors, 5] > 0).any()
    return searched or bool(bristles or model.dof_frictionloss.any())


def _rests(sequence: SystemTrajectory) -> bool:
    """Whether a recording starts at rest under a constant command."""
    recorded, control = sequence.sensordata, sequence.control
    changed = np.flatnonzero((control.data != control.data[0]).any(axis=1))
    end = control.times[changed[0]] if changed.size else control.times[-1]
    first = recorded.times <= end
    if end - recorded.times[0] < _REST or first.sum() < _FEWEST:
        return False
    columns = state_columns(sequence.model, recorded)
    times = recorded.times[first] - recorded.times[0]
    for column in columns.positions.values():
        values = recorded.data[:, column]
        noise = max(noise_level(values), 1e-6 * float(np.ptp(values)))
        slope, curve = np.polynomial.polynomial.polyfit(times, values[first], 2)[1:]
        moved = max(abs(slope) * times[-1], abs(curve) * times[-1] ** 2)
        # the standard deviation of a fitted slope, over the interval, is sqrt(12 / n) of the noise;
        # that of a fitted curvature sqrt(180 / n)
        if moved > 3 * np.sqrt(180 / first.sum()) * noise:
            return False
    return bool(columns.positions)


def _span(model: mujoco.MjModel, one: Holding, sequence: SystemTrajectory) -> float:
    """Allowed deviation of an integral from the one that carries the weight."""
    i, dynamics = one.actuator, int(model.actuator_dyntype[one.actuator])
    moved = float(np.ptp(sequence.control.data[:, int(model.actuator_ctrladr[i])]))
    for column in state_columns(model, sequence.sensordata).positions.values():
        moved = max(moved, float(np.ptp(sequence.sensordata.data[:, column])))
    gain, bias = model.actuator_gainprm[i], model.actuator_biasprm[i]
    if dynamics == int(mujoco.mjtDyn.mjDYN_PID):
        ratio = abs(bias[1]) / max(gain[0], mujoco.mjMINVAL)
    elif dynamics == int(mujoco.mjtDyn.mjDYN_DCMOTOR):
        ratio = gain[4] / max(gain[5], mujoco.mjMINVAL)
    else:
        ratio = 1.0  # a setpoint
    return max(_REACH * float(ratio) * moved, 1e-3)


def _limits(model: mujoco.MjModel, one: Holding, low: float, high: float) -> tuple[float, float]:
    """Bounds of an integral within the limits of its actuator."""
    limit_low, limit_high = HeldStart(model).limits(one)
    return max(low, limit_low), min(high, limit_high)
