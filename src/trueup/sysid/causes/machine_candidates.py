"""Candidate causes in the machine other than its joints: gains, zeros, loads, limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from trueup.errors import TargetError
from trueup.parameters import Parameter, ParameterDict
from trueup.simulation.engine.control_layout import control_in_model_order
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.simulation.targets.actuator_targets import actuator_value
from trueup.simulation.targets.actuator_types import (
    actuator_type,
    command_quantity,
    holds_position,
)
from trueup.simulation.targets.resolution import resolve
from trueup.sysid.causes.recording_changes import measured_joints
from trueup.sysid.causes.term_candidates import (
    PREFIX,
    SCALAR,
    TURNS,
    Candidate,
    is_taken,
    taken_entries,
)

GAINS = {
    "position": ("kp",),
    "intvelocity": ("kp",),
    "pid": ("kp", "ki"),
    "velocity": ("kv",),
    "dcmotor": ("kp", "ki"),
    "voltage": ("motorconst", "resistance"),
}
"""Gains by type of actuator; ``voltage`` is a ``dcmotor`` without controller."""

NO_LIMIT = 1e6
"""Limit of a force or a command that represents no limit."""

LOAD = f"{PREFIX}payload on "
"""Prefix of the name of a body that is added as a payload; a body of a model has no such name."""

CENTRE = 0.15
"""Largest shift of a centre of mass [m]."""

_GAIN = 10.0  # largest factor of a gain
_ZERO = {True: 0.3, False: 0.1}  # largest shift of an encoder of a hinge [rad] and of a slide [m]
_SMALLEST_LOAD = 1e-9  # mass of a payload that is not there [kg]; MuJoCo needs a positive one
_LOAD_REACH = 0.6  # largest distance of a payload from the frame of its body [m]
_PLACES = (1.0, 1.6, 2.4)  # places of a payload, in distances of the centre of mass of its body
_WIDER = (1.2, 1.5, 2.0, 3.0)  # of a limit of the model that the simulation reaches
_REACHED = 0.98  # share of a limit above which a force reaches it
_SHARES = (0.98, 0.95, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2)  # of the largest force
_CUTS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)  # of the range of a command


def machine_candidates(
    groups: Sequence[ModelSequences], parameters: ParameterDict
) -> list[Candidate]:
    """Candidates for a simulation, at the values of the model.

    Args:
      groups: the recordings.
      parameters: parameters of the experiment; what they address is no candidate.
    """
    model = groups[0].gt_model
    taken = taken_entries(model, parameters)
    found = [
        *gains(model),
        *zeros(model, measured_joints(groups)),
        *_centres(model, parameters),
    ]
    models = [group.gt_model for group in groups]
    return [
        c
        for c in found
        if not is_taken(model, c.parameter.targets[0], taken) and _is_in_all(models, c)
    ]


def _is_in_all(models: Sequence[mujoco.MjModel], candidate: Candidate) -> bool:
    """Whether every model of the recordings has the target of a candidate."""
    for model in models:
        try:
            resolve(candidate.parameter.targets[0], model, 1, np.full(1, np.inf))
        except TargetError:
            return False
    return True


def gain_names(model: mujoco.MjModel, actuator: int) -> tuple[str, ...]:
    """Attributes of an actuator that are its gains; empty if its gain is ``gainprm/0``."""
    kind = actuator_type(model, actuator)
    if kind == "dcmotor" and command_quantity(model, actuator) == "voltage":
        kind = "voltage"
    return GAINS.get(kind, ())


def _driving(model: mujoco.MjModel) -> list[tuple[int, str, int]]:
    """Number, name and joint of each actuator on a hinge or slide."""
    out = []
    for i in range(model.nu):
        joint = int(model.actuator_trnid[i, 0])
        on_joint = int(model.actuator_trntype[i]) == int(mujoco.mjtTrn.mjTRN_JOINT)
        name = model.actuator(i).name
        if on_joint and name and int(model.jnt_type[joint]) in SCALAR:
            out.append((i, name, joint))
    return out


def gains(model: mujoco.MjModel) -> list[Candidate]:
    """Gains of the actuators on hinges and slides."""
    out = []
    fixed = int(mujoco.mjtGain.mjGAIN_FIXED)
    for i, name, _ in _driving(model):
        own = {a: actuator_value(model, i, a) for a in gain_names(model, i)}
        if not own and int(model.actuator_gaintype[i]) == fixed:
            own = {"gainprm/0": float(model.actuator_gainprm[i, 0])}
        for attribute, value in own.items():
            if value > 0:
                out.append(_scaled("gain", name, f"actuator/{name}/{attribute}", value, _GAIN))
    return out


def zeros(model: mujoco.MjModel, joints: Mapping[str, bool]) -> list[Candidate]:
    """Reference position of measured joints: encoder and controller relative to the links.

    Args:
      model: the model.
      joints: names of hinges and slides, and whether they turn.
    """
    out = []
    for name, turns in joints.items():
        value = float(model.qpos0[model.jnt_qposadr[model.joint(name).id]])
        reach, unit = _ZERO[turns], "rad" if turns else "m"
        target = f"joint/{name}/ref"
        parameter = Parameter(
            PREFIX + target, value, value - reach, value + reach, target=target, unit=unit
        )
        out.append(Candidate("zero", name, parameter))
    return out


def _centres(model: mujoco.MjModel, parameters: ParameterDict) -> list[Candidate]:
    if any(p.inertia_type is not None for p in parameters.values()):
        return []  # links are already parameters
    out = []
    for body, name in _moving_bodies(model):
        for k, axis in enumerate("xyz"):
            value, target = float(model.body_ipos[body, k]), f"body/{name}/ipos/{k}"
            parameter = Parameter(
                PREFIX + target, value, value - CENTRE, value + CENTRE, target=target, unit="m"
            )
            out.append(Candidate("centre", f"{axis} of {name}", parameter))
    return out


def _moving_bodies(model: mujoco.MjModel) -> list[tuple[int, str]]:
    return [
        (b, model.body(b).name)
        for b in range(1, model.nbody)
        if model.body(b).name and model.body_weldid[b] and model.body_mass[b] > 0
    ]


def _scaled(kind: str, where: str, target: str, value: float, factor: float) -> Candidate:
    low, high = value / factor, value * factor
    parameter = Parameter(PREFIX + target, value, low, high, target=target, scale="log")
    return Candidate(kind, where, parameter)


# --- what the model lacks ------------------------------------------------------------------------


@dataclass(frozen=True)
class Addition:
    """Candidates of one kind for which elements are added to the model."""

    candidates: tuple[Candidate, ...]
    load: tuple[str, str, tuple[float, float, float]] | None = None
    """Payload: its name, the body that carries it, and its place in the frame of that body [m]."""
    forces: tuple[str, ...] = ()
    """Actuators with a force limit."""
    commands: tuple[str, ...] = ()
    """Actuators with limits of their command."""


def payloads(
    groups: Sequence[ModelSequences], parameters: ParameterDict, last: bool = True
) -> list[Addition]:
    """A point mass on each link, in a few places along it.

    Args:
      groups: the recordings.
      parameters: parameters of the experiment; with links among them there is no candidate.
      last: only on links that carry no other.
    """
    if any(p.inertia_type is not None for p in parameters.values()):
        return []
    model = groups[0].gt_model
    shared = set.intersection(*({n for _, n in _moving_bodies(g.gt_model)} for g in groups))
    carries = {int(model.body_weldid[model.body_parentid[b]]) for b, _ in _moving_bodies(model)
               if int(model.body_weldid[b]) == b}  # fmt: skip
    total = float(model.body_mass.sum())
    out = []
    for body, name in _moving_bodies(model):
        if (last and body in carries) or int(model.body_weldid[body]) != body or name not in shared:
            continue
        centre = np.array(model.body_ipos[body])
        places = [centre * share for share in _PLACES]
        for number, place in enumerate(places):
            own = f"{LOAD}{name}, {number}"
            mass = Parameter(
                f"{own} mass", _SMALLEST_LOAD, _SMALLEST_LOAD, 3.0 * total,
                target=f"body/{own}/mass", unit="kg",
            )  # fmt: skip
            parts = [Candidate(f"payload-{number}", name, mass)]
            for k, axis in enumerate("xyz"):
                value = float(place[k])
                at = Parameter(
                    f"{own} {axis}", value, value - _LOAD_REACH, value + _LOAD_REACH,
                    target=f"body/{own}/pos/{k}", unit="m",
                )  # fmt: skip
                parts.append(Candidate(f"payload-{number}", f"{axis} of {name}", at, follows=True))
            found = (float(place[0]), float(place[1]), float(place[2]))
            out.append(Addition(tuple(parts), (own, name, found)))
    return out


def limits(
    groups: Sequence[ModelSequences], parameters: ParameterDict, peaks: np.ndarray
) -> list[Addition]:
    """Limits of forces, and of commands of position servos.

    Args:
      groups: the recordings.
      parameters: parameters of the experiment.
      peaks: largest simulated force of each actuator ``(nu,)`` [N m, N].
    """
    model = groups[0].gt_model
    taken = taken_entries(model, parameters)
    spans = command_spans(groups)
    forces, commands = [], []
    shared = set.intersection(*({n for _, n, _ in _driving(g.gt_model)} for g in groups))
    for i, name, joint in _driving(model):
        if name not in shared:
            continue
        unit = "N m" if int(model.jnt_type[joint]) == TURNS else "N"
        if not model.jnt_actfrclimited[joint] and peaks[i] > 0:
            found = _force_limit(model, i, name, float(peaks[i]), unit)
            if found is not None and ("actuator_forcerange", 2 * i) not in taken:
                forces.append(found)
        if holds_position(model, i) and ("actuator_ctrlrange", 2 * i) not in taken:
            commands += command_limits(model, i, name, spans[name])
    out = []
    if forces:
        out.append(Addition(tuple(forces), forces=tuple(c.where for c in forces)))
    if commands:
        names = tuple(dict.fromkeys(c.where for c in commands))
        out.append(Addition(tuple(commands), commands=names))
    return out


def _force_limit(
    model: mujoco.MjModel, actuator: int, name: str, peak: float, unit: str
) -> Candidate | None:
    low, high = model.actuator_forcerange[actuator]
    limit = NO_LIMIT
    if model.actuator_forcelimited[actuator]:
        if low != -high or high <= 0:
            return None
        limit = float(high)
    return force_limit(name, f"actuator/{name}/forcelimit", limit, peak, unit)


def force_limit(name: str, target: str, limit: float, peak: float, unit: str) -> Candidate:
    """Symmetric limit of a force, with start values below the forces of the simulation.

    Args:
      name: actuator or joint.
      target: its limit.
      limit: value in the model; :data:`NO_LIMIT` for none.
      peak: largest simulated force.
      unit: unit of the force.
    """
    parameter = Parameter(
        f"{PREFIX}limit of {name}", limit, 0.02 * min(peak, limit), max(NO_LIMIT, limit),
        target=target, scale="log", unit=unit,
    )  # fmt: skip
    guesses = tuple(share * peak for share in _SHARES if share * peak < limit)
    if peak > _REACHED * limit:
        guesses += tuple(share * limit for share in _WIDER)
    return Candidate("limit", name, parameter, guesses=guesses)


def command_limits(
    model: mujoco.MjModel, actuator: int, name: str, span: tuple[float, float]
) -> list[Candidate]:
    """Smallest and largest command that acts, narrower or wider than in the model.

    Args:
      model: the model.
      actuator: a position servo.
      name: its name.
      span: smallest and largest recorded command.
    """
    low, high = span
    if not high > low:
        return []
    spare = 0.05 * (high - low)  # a limit beyond the commands has no effect
    given = (low - spare, high + spare)
    if model.actuator_ctrllimited[actuator]:
        own = model.actuator_ctrlrange[actuator]
        given = (max(given[0], float(own[0])), min(given[1], float(own[1])))
    unit = (
        "rad" if int(model.jnt_type[int(model.actuator_trnid[actuator, 0])]) == SCALAR[0] else "m"
    )
    cuts = [share * (high - low) for share in _CUTS]
    sides = [
        (
            0,
            [low + cut for cut in cuts] + [low - spare] * (given[0] > low),
            given[0],
            (low - 2.0 * spare, max(high, given[0])),
        ),
        (
            1,
            [high - cut for cut in cuts] + [high + spare] * (given[1] < high),
            given[1],
            (min(low, given[1]), high + 2.0 * spare),
        ),
    ]
    return [
        Candidate(
            "clip",
            name,
            Parameter(
                f"{PREFIX}{'smallest' if not side else 'largest'} command of {name}",
                value, *bounds, target=f"actuator/{name}/ctrlrange/{side}", unit=unit,
            ),
            note=" at least" if not side else " at most",
            guesses=tuple(guesses),
        )
        for side, guesses, value, bounds in sides
    ]  # fmt: skip


def command_spans(groups: Sequence[ModelSequences]) -> dict[str, tuple[float, float]]:
    """Smallest and largest command of each actuator, by name."""
    out: dict[str, tuple[float, float]] = {}
    for group in groups:
        for whole in group.measured_rollout:
            values = control_in_model_order(whole.model, whole.control)
            for i in range(whole.model.nu):
                name = whole.model.actuator(i).name
                low, high = out.get(name, (np.inf, -np.inf))
                own = values[:, i]
                out[name] = (min(low, float(own.min())), max(high, float(own.max())))
    return out


def with_additions(
    groups: Sequence[ModelSequences], additions: Sequence[Addition]
) -> list[ModelSequences]:
    """The same recordings, with the elements of additions in the models."""
    if not additions:
        return list(groups)
    out = []
    for group in groups:
        spec = group.spec.copy()
        for addition in additions:
            if addition.load is not None:
                own, body, place = addition.load
                load = spec.body(body).add_body(name=own, pos=list(place))
                load.explicitinertial = True
                load.ipos = [0.0, 0.0, 0.0]  # without it, MuJoCo takes the place of the body again
                load.mass, load.inertia = _SMALLEST_LOAD, [1e-3 * _SMALLEST_LOAD] * 3
            for name in addition.forces:
                actuator = spec.actuator(name)
                if not group.gt_model.actuator(name).forcelimited[0]:
                    actuator.forcelimited, actuator.forcerange = 1, (-NO_LIMIT, NO_LIMIT)
            for name in addition.commands:
                actuator = spec.actuator(name)
                if not group.gt_model.actuator(name).ctrllimited[0]:
                    actuator.ctrllimited, actuator.ctrlrange = 1, (-NO_LIMIT, NO_LIMIT)
        out.append(
            ModelSequences.from_trajectories(
                group.name, spec, group.sequence_name, group.measured_rollout, True
            )
        )
    return out
