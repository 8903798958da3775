"""Small machines with known truth, and their recordings by simulation.

The model that the user has differs from the machine in armature, damping and friction of the
joints, which are the unknowns, and in what a situation plants on top.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import mujoco
import numpy as np

NOISE = 2e-4  # of an encoder [rad, m]
TORQUE_NOISE = 0.005  # of a torque, as a part of its size


@dataclass(frozen=True)
class Link:
    """A joint with the link that it moves.

    Attributes:
      joint: name.
      axis: axis in MJCF.
      mass: of the link [kg].
      length: of the link, along -z [m].
      rest: pose about which it moves [rad].
      reach: amplitude of its motion [rad].
      armature: true value [kg m^2].
      damping: true value [N m s/rad].
      friction: true value [N m].
      limits: range in the model [rad]; None for none.
    """

    joint: str
    axis: str = "0 1 0"
    mass: float = 1.0
    length: float = 0.25
    rest: float = 0.3
    reach: float = 0.5
    armature: float = 0.04
    damping: float = 0.4
    friction: float = 0.2
    limits: tuple[float, float] | None = None

    @property
    def inertia(self) -> float:
        return self.mass * self.length**2 / 12

    @property
    def body(self) -> str:
        return f"{self.joint}_link"


@dataclass(frozen=True)
class Machine:
    """Chains of links on one base.

    Attributes:
      chains: links from the base outwards, one tuple per chain.
      kp: stiffness of the position servos [N m/rad]; 0: motors.
      kv: their damping [N m s/rad].
      gravity: that acts on the machine [m/s^2].
      step: of the simulation [s].
      integrator: of the simulation; MuJoCo takes Euler for a URDF.
      free: whether the base of the model has a free joint (the machine hangs).
      extra: MJCF sections of model and machine after the bodies (equality, tendon).
      actuators: MJCF of the actuators, in place of one per joint.
    """

    chains: tuple[tuple[Link, ...], ...]
    kp: float = 0.0
    kv: float = 0.0
    gravity: str = "0 0 -9.81"
    step: float = 0.0025
    integrator: str = "implicitfast"
    free: bool = False
    extra: str = ""
    actuators: str = ""

    @property
    def links(self) -> list[Link]:
        return [link for chain in self.chains for link in chain]

    @property
    def truth(self) -> dict[str, float]:
        """True values by joint and attribute: ``{"elbow/armature": 0.04}``."""
        return {
            f"{link.joint}/{name}": getattr(link, attribute)
            for link in self.links
            for name, attribute in (
                ("armature", "armature"), ("damping", "damping"), ("frictionloss", "friction"),
            )
        }  # fmt: skip

    def mjcf(self, real: bool = False, servo: str = "") -> str:
        """The MJCF of the machine, or of its model.

        Args:
          real: the machine, with its true values and a fixed base.
          servo: further attributes of the actuators, such as a force range.
        """
        parts = [
            f'<mujoco><option timestep="{self.step}" gravity="{self.gravity}" '
            f'integrator="{self.integrator}"/><compiler angle="radian" autolimits="true"/>',
            "<worldbody>",
            '<body name="base" pos="0 0 1">',
            "<freejoint/>" if self.free and not real else "",
            '<geom type="box" size=".05 .05 .05" mass="5" contype="0" conaffinity="0"/>',
        ]
        for k, chain in enumerate(self.chains):
            place = f"0 {0.2 * k:g} 0"
            for link in chain:
                parts.append(_body(link, place, real))
                place = f"0 0 {-link.length:g}"
            parts.append("</body>" * len(chain))
        parts += ["</body></worldbody>", self.extra, "<actuator>"]
        parts.append(self.actuators or "".join(self._actuator(n, servo) for n in self.links))
        return "".join([*parts, "</actuator></mujoco>"])

    def _actuator(self, link: Link, servo: str) -> str:
        if not self.kp:
            return f'<motor name="{link.joint}_motor" joint="{link.joint}"/>'
        gains = f'kp="{self.kp:g}" kv="{self.kv:g}" {servo}'
        return f'<position name="{link.joint}_servo" joint="{link.joint}" {gains}/>'

    def urdf(self, kind: str = "revolute", dynamics: str = "") -> str:
        """The model as URDF without actuators; one chain."""
        rows = ['<robot name="arm"><link name="base_link"/>']
        parent, place = "base_link", "0 0 1"
        for link in self.links:
            half, inertia = -link.length / 2, link.inertia
            low, high = link.limits or (-3.1, 3.1)
            limit = f'<limit lower="{low}" upper="{high}" effort="100" velocity="10"/>'
            rows.append(
                f'<link name="{link.body}"><inertial><origin xyz="0 0 {half}"/>'
                f'<mass value="{link.mass}"/><inertia ixx="{inertia}" iyy="{inertia}" '
                f'izz="{inertia / 5}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
                f'<joint name="{link.joint}" type="{kind}"><parent link="{parent}"/>'
                f'<child link="{link.body}"/><origin xyz="{place}"/><axis xyz="{link.axis}"/>'
                f"{limit}{dynamics}</joint>"
            )
            parent, place = link.body, f"0 0 {-link.length}"
        return "\n".join([*rows, "</robot>"])


def _body(link: Link, place: str, real: bool) -> str:
    values = (
        (link.armature, link.damping, link.friction)
        if real
        else (0.5 * link.armature, 0.5 * link.damping, 0.5 * link.friction)
    )
    names = ("armature", "damping", "frictionloss")
    given = " ".join(f'{n}="{v:g}"' for n, v in zip(names, values, strict=True))
    low, high = link.limits or (0, 0)
    limits = f'range="{low} {high}"' if link.limits and not real else ""
    inertia = f"{link.inertia:g} {link.inertia:g} {link.inertia / 5:g}"
    return (
        f'<body name="{link.body}" pos="{place}"><joint name="{link.joint}" axis="{link.axis}" '
        f'{limits} {given}/><inertial pos="0 0 {-link.length / 2:g}" mass="{link.mass:g}" '
        f'diaginertia="{inertia}"/>'
    )


@dataclass
class Log:
    """A recording of a machine.

    Attributes:
      time: ``(n,)`` [s].
      q: measured positions ``(n, joints)`` [rad, m].
      v: measured velocities ``(n, joints)``.
      u: commands of position [rad] or torques [N m] ``(n, joints)``; held until the next sample.
      clean: true positions ``(n, joints)``.
      torque: torque of the actuators ``(n, joints)`` [N m].
    """

    time: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    clean: np.ndarray
    torque: np.ndarray
    names: list[str] = field(default_factory=list)

    def changed(self, **parts: np.ndarray) -> "Log":
        return replace(self, **parts)


def record(
    machine: Machine,
    seed: int,
    seconds: float = 8.0,
    rate: float = 200.0,
    delay: float = 0.0,
    goal: Callable[[float], np.ndarray] | None = None,
    model: mujoco.MjModel | None = None,
    speed: float = 1.0,
) -> Log:
    """Simulate the machine and record it.

    Args:
      machine: machine.
      seed: of motion and noise.
      seconds: length [s].
      rate: of controller and log [Hz].
      delay: of commands before they act [s].
      goal: positions that the controller asks for, by time [s]; None: sums of sines.
      model: the compiled machine, if it is not ``machine.mjcf(real=True)``.
      speed: factor of the frequencies of the motion.
    """
    rng = np.random.default_rng([sum(map(ord, machine.links[0].joint)), seed])
    model = model or mujoco.MjModel.from_xml_string(machine.mjcf(real=True))
    data = mujoco.MjData(model)
    at = [int(model.joint(link.joint).qposadr[0]) for link in machine.links]
    dofs = [int(model.joint(link.joint).dofadr[0]) for link in machine.links]
    goal = goal or waves(machine, rng, speed)
    hold, late = round(1 / (rate * model.opt.timestep)), round(delay / model.opt.timestep)
    assert np.isclose(hold * model.opt.timestep, 1 / rate), "steps between samples are not whole"
    data.qpos[at] = goal(0.0)
    if machine.kp:
        for _ in range(round(2.0 / model.opt.timestep)):
            data.ctrl[:] = goal(0.0)
            mujoco.mj_step(model, data)
    rows, sent, value = [], [], goal(0.0)
    for step in range(round(seconds / model.opt.timestep)):
        if step % hold == 0:
            now = step * model.opt.timestep
            value = goal(now) if machine.kp else _torque(model, data, at, dofs, goal, now)
            mujoco.mj_forward(model, data)
            rows.append((now, data.qpos[at].copy(), data.qvel[dofs].copy(), value.copy(),
                         data.qfrc_actuator[dofs].copy()))  # fmt: skip
        sent.append(value)
        data.ctrl[:] = sent[max(0, step - late)] if late else value
        mujoco.mj_step(model, data)
    time, clean, v, u, torque = (np.array(part) for part in zip(*rows, strict=True))
    q = clean + NOISE * rng.normal(size=clean.shape)
    v = v + 20 * NOISE * rng.normal(size=v.shape)
    if not machine.kp:
        u = u + TORQUE_NOISE * np.std(u, axis=0) * rng.normal(size=u.shape)
    return Log(time, q, v, u, clean, torque, [link.joint for link in machine.links])


def waves(
    machine: Machine, rng: np.random.Generator, speed: float = 1.0
) -> Callable[[float], np.ndarray]:
    """Sums of sines about the rest pose, from rest at time 0."""
    links = machine.links
    rest = np.array([link.rest for link in links])
    reach = np.array([link.reach for link in links])
    frequency = speed * rng.uniform(0.2, 1.2, (4, len(links)))
    phase = rng.uniform(0, 2 * np.pi, (4, len(links)))

    def goal(now: float) -> np.ndarray:
        ramp = min(1.0, max(now, 0.0) / 0.8)
        smooth = ramp * ramp * (3 - 2 * ramp)
        wave = np.sin(2 * np.pi * frequency * now + phase) - np.sin(phase)
        return rest + reach * smooth * wave.sum(axis=0) / 2.5

    return goal


def _torque(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    at: list[int],
    dofs: list[int],
    goal: Callable[[float], np.ndarray],
    now: float,
) -> np.ndarray:
    """Torques of a controller outside of the model."""
    mujoco.mj_forward(model, data)
    wanted = (goal(now) - goal(now - 1e-3)) / 1e-3
    mass = np.array([max(model.dof_M0[d], 1e-3) for d in dofs])
    error, rate = goal(now) - data.qpos[at], wanted - data.qvel[dofs]
    return mass * (150.0 * error + 20.0 * rate) + data.qfrc_bias[dofs]


def write_model(folder: Path, text: str, name: str = "model.xml") -> Path:
    """Write the model as the user has it."""
    path = folder / name
    path.write_text(text)
    return path


def write_table(
    path: Path,
    columns: dict[str, np.ndarray],
    delimiter: str = ",",
    head: Sequence[str] | None = None,
) -> Path:
    """Write columns as text with one line of names."""
    names = list(head if head is not None else columns)
    rows = np.column_stack(list(columns.values()))
    np.savetxt(path, rows, delimiter=delimiter, header=delimiter.join(names), comments="",
               fmt="%.10g")  # fmt: skip
    return path
