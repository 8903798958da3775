"""Columns of a torque regressor for values of a model that are not fitted."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from scipy.interpolate import CubicSpline

from trueup.sysid.torque.data import TorqueData, joint_names
from trueup.sysid.torque.link_regressor import link_parameters, link_regressor, parameters_of
from trueup.sysid.torque.problem import TorqueProblem

_SMALL = 1e-4  # step of a difference of regressors [rad], or relative to gravity
_ALIKE = 0.05  # change of a mass, relative to it, below which only its centre differs
_IN_MODEL = "Set its value in the model, or estimate it."
_PRESSED = 0.1  # share of the spread of a load above which it presses the link to one side
_ORDERS = 60  # most periods of a ripple in a turn
_LOAD = "Add it to the model, or take it off and record again."

_PLAY = (1e-4, 0.2)  # half of a backlash [rad]: encoders resolve no less, and gears have no more
_TURN = 1.0  # largest error of an encoder zero that is linear in it [rad]
_GRAVITY = (0.7, 1.3)  # size of a tilted gravity relative to the given one
_SCALE = (1e-4, 1e4)  # size of the factor of a torque: of units, gears, torque constants

Words = Callable[[np.ndarray], tuple[str, str, str]]
"""Kind, clause and advice for the values of columns."""

Torques = Callable[[Any, np.ndarray], np.ndarray]
"""Applied torque ``(T, dofs)`` of a sequence and its recorded one, without the fault."""


@dataclass(frozen=True)
class Column:
    """Torque residual per unit of a value: of a joint, of a body, or of gravity."""

    kind: str
    index: int
    name: str
    axis: int = 0

    def of(self, part: TorqueData, applied: np.ndarray) -> np.ndarray:
        """Change of applied minus needed torque per unit ``(T, dofs)``."""
        if self.kind in ("scale", "spring", "offset"):
            out = np.zeros_like(applied)
            dof = part.sources.dofs[self.index]
            address = int(part.model.jnt_qposadr[int(part.model.dof_jntid[dof])])
            out[:, self.index] = {
                "scale": applied[:, self.index],
                "spring": -part.motion.qpos[:, address],
                "offset": np.ones(len(applied)),
            }[self.kind]
            return out
        if self.kind == "zero":
            zero = part.model.qpos0.copy()
            zero[self.index] += _SMALL
            moved = part.regressor(zero) - part.links
            return -moved @ parameters_of(part.model) / _SMALL
        if self.kind == "gravity":
            return -_of_gravity(part, self.axis)
        if self.kind in ("elastic", "play", "sine", "cosine"):
            return self._of_drive(part)
        return -part.links @ _change(part.model, self.kind, self.index, self.axis)

    def _of_drive(self, part: TorqueData) -> np.ndarray:
        """Column of the drive of one joint ``(T, dofs)``: elasticity, play, cogging."""
        motion, dof = part.motion, part.sources.dofs[self.index]
        address = int(part.model.jnt_qposadr[int(part.model.dof_jntid[dof])])
        out = np.zeros((len(motion.times), len(part.sources.dofs)))
        if self.kind in ("sine", "cosine"):
            wave = np.sin if self.kind == "sine" else np.cos
            out[:, self.index] = wave(self.axis * motion.qpos[:, address])
            return out
        load = (part.links @ parameters_of(part.model))[:, self.index]
        if self.kind == "play":
            # the link lies at the end of the play to which its load presses it
            side = np.tanh(load / max(_PRESSED * float(np.std(load)), 1e-12))
            zero = part.model.qpos0.copy()
            zero[address] += _SMALL
            moved = (part.regressor(zero) - part.links) @ parameters_of(part.model) / _SMALL
            return moved * side[:, None]
        # the link lags behind by its load over the stiffness, and accelerates by its second slope
        for _ in range(2):
            load = np.asarray(CubicSpline(motion.times, load)(motion.times, 1))
        out[:, self.index] = load
        return out


def ripple_order(problem: TorqueProblem, x: np.ndarray, joint: int) -> int:
    """Periods a turn of the ripple that explains most of the torque error of a joint.

    Args:
      problem: the torque problem.
      x: values ``(p,)``.
      joint: index of the joint among those with a torque.
    """
    off, angles = [], []
    for sequence, (applied, needed) in zip(
        problem.sequences, problem.predictions(x[None]), strict=True
    ):
        part = sequence.data
        dof = part.sources.dofs[joint]
        address = int(part.model.jnt_qposadr[int(part.model.dof_jntid[dof])])
        counts = part.counts[:, joint] > 0
        off.append((applied - needed)[0, counts, joint])
        angles.append(part.motion.qpos[counts, address])
    error, angle = np.concatenate(off), np.concatenate(angles)
    span = float(np.ptp(angle))
    # at least one period within the motion: a longer one is a spring or a wrong mass
    orders = np.arange(max(int(np.ceil(2 * np.pi / max(span, 1e-9))), 2), _ORDERS + 1)
    if not len(orders):
        return 0
    waves = np.exp(1j * orders[:, None] * angle)
    return int(orders[np.argmax(np.abs(waves @ (error - error.mean())))])


def _is_any(values: np.ndarray) -> bool:
    """Whether values of columns are physical, for those that have no limit."""
    return bool(np.isfinite(values).all())


@dataclass(frozen=True)
class Candidate:
    """A cause to test: columns that it frees, or other torques."""

    cause: str
    """The cause as a noun phrase."""
    words: Words
    columns: tuple[Column, ...] = ()
    torques: Torques | None = None
    is_physical: Callable[[np.ndarray], bool] = _is_any
    """Whether the values of its columns are those of a machine."""
    by_first: bool = False
    """Whether the first column is the cause, and the others only have to be free with it."""


def columns_of(problem: TorqueProblem, x: np.ndarray) -> Iterator[Candidate]:
    """Causes that are values of the model.

    Args:
      problem: the torque problem.
      x: values ``(p,)``.
    """
    part = problem.sequences[0].data
    model, dofs = part.model, part.sources.dofs
    if any(s.data.sources.dofs != dofs for s in problem.sequences):
        return
    targets = [t for p in problem.parameters.values() for t in p.targets]
    bodies = {p.inertia_body for p in problem.parameters.values() if p.inertia_type is not None}
    for b in range(1, model.nbody):
        name = str(model.body(b).name or f"body {b}")
        fitted = name in bodies or any(t.startswith(f"body/{name}/") for t in targets)
        moves = any(
            np.abs(s.data.links[:, :, 10 * b : 10 * b + 10]).max() > 1e-9 for s in problem.sequences
        )
        if not fitted and moves and model.body_mass[b] > 0:
            yield from _of_body(model, b, name)
    if np.any(model.opt.gravity) and not any(t.startswith("option/gravity") for t in targets):
        tilt = tuple(Column("gravity", 0, "", axis) for axis in range(3))
        given = model.opt.gravity.copy()
        yield Candidate("tilt of gravity", _gravity(given), tilt, is_physical=_is_tilt(given))
    for k, (name, dof) in enumerate(zip(joint_names(model, dofs), dofs, strict=True)):
        joint = int(model.dof_jntid[dof])
        turns = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_HINGE)
        units = ("rad", "N m/rad", "N m") if turns else ("m", "N/m", "N")
        if turns:
            zero = (Column("zero", int(model.jnt_qposadr[joint]), name),)
            yield Candidate(
                f"encoder zero of {name}", _zero(name, units[0]), zero, is_physical=_is_zero
            )
            play = (Column("play", k, name), *zero)
            yield Candidate(
                f"backlash in {name}",
                _play(name, units[0]),
                play,
                is_physical=_is_play,
                by_first=True,
            )
            order = ripple_order(problem, x, k)
            if order:
                ripple = (Column("sine", k, name, order), Column("cosine", k, name, order))
                yield Candidate(f"cogging of {name}", _ripple(name, order), ripple)
        # the inertia of a link over a stiffness is positive
        elastic = (Column("elastic", k, name),)
        yield Candidate(
            f"elasticity of {name}", _elastic(name), elastic, is_physical=_is_above(0.0)
        )
        if f"joint/{name}/stiffness" not in targets:
            spring = (Column("spring", k, name), Column("offset", k, name))
            given = float(np.ravel(model.jnt_stiffness[joint])[0])
            yield Candidate(
                f"spring in {name}",
                _spring(name, units[1]),
                spring,
                is_physical=_is_above(-given),
                by_first=True,
            )
        offset = (Column("offset", k, name),)
        yield Candidate(f"constant torque in {name}", _offset(name, units[2]), offset)


def _of_body(model: mujoco.MjModel, body: int, name: str) -> Iterator[Candidate]:
    """Causes that are values of one body."""
    mass, centre = float(model.body_mass[body]), model.body_ipos[body].copy()
    weight = (Column("mass", body, name),)
    yield Candidate(f"mass of {name}", _mass(name, mass), weight, is_physical=_is_above(-mass))
    centres = tuple(Column("centre", body, name, axis) for axis in range(3))
    yield Candidate(f"centre of mass of {name}", _centre(name, centre), centres)
    load = tuple(Column("load", body, name, axis) for axis in range(10))
    yield Candidate(
        f"payload on {name}, or its mass and centre",
        _payload(name, mass, centre),
        load,
        is_physical=_is_above(-mass),
    )


def _is_above(limit: float) -> Callable[[np.ndarray], bool]:
    return lambda values: bool(values[0] > limit)


def _is_tilt(given: np.ndarray) -> Callable[[np.ndarray], bool]:
    size = float(np.linalg.norm(given))
    return lambda values: bool(
        _GRAVITY[0] * size < np.linalg.norm(given + values) < _GRAVITY[1] * size
    )


def _is_zero(values: np.ndarray) -> bool:
    return bool(abs(values[0]) < _TURN)


def _is_play(values: np.ndarray) -> bool:
    return bool(_PLAY[0] < values[0] < _PLAY[1] and abs(values[1]) < _TURN)


def is_scale(values: np.ndarray) -> bool:
    """Whether one plus a value is the factor of a recorded torque."""
    return bool(_SCALE[0] < abs(1.0 + values[0]) < _SCALE[1])


def _change(model: mujoco.MjModel, kind: str, body: int, axis: int) -> np.ndarray:
    """Change of all link parameters per unit of a value of one body ``(10 nbody,)``."""
    out = np.zeros(10 * model.nbody)
    if kind == "load":
        out[10 * body + axis] = 1.0  # mass, first moments and moments of inertia add up
        return out
    mass, ipos = model.body_mass.copy(), model.body_ipos.copy()
    step = _SMALL
    if kind == "mass":
        mass[body] += step
    else:
        ipos[body, axis] += step
    moved = link_parameters(
        mass[None], ipos[None], model.body_iquat[None], model.body_inertia[None]
    )[0]
    return (moved - parameters_of(model)) / step


def _of_gravity(part: TorqueData, axis: int) -> np.ndarray:
    """Torque per unit of gravity along an axis ``(T, dofs)``."""
    model = copy(part.model)
    model.opt.gravity[axis] += 1.0
    motion = part.motion
    more = link_regressor(model, motion.qpos, motion.qvel, motion.qacc)
    return (part.on_rows(more) - part.links) @ parameters_of(part.model)


def _mass(name: str, given: float) -> Words:
    return lambda v: (
        "mass",
        f"The mass of {name} is {given + v[0]:.3g} kg rather than {given:.3g} kg, or its gravity "
        "and inertia differ likewise",
        f"Weigh the part. {_IN_MODEL}",
    )


def _centre(name: str, given: np.ndarray) -> Words:
    return lambda v: (
        "centre",
        f"The centre of mass of {name} is at {_place(given + v)} m rather than {_place(given)} m",
        _IN_MODEL,
    )


def _payload(name: str, mass: float, centre: np.ndarray) -> Words:
    def words(v: np.ndarray) -> tuple[str, str, str]:
        whole = mass + float(v[0])
        place = _place((mass * centre + v[1:4]) / whole)
        if abs(v[0]) < _ALIKE * mass:
            return (
                "centre",
                f"The centre of mass of {name} is at {place} m rather than {_place(centre)} m",
                _IN_MODEL,
            )
        if v[0] > 0:
            return (
                "payload",
                f"A payload of {v[0]:.3g} kg on {name}, at {_place(v[1:4] / v[0])} m, is missing",
                _LOAD,
            )
        return (
            "mass",
            f"The mass of {name} is {whole:.3g} kg rather than {mass:.3g} kg, with its centre at "
            f"{place} m",
            f"Weigh the part. {_IN_MODEL}",
        )

    return words


def _gravity(given: np.ndarray) -> Words:
    def words(v: np.ndarray) -> tuple[str, str, str]:
        found = given + v
        cosine = found @ given / max(float(np.linalg.norm(found) * np.linalg.norm(given)), 1e-300)
        angle = float(np.arccos(np.clip(cosine, -1.0, 1.0)))
        return (
            "gravity",
            f"Gravity is tilted by {angle:.2g} rad, to {_place(found)} m/s^2",
            "Level the base, or set gravity in the options of the model.",
        )

    return words


def _zero(name: str, unit: str) -> Words:
    return lambda v: (
        "zero",
        f"The encoder zero of {name} is off by {v[0]:.2g} {unit}",
        "Drive the joint to a stop or a level and compare the angle with the model.",
    )


def _play(name: str, unit: str) -> Words:
    return lambda v: (
        "backlash",
        f"The gear of {name} has backlash of about {2 * abs(v[0]):.2g} {unit}",
        "Preload the gear, or model the play: inverse dynamics knows the link only by its motor.",
    )


def _ripple(name: str, order: int) -> Words:
    return lambda v: (
        "cogging",
        f"A cogging torque of {np.hypot(v[0], v[1]):.2g} N m, {order} times a turn of {name}, is "
        "missing",
        "Correct the recorded torque by it, or average it out with longer motions.",
    )


def _elastic(name: str) -> Words:
    return lambda v: (
        "elasticity",
        f"The drive of {name} is elastic: its link lags behind the encoder by its load",
        "Model a joint with stiffness between motor and link, or record the motion of the link.",
    )


def _spring(name: str, unit: str) -> Words:
    return lambda v: (
        "stiffness",
        f"A spring of {v[0]:.3g} {unit} in {name} is missing, such as a cable",
        _IN_MODEL,
    )


def _offset(name: str, unit: str) -> Words:
    return lambda v: (
        "offset",
        f"A constant torque of {-v[0]:.3g} {unit} in {name} is missing, or its recorded torque has "
        "that offset",
        _IN_MODEL,
    )


def _place(values: np.ndarray) -> str:
    return f"({', '.join(f'{round(float(v), 3) + 0.0:.2g}' for v in values)})"
