"""The model during a log: moving joints, contacts, actuators, and their peak forces."""

import math
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from scipy.ndimage import median_filter

from trueup.signals import InterpolationMethod, TimeSeries
from trueup.simulation.engine.control_layout import control_columns
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.targets.actuator_types import actuator_type, holds_position
from trueup.simulation.targets.variants import compile_spec
from trueup.sysid.causes.machine_candidates import NO_LIMIT, command_spans
from trueup.sysid.causes.recording_changes import LONGEST_DELAY
from trueup.sysid.causes.simulated_peaks import simulated_peaks
from trueup.sysid.experiment.preparation import Prepared
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.importing.columns.matching import joint_of_actuator
from trueup.sysid.importing.proposed_parameters import actuated_joints
from trueup.sysid.recordings.measured_state import state_columns
from trueup.sysid.torque.joint_motion import actuators_of, torque_sources

_NO_GRAVCOMP = 1e-9  # compensated fraction of a weight; MuJoCo skips bodies of a model without any
_STEADY = 5  # samples of a recorded torque whose median counts as a force
_POSES = 200  # recorded poses that are checked for contacts
_SLIDE, _HINGE = int(mujoco.mjtJoint.mjJNT_SLIDE), int(mujoco.mjtJoint.mjJNT_HINGE)
_FIXED = int(mujoco.mjtGain.mjGAIN_FIXED)


def extended_spec(given: Any) -> Any:
    """Copy of a model with room for every cause, and with names for all elements.

    MuJoCo reads a delay buffer before it stores the present command, so that a delay between zero
    and one step acts as one step. Here every actuator has one step more delay than in the model,
    and is
    commanded one step earlier (:func:`one_step_earlier`): the motion is that of the model, and a
    fit can change the delay continuously from zero. Missing limits of forces and commands are set
    beyond any, and the missing compensation of gravity to a negligible one.

    Args:
      given: the ``MjSpec``.
    """
    spec = named_spec(given)
    model = compile_spec(spec.copy())
    for number, actuator in enumerate(spec.actuators):
        if not _drives_a_joint(model, number):
            continue
        samples = math.ceil(LONGEST_DELAY / model.opt.timestep) + 3
        actuator.nsample = max(int(actuator.nsample), samples)
        actuator.interp = 1  # a delay of whole steps has zero gradient
        actuator.delay += model.opt.timestep
        joint = joint_of_actuator(model, number)
        if not model.actuator_forcelimited[number] and not model.jnt_actfrclimited[joint]:
            actuator.forcelimited = 1
            actuator.forcerange = (-NO_LIMIT, NO_LIMIT)
        if holds_position(model, number) and not model.actuator_ctrllimited[number]:
            actuator.ctrllimited, actuator.ctrlrange = 1, (-NO_LIMIT, NO_LIMIT)
    if np.any(model.opt.gravity):
        for number, body in enumerate(spec.bodies):
            if model.body_weldid[number] and not body.gravcomp:
                body.gravcomp = _NO_GRAVCOMP
    return spec


def named_spec(given: Any) -> Any:
    """Copy of a model with names for all elements.

    Args:
      given: the ``MjSpec``.
    """
    spec = given.copy()
    for kind in ("bodies", "joints", "geoms", "actuators"):
        taken = {element.name for element in getattr(spec, kind)}
        for number, element in enumerate(getattr(spec, kind)):
            if not element.name:
                name = f"{kind.removesuffix('s').replace('bodie', 'body')}_{number}"
                while name in taken:
                    name += "_"
                element.name = name
                taken.add(name)
    return spec


def _drives_a_joint(model: mujoco.MjModel, actuator: int) -> bool:
    joint = joint_of_actuator(model, actuator)
    scalar = joint >= 0 and int(model.jnt_type[joint]) in (_SLIDE, _HINGE)
    fixed = int(model.actuator_gaintype[actuator]) == _FIXED
    return scalar and (fixed or actuator_type(model, actuator) in ("pid", "dcmotor"))


def one_step_earlier(
    model: mujoco.MjModel, control: TimeSeries, times: np.ndarray, method: InterpolationMethod
) -> TimeSeries:
    """Commands for the model of :func:`extended_spec`, one step earlier than they act.

    Args:
      model: the model of :func:`extended_spec`.
      control: commands.
      times: first and last time [s] ``(2,)``.
      method: interpolation of commands between samples.
    """
    step = float(model.opt.timestep)
    driving = [i for i in range(model.nu) if _drives_a_joint(model, i)]
    changes = control.times - step
    if len(driving) < model.nu:
        changes = np.concatenate([changes, control.times])
    inside = (changes > times[0]) & (changes < times[-1])
    grid = np.unique(np.concatenate([times, changes[inside]]))
    data = np.array(control.interpolate(grid, method), float)
    early = control.interpolate(grid + step * (1 + 1e-6), method)
    order = control_columns(model, control)
    columns = np.array(driving, int) if order is None else order[driving]
    data[:, columns] = early[:, columns]
    return TimeSeries(grid, data, control.signal_mapping)


