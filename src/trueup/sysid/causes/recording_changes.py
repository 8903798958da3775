"""Faults of a recording as unknowns of a fit: late commands, zero and scale of sensors, exchange.

A change maps recordings to those without the fault, given its value, which is an element of the
search space like any other.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import mujoco
import numpy as np

from trueup.parameters import Parameter, ParameterDict
from trueup.signals import TimeSeries
from trueup.signals.model_signals import control_mapping
from trueup.simulation.engine.control_layout import control_in_model_order
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.measured.system_trajectory import SystemTrajectory
from trueup.sysid.causes.term_candidates import PREFIX, SCALAR, TURNS
from trueup.sysid.fit.late_controls import late_controls
from trueup.sysid.recordings.measured_state import state_columns

Groups = list[ModelSequences]

LONGEST_DELAY = 0.1
"""Maximum delay [s]."""

_ZERO = {True: 0.6, False: 0.2}  # largest offset of a sensor of a hinge [rad] and of a slide [m]
_SCALE = (0.4, 2.5)
_CLOCK = (0.6, 1.6)
_TILT = 0.6  # largest tilt of gravity [rad]


@dataclass(frozen=True)
class Change:
    """A fault of the recordings with one value."""

    kind: str
    where: str
    """Joint or axis; empty for all commands."""
    parameter: Parameter
    """Its value, at that of recordings without the fault."""
    apply: Callable[[Sequence[ModelSequences], float], Groups]
    note: str = ""
    replaces: str = ""
    """Frozen parameter that it replaces; there is none."""
    follows: bool = False
    """Whether it has an effect only with another value; never."""
    guesses: tuple[float, ...] = ()

    @property
    def given(self) -> float:
        """Value of recordings without the fault."""
        return float(self.parameter.as_vector()[0])


@dataclass(frozen=True)
class Exchange:
    """Columns of two joints that may be exchanged."""

    kind: str
    joints: tuple[str, str]
    apply: Callable[[Sequence[ModelSequences]], Groups]


def late_commands() -> Change:
    """Delay of all commands."""
    name = f"{PREFIX}delay"
    return Change("delay", "", Parameter(name, 0.0, 0.0, LONGEST_DELAY, unit="s"), late_controls)


def clock_rate(groups: Sequence[ModelSequences], known: Collection[str]) -> Change:
    """Time of the machine per time of the recording, as the time of one step of the simulation.

    Samples keep their steps; speeds that follow from recorded positions change.

    Args:
      groups: the recordings.
      known: sequences whose initial state is known, not measured.
    """
    step = float(groups[0].gt_model.opt.timestep)
    low, high = (step * factor for factor in _CLOCK)
    target = "option/timestep"
    parameter = Parameter(PREFIX + target, step, low, high, target=target, unit="s", scale="log")

    def apply(given: Sequence[ModelSequences], value: float) -> Groups:
        def changed(whole: SystemTrajectory) -> SystemTrajectory:
            model = whole.model
            columns = state_columns(model, whole.sensordata)
            derived = [
                d for d in range(model.nv) if columns.gives(d) and d not in columns.velocities
            ]

            def state(values: np.ndarray) -> np.ndarray:
                out = np.array(values)
                out[[1 + model.nq + d for d in derived]] *= step / value
                return out

            return _with_signals(whole, known, lambda series: series, state)

        return _regrouped(given, changed)

    return Change("clock", "", parameter, apply)


def gravity_tilts(groups: Sequence[ModelSequences], parameters: ParameterDict) -> list[Change]:
    """Tilt of gravity about both axes across it, as a base that is not level has it.

    Args:
      groups: the recordings.
      parameters: parameters of the experiment; with gravity among them there is no tilt.
    """
    gravity = np.array(groups[0].gt_model.opt.gravity)
    searched = [t for p in parameters.values() for t in p.targets if t.startswith("option/gravity")]
    if not gravity.any() or searched:
        return []
    down = int(np.argmax(np.abs(gravity)))
    return [
        Change(
            "gravity",
            f"about {'xyz'[axis]}",
            Parameter(f"{PREFIX}tilt about {'xyz'[axis]}", 0.0, -_TILT, _TILT, unit="rad"),
            _tilted(axis),
        )
        for axis in range(3)
        if axis != down
    ]


def _tilted(axis: int) -> Callable[[Sequence[ModelSequences], float], Groups]:
    first, second = (axis + 1) % 3, (axis + 2) % 3

    def apply(groups: Sequence[ModelSequences], angle: float) -> Groups:
        out = []
        cosine, sine = np.cos(angle), np.sin(angle)
        for group in groups:
            spec = group.spec.copy()
            gravity = np.array(spec.option.gravity)
            one, other = gravity[first], gravity[second]
            gravity[first], gravity[second] = (
                cosine * one - sine * other,
                sine * one + cosine * other,
            )
            spec.option.gravity = gravity
            out.append(
                ModelSequences.from_trajectories(
                    group.name, spec, group.sequence_name, group.measured_rollout, True
                )
            )
        return out

    return apply


def sensor_changes(groups: Sequence[ModelSequences], known: Collection[str]) -> list[Change]:
    """Zero and scale of the position sensors of hinges and slides.

    Args:
      groups: the recordings.
      known: sequences whose initial state is known, not measured.
    """
    out = []
    for name, turns in measured_joints(groups).items():
        unit = "rad" if turns else "m"
        most = _ZERO[turns]
        zero = Parameter(f"{PREFIX}zero of {name}", 0.0, -most, most, unit=unit)
        scale = Parameter(f"{PREFIX}scale of {name}", 1.0, *_SCALE, scale="log")
        out.append(Change("sensor-zero", name, zero, _mapped(name, known, is_scale=False)))
        out.append(Change("sensor-scale", name, scale, _mapped(name, known, is_scale=True)))
    return out


def measured_joints(groups: Sequence[ModelSequences]) -> dict[str, bool]:
    """Hinges and slides whose position was recorded in all sequences; whether they turn."""
    out = {}
    model = groups[0].gt_model
    wholes = [whole for group in groups for whole in group.measured_rollout]
    for j in range(model.njnt):
        name = model.joint(j).name
        if not name or int(model.jnt_type[j]) not in SCALAR:
            continue
        if all(_column(whole, name) is not None for whole in wholes):
            out[name] = int(model.jnt_type[j]) == TURNS
    return out


def exchanges(groups: Sequence[ModelSequences], known: Collection[str]) -> list[Exchange]:
    """Pairs of joints of one kind with exchanged sensors or exchanged commands."""
    joints = measured_joints(groups)
    out = []
    for first, second in combinations(joints, 2):
        if joints[first] != joints[second]:
            continue
        pair = (first, second)
        out.append(Exchange("exchanged-sensors", pair, _swapped_sensors(pair, known)))
        if all(_control_of(groups[0].gt_model, j) >= 0 for j in pair):
            out.append(Exchange("exchanged-commands", pair, _swapped_controls(pair)))
    return out


def _column(whole: SystemTrajectory, joint: str) -> int | None:
    """Column with the position of a joint; None if it was not recorded."""
    at = mujoco.mj_name2id(whole.model, mujoco.mjtObj.mjOBJ_JOINT, joint)
    if at < 0:
        return None
    columns = state_columns(whole.model, whole.sensordata)
    return columns.positions.get(int(whole.model.jnt_qposadr[at]))


def _control_of(model: mujoco.MjModel, joint: str) -> int:
    """Actuator on a joint; -1 if there is none, or several."""
    own = [
        i
        for i in range(model.nu)
        if int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        and int(model.actuator_trnid[i, 0]) == model.joint(joint).id
    ]
    return own[0] if len(own) == 1 else -1


def _regrouped(
    groups: Sequence[ModelSequences], change: Callable[[SystemTrajectory], SystemTrajectory]
) -> Groups:
    return [
        ModelSequences.from_trajectories(
            g.name, g.spec, g.sequence_name, [change(t) for t in g.measured_rollout], True
        )
        for g in groups
    ]


def _mapped(
    joint: str, known: Collection[str], is_scale: bool
) -> Callable[[Sequence[ModelSequences], float], Groups]:
    """Change of recordings to those of a sensor without its zero or scale."""

    def position(values: np.ndarray, value: float) -> np.ndarray:
        return values / value if is_scale else values - value

    def speed(values: np.ndarray, value: float) -> np.ndarray:
        return values / value if is_scale else values

    def of_series(model: mujoco.MjModel, series: TimeSeries, value: float) -> TimeSeries:
        columns, data = state_columns(model, series), np.array(series.data)
        at = model.joint(joint).id
        address, dof = int(model.jnt_qposadr[at]), int(model.jnt_dofadr[at])
        if address in columns.positions:
            column = columns.positions[address]
            data[:, column] = position(data[:, column], value)
        if dof in columns.velocities:
            column = columns.velocities[dof]
            data[:, column] = speed(data[:, column], value)
        return TimeSeries(series.times, data, series.signal_mapping)

    def of_state(model: mujoco.MjModel, state: np.ndarray, value: float) -> np.ndarray:
        out, at = np.array(state), model.joint(joint).id
        place = 1 + int(model.jnt_qposadr[at])
        out[place] = position(out[place], value)
        place = 1 + model.nq + int(model.jnt_dofadr[at])
        out[place] = speed(out[place], value)
        return out

    def apply(groups: Sequence[ModelSequences], value: float) -> Groups:
        def changed(whole: SystemTrajectory) -> SystemTrajectory:
            return _with_signals(
                whole,
                known,
                lambda series: of_series(whole.model, series, value),
                lambda state: of_state(whole.model, state, value),
            )

        return _regrouped(groups, changed)

    return apply


def _with_signals(
    whole: SystemTrajectory,
    known: Collection[str],
    series: Callable[[TimeSeries], TimeSeries],
    state: Callable[[np.ndarray], np.ndarray],
) -> SystemTrajectory:
    """A sequence with changed signals, and with its measured initial states changed likewise."""
    lead_in = whole.lead_in
    if lead_in is not None and lead_in.measured is not None:
        before = lead_in.state if lead_in.name in known else state(lead_in.state)
        lead_in = replace(lead_in, measured=series(lead_in.measured), state=before)
    initial = whole.initial_state if whole.name in known else state(whole.initial_state)
    return whole.replace(
        sensordata=series(whole.sensordata), initial_state=initial, lead_in=lead_in
    )


def _swapped_sensors(
    pair: tuple[str, str], known: Collection[str]
) -> Callable[[Sequence[ModelSequences]], Groups]:
    def apply(groups: Sequence[ModelSequences]) -> Groups:
        def changed(whole: SystemTrajectory) -> SystemTrajectory:
            model = whole.model
            at = [model.joint(name).id for name in pair]
            address = [int(model.jnt_qposadr[j]) for j in at]
            dofs = [int(model.jnt_dofadr[j]) for j in at]

            def series(given: TimeSeries) -> TimeSeries:
                columns, data = state_columns(model, given), np.array(given.data)
                for places, found in ((address, columns.positions), (dofs, columns.velocities)):
                    if all(place in found for place in places):
                        own = [found[place] for place in places]
                        data[:, own] = data[:, own[::-1]]
                return TimeSeries(given.times, data, given.signal_mapping)

            def state(given: np.ndarray) -> np.ndarray:
                out = np.array(given)
                for places in ([1 + a for a in address], [1 + model.nq + d for d in dofs]):
                    out[places] = out[places[::-1]]
                return out

            return _with_signals(whole, known, series, state)

        return _regrouped(groups, changed)

    return apply


def _swapped_controls(pair: tuple[str, str]) -> Callable[[Sequence[ModelSequences]], Groups]:
    def apply(groups: Sequence[ModelSequences]) -> Groups:
        def changed(whole: SystemTrajectory) -> SystemTrajectory:
            own = [_control_of(whole.model, joint) for joint in pair]

            def swapped(control: TimeSeries) -> TimeSeries:
                data = np.array(control_in_model_order(whole.model, control))
                data[:, own] = data[:, own[::-1]]
                return TimeSeries(control.times, data, control_mapping(whole.model))

            lead_in = whole.lead_in
            if lead_in is not None:
                lead_in = replace(lead_in, control=swapped(lead_in.control))
            return whole.replace(control=swapped(whole.control), lead_in=lead_in)

        return _regrouped(groups, changed)

    return apply
