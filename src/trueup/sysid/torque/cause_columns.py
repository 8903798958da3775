"""Columns of a torque regressor for values of a model that are not fitted."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass

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

Words = Callable[[np.ndarray], tuple[str, str, str]]
"""Kind, clause and advice for the values of columns."""


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


def columns_of(
    problem: TorqueProblem, x: np.ndarray
) -> Iterator[tuple[str, tuple[Column, ...], Words, float]]:
    """Causes as noun phrases, with their columns, words, and a bound of the first value."""
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
        if fitted or not moves or not model.body_mass[b] > 0:
            continue
        mass, centre = float(model.body_mass[b]), model.body_ipos[b].copy()
        yield f"mass of {name}", (Column("mass", b, name),), _mass(name, mass), -mass
        centres = tuple(Column("centre", b, name, axis) for axis in range(3))
        yield f"centre of mass of {name}", centres, _centre(name, centre), -np.inf
        load = tuple(Column("load", b, name, axis) for axis in range(10))
        yield (
            f"payload on {name}, or its mass and centre",
            load,
            _payload(name, mass, centre),
            -mass,
        )
    if np.any(model.opt.gravity) and not any(t.startswith("option/gravity") for t in targets):
        tilt = tuple(Column("gravity", 0, "", axis) for axis in range(3))
        yield "tilt of gravity", tilt, _gravity(model.opt.gravity.copy()), -np.inf
    for k, (name, dof) in enumerate(zip(joint_names(model, dofs), dofs, strict=True)):
        joint = int(model.dof_jntid[dof])
        turns = int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_HINGE)
        units = ("rad", "N m/rad", "N m") if turns else ("m", "N/m", "N")
        if turns:
            zero = (Column("zero", int(model.jnt_qposadr[joint]), name),)
            yield f"encoder zero of {name}", zero, _zero(name, units[0]), -np.inf
            play = (Column("play", k, name), *zero)
            yield f"backlash in {name}", play, _play(name, units[0]), 0.0
            order = ripple_order(problem, x, k)
            if order:
                ripple = (Column("sine", k, name, order), Column("cosine", k, name, order))
                yield f"cogging of {name}", ripple, _ripple(name, order), -np.inf
        yield f"elasticity of {name}", (Column("elastic", k, name),), _elastic(name), -np.inf
        if f"joint/{name}/stiffness" not in targets:
            spring = (Column("spring", k, name), Column("offset", k, name))
            yield f"spring in {name}", spring, _spring(name, units[1]), -np.inf
        yield (
            f"constant torque in {name}",
            (Column("offset", k, name),),
            _offset(name, units[2]),
            -np.inf,
        )


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
    return (more[:, list(part.sources.dofs)] - part.links) @ parameters_of(part.model)


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