def _touches(group: ModelSequences) -> bool:
    """Whether geoms touch in recorded poses; True where poses are not recorded completely."""
    model = group.gt_model
    moving = model.body_weldid[model.geom_bodyid] != 0
    if (
        not model.npair
        and not (moving & ((model.geom_contype | model.geom_conaffinity) != 0)).any()
    ):
        return False
    data = mujoco.MjData(model)
    for trajectory in group.measured_rollout:
        columns = state_columns(model, trajectory.sensordata).positions
        if len(columns) < model.nq:
            return True
        values = trajectory.sensordata.data[:: max(1, len(trajectory.sensordata.data) // _POSES)]
        for row in values:
            data.qpos[list(columns)] = row[list(columns.values())]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_collision(model, data)
            if data.ncon:
                return True
    return False


@dataclass(frozen=True)
class Situation:
    """A model in a log."""

    model: mujoco.MjModel
    """The model, from :func:`extended_spec`."""
    measured_joints: tuple[int, ...]
    """Hinges and slides whose position is recorded."""
    force_peak: np.ndarray
    """Largest force of each actuator in the simulation ``(nu,)`` [N m, N]."""
    torque_peak: np.ndarray
    """Largest torque of the actuators on each degree of freedom ``(nv,)`` [N m, N]."""
    speed_peak: np.ndarray
    """Largest speed of each degree of freedom ``(nv,)`` [rad/s, m/s]."""
    groups: tuple[ModelSequences, ...] = ()
    """The recordings, also the held-out ones."""
    touches: bool = True
    """Whether anything may touch in a recorded pose."""

    @classmethod
    def of(cls, prepared: Prepared) -> "Situation":
        """Simulate the training recordings with the initial model.

        Raises:
          SimulationError: the simulation fails.
        """
        found: dict[str, Any] = dict.fromkeys(("actuator_force", "qfrc_actuator", "qvel"), 0.0)
        measured: set[int] = set()
        first: GrayBoxProblem | None = None
        for group in prepared.training:
            problem = prepared.motion_problem(sequences=[group])
            first = first or problem
            model = problem.variants[0].model
            for name, values in simulated_peaks(problem, tuple(found)).items():
                found[name] = np.maximum(found[name], values)
            for trajectory in group.measured_rollout:
                known = state_columns(group.gt_model, trajectory.sensordata).positions
                measured |= {j for j in range(model.njnt) if int(model.jnt_qposadr[j]) in known}
        assert first is not None  # an experiment has training data
        model = first.variants[0].model
        scalar = tuple(j for j in sorted(measured) if int(model.jnt_type[j]) in (_SLIDE, _HINGE))
        forces, torques, speeds = (found[n] for n in ("actuator_force", "qfrc_actuator", "qvel"))
        groups = (*prepared.training, *prepared.held_out)
        touches = any(_touches(group) for group in groups)
        return cls(model, scalar, forces, torques, speeds, groups, touches)

    # --- names -------------------------------------------------------------------------------

    def joint(self, joint: int) -> str:
        """Name of a joint."""
        return self.model.joint(joint).name

    def body(self, body: int) -> str:
        """Name of a body."""
        return self.model.body(body).name

    def actuator(self, actuator: int) -> str:
        """Name of an actuator."""
        return self.model.actuator(actuator).name

    # --- elements ----------------------------------------------------------------------------

    @property
    def actuators(self) -> list[int]:
        """Motors and servos on hinges and slides."""
        return [i for i in range(self.model.nu) if _drives_a_joint(self.model, i)]

    @property
    def joints(self) -> list[int]:
        """Hinges and slides that an actuator moves; all if there is no actuator."""
        return actuated_joints(self.model)

    def dof(self, joint: int) -> int:
        """Degree of freedom of a hinge or slide."""
        return int(self.model.jnt_dofadr[joint])

    def turns(self, joint: int) -> bool:
        """Whether a joint is a hinge."""
        return int(self.model.jnt_type[joint]) == _HINGE

    def joint_of(self, actuator: int) -> int:
        """Joint that an actuator moves."""
        return joint_of_actuator(self.model, actuator)

    @property
    def command_spans(self) -> dict[str, tuple[float, float]]:
        """Smallest and largest recorded command of each actuator, by name."""
        return command_spans(self.groups)

    @property
    def position_spans(self) -> dict[int, tuple[float, float]]:
        """Smallest and largest recorded position of each measured joint."""
        out: dict[int, tuple[float, float]] = {}
        for group in self.groups:
            for trajectory in group.measured_rollout:
                columns = state_columns(group.gt_model, trajectory.sensordata).positions
                for joint in self.measured_joints:
                    address = int(self.model.jnt_qposadr[joint])
                    if address not in columns:
                        continue
                    values = trajectory.sensordata.data[:, columns[address]]
                    low, high = out.get(joint, (np.inf, -np.inf))
                    out[joint] = (
                        min(low, float(np.nanmin(values))),
                        max(high, float(np.nanmax(values))),
                    )
        return out

    def damping(self, joint: int) -> float:
        """Damping above which a joint hardly moves [N m s/rad, N s/m]."""
        dof = self.dof(joint)
        speed = max(float(self.speed_peak[dof]), 1e-3)
        return max(2.0 * float(self.torque_peak[dof]) / speed, 5.0 * float(self.model.dof_M0[dof]))

    def moving_parts(self) -> list[tuple[int, bool]]:
        """Heaviest body of each rigid part, and whether it is the last of its chain."""
        model, heaviest = self.model, {}
        for body in range(1, model.nbody):
            part = int(model.body_weldid[body])
            mass = float(model.body_mass[body])
            if part and mass > 0 and mass > float(model.body_mass[heaviest.get(part, 0)]):
                heaviest[part] = body
        carriers = {int(model.body_weldid[model.body_parentid[part]]) for part in heaviest}
        return [(body, part not in carriers) for part, body in heaviest.items()]

    def touching(self) -> dict[str, dict[float, list[str]]]:
        """Targets of sliding friction of possible contacts, by kind (geom, pair) and value."""
        model = self.model
        out: dict[str, dict[float, list[str]]] = {"geom": {}, "pair": {}}
        moving = model.body_weldid[model.geom_bodyid] != 0
        for geom in range(model.ngeom):
            if self._meets(geom, moving):
                value = round(float(model.geom_friction[geom, 0]), 9)
                if value > 0:
                    out["geom"].setdefault(value, []).append(
                        f"geom/{model.geom(geom).name}/friction/0"
                    )
        for pair in range(model.npair):
            name, value = model.pair(pair).name, round(float(model.pair_friction[pair, 0]), 9)
            if name and value > 0:
                places = [f"pair/{name}/friction/{k}" for k in (0, 1)]
                out["pair"].setdefault(value, []).extend(places)
        return {kind: groups for kind, groups in out.items() if groups}

    def _meets(self, geom: int, moving: np.ndarray) -> bool:
        """Whether a geom can touch one of another part, at least one of them moving."""
        model = self.model
        parts = model.body_weldid[model.geom_bodyid]
        fits = (model.geom_contype & model.geom_conaffinity[geom]) != 0
        fits |= (model.geom_conaffinity & model.geom_contype[geom]) != 0
        return bool((fits & (parts != parts[geom]) & (moving | moving[geom])).any())

    def limits(self) -> list[tuple[int, str, str, float]]:
        """Number, kind, name and size of each symmetric limit: of an actuator, or of its joint."""
        out, model = [], self.model
        for i in self.actuators:
            joint = self.joint_of(i)
            own, shared = model.actuator_forcerange[i], model.jnt_actfrcrange[joint]
            if model.actuator_forcelimited[i] and own[0] == -own[1]:
                out.append((i, "actuator", self.actuator(i), float(own[1])))
            elif model.jnt_actfrclimited[joint] and shared[0] == -shared[1]:
                out.append((joint, "joint", self.joint(joint), float(shared[1])))
        return out

    def recorded_peak(self, number: int, kind: str) -> float:
        """Largest recorded force that a limit applies to; 0 where none is recorded."""
        joint = number if kind == "joint" else self.joint_of(number)
        own = actuators_of(self.model, self.dof(joint))
        if kind == "actuator" and len(own) > 1:
            return 0.0
        peak = 0.0
        for group in self.groups:
            for trajectory in group.measured_rollout:
                sensors = torque_sources(group.gt_model, trajectory.sensordata, set())
                column = sensors.sensor_columns.get(self.dof(joint))
                if column is not None:
                    values = np.abs(trajectory.sensordata.data[:, column])
                    # single outliers are no force
                    steady = median_filter(np.nan_to_num(values), _STEADY, mode="nearest")
                    peak = max(peak, float(steady.max()))
        if kind == "joint":
            return peak
        gear = abs(float(self.model.actuator_gear[number, 0]))
        return peak / gear if gear else 0.0

    def peak_of_limit(self, number: int, kind: str) -> float:
        """Largest simulated force that a limit applies to."""
        if kind == "actuator":
            return float(self.force_peak[number])
        return float(self.torque_peak[self.dof(number)])
