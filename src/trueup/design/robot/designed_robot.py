"""Robot, controller, sensors and unknowns of an experiment with a designed recording."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from trueup.design.motion.limits import ResolvedLimits, resolve_limits
from trueup.errors import ExperimentError, did_you_mean, listing
from trueup.fitting.uncertainty.gaussian import Gaussian
from trueup.knowledge.belief import Belief
from trueup.parameters import ParameterDict, Space
from trueup.signals import TimeSeries
from trueup.signals.model_signals import OBSERVATION_TYPES, resolve_signals
from trueup.simulation.engine.initial_state import create_initial_state
from trueup.simulation.measured.measurement import MeasurementRules
from trueup.simulation.models.element_names import generated_names
from trueup.simulation.models.sources import model_sources
from trueup.simulation.models.visuals import simulated_spec
from trueup.simulation.targets.actuator_types import holds_position
from trueup.simulation.targets.variants import ModelVariants
from trueup.sysid.experiment.measurement import measurement_rules
from trueup.sysid.experiment.model_loading import load_spec
from trueup.sysid.experiment.settings import Experiment, InitialState, RecordingPart
from trueup.sysid.experiment.unknowns import build_parameters
from trueup.sysid.recordings.channel_units import signal_units
from trueup.sysid.recordings.closed_loops import check_loop_joints

_SETTLE = 3.0  # time of holding the pose before a motion [s]
_SAME_PLACE = 1e-3  # tolerance of equal positions [rad, m]
_SPREAD = 8.0  # range over standard deviation of draws without a run


@dataclass
class DesignedRobot:
    """Robot of a design."""

    experiment: Experiment
    folder: Path
    spec: Any
    model: mujoco.MjModel
    """Model at the estimate."""
    parameters: ParameterDict
    """Unknowns at the estimate, without initial states."""
    rules: MeasurementRules
    signals: tuple[str, ...]
    """Signals of the recording."""
    joints: tuple[str, ...]
    """Moving joints."""
    actuators: tuple[int, ...]
    """Position servos that move them."""
    gears: np.ndarray
    """Ratio of control to position of each ``(n,)``."""
    pose: np.ndarray
    """Commanded position at both ends ``(n,)``."""
    state: np.ndarray
    """Full-physics state at rest in the pose."""
    limits: ResolvedLimits
    draws: np.ndarray
    """Robots that the design must suit ``(draws, p)``; the first is the estimate."""
    known: np.ndarray
    """Precision matrix of the knowledge of a run ``(p, p)`` in search coordinates; zero without a
    run."""
    inputs: list[Path]
    notes: list[str]

    @property
    def space(self) -> Space:
        """The unknowns."""
        return self.parameters.space()

    @property
    def part(self) -> RecordingPart:
        """Recording of the experiment that is the template of the next one."""
        return self.experiment.recordings[0]

    def positions(self, qpos: np.ndarray) -> np.ndarray:
        """Positions of the moving joints ``(..., n)`` from ``(..., nq)``."""
        return qpos[..., [int(self.model.joint(j).qposadr[0]) for j in self.joints]]

    def speeds(self, qvel: np.ndarray) -> np.ndarray:
        """Speeds of the moving joints ``(..., n)`` from ``(..., nv)``."""
        return qvel[..., [int(self.model.joint(j).dofadr[0]) for j in self.joints]]

    def controls(self, commands: np.ndarray) -> np.ndarray:
        """Control of each simulation step ``(m, steps, nu)`` of commands ``(m, samples, n)``."""
        step, rate = float(self.model.opt.timestep), self.experiment.design.rate
        samples = commands.shape[1]
        steps = round(samples / rate / step)
        out = np.zeros((len(commands), steps, self.model.nu))
        if self.experiment.control == "linear":
            place = np.clip(np.arange(steps) * step * rate, 0, samples - 1)
            first = np.minimum(place.astype(int), max(samples - 2, 0))
            share = (place - first)[:, None]
            later = commands[:, np.minimum(first + 1, samples - 1)]
            driven = (1 - share) * commands[:, first] + share * later
        else:
            # a command takes effect at the nearest step, as in a fit
            at = ((np.arange(steps) + 0.499) * step * rate).astype(int)
            driven = commands[:, np.clip(at, 0, samples - 1)]
        out[..., list(self.actuators)] = driven * self.gears
        return out


def designed_robot(
    experiment: Experiment,
    folder: Path,
    seed: int,
    estimate: np.ndarray | None = None,
    known: Gaussian | None = None,
) -> DesignedRobot:
    """Robot from model, controller and unknowns; reads no recording.

    Args:
      experiment: the experiment; its first recording defines signals and actuators of the next
        one, and its file need not exist.
      folder: base folder of its file names.
      seed: seed of the draws.
      estimate: values ``(p,)`` of a finished run; None: start values.
      known: knowledge of that run.

    Raises:
      ExperimentError: the controller is not in the model, or the limits exclude any motion.
      ModelError, TargetError: as in a fit.
    """
    part = experiment.recordings[0]
    if part.model not in (None, "model"):
        raise ExperimentError(
            f"the first recording uses the model variant {part.model!r}; a design requires the "
            "main model"
        )
    full = load_spec(experiment.model, folder)
    inputs = model_sources(folder / experiment.model.file)
    targets = [p.target for p in experiment.parameters.values()]
    named = [t for given in targets for t in (given if isinstance(given, list) else [given]) if t]
    spec = simulated_spec(full, named)
    compiled = spec.copy().compile()
    _check_base(compiled)
    parameters = ParameterDict(
        {
            name: parameter
            for name, parameter in build_parameters(experiment.parameters, spec, compiled).items()
            if not any(target.startswith("state/") for target in parameter.targets)
        }
    )
    space = parameters.space()
    if not space.size:
        raise ExperimentError("no parameter is free: a design requires at least one unknown")
    start = space.start if estimate is None else np.clip(estimate, space.lower, space.upper)
    parameters.update_from_vector(start)
    model = ModelVariants(spec, parameters).model_at(start)
    rules = measurement_rules(experiment.measurement, parameters)
    joints, actuators, gears = _servos(model, part)
    pose = _pose(experiment, compiled, joints)
    limits = resolve_limits(experiment.design.limits, compiled, joints, actuators, pose)
    notes = _notes(experiment, limits, compiled)
    state = _settled(model, joints, actuators, gears, pose)
    spec, model = _without_contact(spec, model, parameters, state, (joints, actuators, gears, pose))
    signals = _signals(model, part, joints, experiment)
    blank = np.zeros(
        (2, sum(len(c) for _, c in resolve_signals(model, signals, OBSERVATION_TYPES).values()))
    )
    check_loop_joints(
        "the next recording",
        model,
        TimeSeries.from_names(np.arange(2.0), blank, model, list(signals)),
    )
    precision = np.zeros((space.size,) * 2) if known is None else known.precision
    draws = _draws(space, start, known, experiment.design.draws, seed)
    return DesignedRobot(
        experiment,
        folder,
        spec,
        model,
        parameters,
        rules,
        signals,
        joints,
        actuators,
        gears,
        pose,
        state,
        limits,
        draws,
        precision,
        inputs,
        notes,
    )


def signal_unit_list(robot: DesignedRobot) -> dict[str, str]:
    """Unit by signal."""
    return dict(zip(robot.signals, signal_units([robot.model], robot.signals), strict=True))


def given_noise(experiment: Experiment, signal: str) -> float | None:
    """Standard deviation of a signal from the experiment; None if it has none."""
    found = None
    for pattern, part in experiment.measurement.signals.items():
        if fnmatchcase(signal, pattern):
            found = part.noise
    return found


def _check_base(model: mujoco.MjModel) -> None:
    if (model.jnt_type == int(mujoco.mjtJoint.mjJNT_FREE)).any():
        raise ExperimentError(
            "the model has a free joint, but a design requires a robot that hangs or is "
            "clamped: write  base: fixed  under model"
        )


def _servos(
    model: mujoco.MjModel, part: RecordingPart
) -> tuple[tuple[str, ...], tuple[int, ...], np.ndarray]:
    """Joints that move, their position servos, and ratio of control to position of each."""
    names = [model.actuator(i).name for i in range(model.nu)]
    unknown = [a for a in part.controls if a not in names]
    if unknown:
        raise ExperimentError(
            f"the controller {unknown[0]!r} is not in the model; actuators are "
            f"{listing(names)}.{did_you_mean(unknown[0], names)}"
        )
    chosen = [i for i, name in enumerate(names) if not part.controls or name in part.controls]
    joints, gears, others = [], [], []
    scalar = (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE))
    kept = []
    for i in chosen:
        joint = int(model.actuator_trnid[i, 0])
        on_joint = model.actuator_trntype[i] == int(mujoco.mjtTrn.mjTRN_JOINT)
        if not (on_joint and holds_position(model, i)) or model.jnt_type[joint] not in scalar:
            others.append(names[i])
            continue
        kept.append(i)
        joints.append(model.joint(joint).name)
        gears.append(float(model.actuator_gear[i, 0]))
    if (others and part.controls) or not kept:
        raise ExperimentError(
            f"{listing(others or names) or 'the model'} is not a position servo of a joint, so the "
            "controller of the recording is not in the model: add it with  model: "
            "{actuators: position, kp: ..., kd: ...}, the gains of the robot's own controller"
        )
    return tuple(joints), tuple(kept), np.array(gears)


def _signals(
    model: mujoco.MjModel, part: RecordingPart, joints: Sequence[str], experiment: Experiment
) -> tuple[str, ...]:
    signals = tuple(part.signals) or tuple(f"{joint}_qpos" for joint in joints)
    resolve_signals(model, signals, OBSERVATION_TYPES)
    kinds = ("signals", "delays", "gains", "biases")
    for kind in kinds:
        for pattern in getattr(experiment.measurement, kind):
            if not any(fnmatchcase(s, pattern) for s in signals):
                raise ExperimentError(
                    f"measurement.{kind}: {pattern!r} matches no signal; available: "
                    f"{listing(signals)}.{did_you_mean(pattern, signals)}"
                )
    return signals


def _pose(experiment: Experiment, model: mujoco.MjModel, joints: Sequence[str]) -> np.ndarray:
    """Commanded position at both ends: given, from recording or keyframe, or the default."""
    given = dict(experiment.design.pose)
    unknown = [name for name in given if name not in joints]
    if unknown:
        raise ExperimentError(
            f"design.pose: unknown joint {unknown[0]!r}; moving joints are {listing(joints)}."
            f"{did_you_mean(unknown[0], joints)}"
        )
    initial = experiment.recordings[0].initial
    default = model.key_qpos[0] if model.nkey else model.qpos0
    pose = []
    for joint in joints:
        element = model.joint(joint)
        value = float(default[int(element.qposadr[0])])
        if element.limited[0]:
            low, high = element.range
            # a pose on a limit allows motion to one side only
            value = float(np.clip(value, low + 0.2 * (high - low), high - 0.2 * (high - low)))
        if isinstance(initial, InitialState):
            value = initial.qpos.get(joint, value)
        pose.append(given.get(joint, value))
    return np.array(pose)


def _settled(
    model: mujoco.MjModel,
    joints: Sequence[str],
    actuators: Sequence[int],
    gears: np.ndarray,
    pose: np.ndarray,
) -> np.ndarray:
    """State at rest while the controller holds the pose."""
    data = mujoco.MjData(model)
    data.qpos[[int(model.joint(j).qposadr[0]) for j in joints]] = pose
    data.ctrl[list(actuators)] = pose * gears
    mujoco.mj_step(model, data, round(_SETTLE / model.opt.timestep))
    return create_initial_state(model, data.qpos, np.zeros(model.nv), held=True)


def _without_contact(
    spec: Any, model: mujoco.MjModel, parameters: ParameterDict, state: np.ndarray, servos: Any
) -> tuple[Any, mujoco.MjModel]:
    """The model without contacts, if no contact in the pose supports a joint.

    A motion with clearance has no contacts, and collision detection takes most of the time.
    """
    free = spec.copy()
    free.option.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    compiled = ModelVariants(free, parameters).model_at(parameters.as_vector())
    same = np.allclose(_settled(compiled, *servos), state, atol=_SAME_PLACE, equal_nan=True)
    return (free, compiled) if same else (spec, model)


def _draws(
    space: Space, start: np.ndarray, known: Gaussian | None, count: int, seed: int
) -> np.ndarray:
    """The estimate, then draws from the uncertainty of a run or a part of the bounds."""
    rng = np.random.default_rng(seed)
    lower, upper = space.search_bounds
    centre = space.to_search(start)
    if known is not None:
        belief = Belief(space.names, known.centre, known.precision, lower, upper)
    else:
        with np.errstate(invalid="ignore"):
            span = upper - lower
        size = np.where(np.isfinite(span), span, np.maximum(np.abs(centre), 1e-3)) / _SPREAD
        belief = Belief(space.names, centre, np.diag(size**-2.0), lower, upper)
    if count == 1:
        return start[None, :]
    return np.vstack([start, space.from_search(belief.draw(count - 1, rng))])


def _notes(experiment: Experiment, limits: ResolvedLimits, model: mujoco.MjModel) -> list[str]:
    part, notes = experiment.design.limits, generated_names(model)
    if part.speed is None:
        notes.append("No speed limit is given: 2 rad/s (m/s) is used.")
    if part.acceleration is None:
        notes.append("No acceleration limit is given: 20 rad/s^2 (m/s^2) is used.")
    endless = [j for j, t in zip(limits.joints, limits.torque, strict=True) if not np.isfinite(t)]
    if endless:
        notes.append(
            f"Neither the model nor the experiment limits the torque of {listing(endless)}."
        )
    if not np.isfinite(limits.torque_rms).any():
        notes.append("No thermal limit (torque_rms) is given.")
    return notes
