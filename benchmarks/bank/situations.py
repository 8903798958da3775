"""Situations of the bank: right models, planted faults of two sizes, and too little data."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from bank.machines import Machine, make_machine, scalar, set_damping
from bank.recorder import Motion, Wiring


@dataclass(frozen=True)
class Situation:
    """A situation.

    Attributes:
      name: name.
      sort: ``"right"``, ``"wrong"`` or ``"little"`` (too little data or excitation).
      machine: kind of machine.
      drive: ``"servo"`` or ``"torque"``.
      plant: changes machine and wiring; takes the size (0 or 1) and random numbers.
      motion: arguments of :meth:`Motion.draw`.
      noise: factor of the noise.
      friction: factor of the dry friction.
      causes: words of which a text that names the cause has one.
    """

    name: str
    sort: str
    machine: str
    drive: str
    plant: "Callable[[Machine, Wiring, int, np.random.Generator], None] | None" = None
    motion: dict[str, object] = field(default_factory=dict)
    noise: float = 1.0
    friction: float = 1.0
    causes: tuple[str, ...] = ()

    def make(self, size: int, rng: np.random.Generator) -> tuple[Machine, Wiring, Motion]:
        """Machine with its fault, wiring, and motion of the recording."""
        machine = make_machine(self.machine, self.drive, rng, friction=self.friction)
        motion = Motion.draw(machine, rng, **self.motion)  # type: ignore[arg-type]
        wiring = Wiring()
        if self.plant is not None:
            self.plant(machine, wiring, size, rng)
        return machine, wiring, motion


def right() -> list[Situation]:
    """Right models."""
    base = [
        Situation(f"{machine} {drive}", "right", machine, drive)
        for machine in ("arm2", "arm3", "leg", "axis", "wrist")
        for drive in ("servo", "torque")
    ]
    arm, torque = base[0], base[1]
    return [
        *base,
        replace(arm, name="arm2 servo 100 Hz", motion={"rate": 100.0, "seconds": 20.0}),
        replace(torque, name="arm2 torque 100 Hz", motion={"rate": 100.0, "seconds": 20.0}),
        replace(arm, name="arm2 servo quiet", noise=0.05),
        replace(arm, name="arm2 servo noisy", noise=10.0),
        replace(torque, name="arm2 torque quiet", noise=0.05),
        replace(torque, name="arm2 torque noisy", noise=5.0),
        replace(arm, name="arm2 servo without dry friction", friction=0.0),
        replace(arm, name="arm2 servo much dry friction", friction=4.0),
        replace(torque, name="arm2 torque much dry friction", friction=4.0),
        replace(arm, name="arm2 servo quantised", plant=_quantised),
        replace(base[2], name="arm3 servo slow", motion={"band": (0.05, 0.5), "seconds": 25.0}),
        replace(base[4], name="leg servo 250 Hz", motion={"rate": 250.0}),
    ]


def wrong() -> list[Situation]:
    """Planted faults; each has two sizes."""
    found = []
    for machine in ("arm2", "arm3", "leg"):
        for drive in ("servo", "torque"):
            found += [
                Situation(
                    f"{machine} {drive} {name}", "wrong", machine, drive, plant, causes=causes
                )
                for name, (plant, causes, drives) in FAULTS.items()
                if drive in drives
            ]
    return found


def little() -> list[Situation]:
    """Too little data or excitation."""
    return [
        Situation("arm2 servo 0.4 s", "little", "arm2", "servo", motion={"seconds": 0.4}),
        Situation("arm2 servo still", "little", "arm2", "servo", motion={"size": 0.002}),
        Situation("arm2 torque still", "little", "arm2", "torque", motion={"size": 0.002}),
        Situation("arm2 torque 0.4 s", "little", "arm2", "torque", motion={"seconds": 0.4}),
    ]


def situations() -> list[Situation]:
    """All situations."""
    return [*right(), *wrong(), *little()]


# --- faults --------------------------------------------------------------------------------------


def _quantised(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del size, rng
    wiring.quantum = 2 * np.pi / 4096


def _inertia(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del wiring
    body = machine.real.bodies[-1]
    body.mass = float(body.mass) * (1 + rng.choice([-1, 1]) * (0.15, 0.3)[size])


def _centre(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del wiring, rng
    body = machine.real.bodies[-1]
    body.ipos = np.asarray(body.ipos) * (1 + (0.2, 0.4)[size])


def _payload(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del wiring, rng
    load = machine.real.bodies[-1].add_body(pos=[0.0, 0.0, -0.2])
    load.explicitinertial = True
    load.mass, load.inertia = (0.1, 0.4)[size], [1e-5, 1e-5, 1e-5]


def _gravity(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del wiring, rng
    angle = (0.05, 0.2)[size]
    machine.real.option.gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def _zero(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    wiring.zero = (0.03, 0.15)[size] * rng.choice([-1.0, 1.0], len(machine.joints))


def _late_command(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del machine, rng
    wiring.late_command = (0.01, 0.04)[size]


def _late_torque(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del machine, rng
    wiring.late_torque = (0.06, 0.3)[size]


def _gain(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del machine, rng
    wiring.gain = (0.75, 0.4)[size]


def _scale(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    scale = np.ones(len(machine.joints))
    scale[rng.integers(len(scale))] = (0.8, 0.5)[size]
    wiring.torque_scale = scale


def _sign(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del size
    wiring.reversed_torque = int(rng.integers(len(machine.joints)))


def _exchanged(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del size, rng
    wiring.exchanged = (len(machine.joints) - 2, len(machine.joints) - 1)


def _exchanged_torques(
    machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator
) -> None:
    del size, rng
    wiring.exchanged_torques = (len(machine.joints) - 2, len(machine.joints) - 1)


def _saturation(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del machine, rng
    wiring.saturation = (0.9, 0.6)[size]


def _clip(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del machine, rng
    wiring.clip = (0.6, 0.35)[size]


def _stale(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del machine, rng
    wiring.stale = (0.1, 0.4)[size]


def _clock(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    del machine, rng
    wiring.clock = (1.03, 1.2)[size]


def _stribeck(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    """Quadratic drag: friction of a shape that the model has not."""
    del wiring, rng
    for joint in machine.real.joints:
        current = np.ravel(np.asarray(joint.damping))
        if current.size > 2:
            joint.damping = [current[0], 0.0, (0.3, 1.0)[size] * current[0]]
        else:
            set_damping(joint, scalar(joint.damping))


def _spring(machine: Machine, wiring: Wiring, size: int, rng: np.random.Generator) -> None:
    """A cable that acts as a spring on the last joint."""
    del wiring, rng
    joint = machine.real.joints[-1]
    current = np.ravel(np.asarray(joint.stiffness))
    value = (0.5, 2.0)[size]
    joint.stiffness = value if current.size == 1 else [value, *current[1:]]


BOTH = ("servo", "torque")
FAULTS: dict[str, tuple[Callable[..., None], tuple[str, ...], tuple[str, ...]]] = {
    "mass": (_inertia, ("mass", "inertia", "gravity", "weight", "payload"), BOTH),
    "centre": (_centre, ("centre", "mass", "inertia", "gravity", "payload"), BOTH),
    "payload": (_payload, ("payload", "mass", "inertia", "gravity"), BOTH),
    "gravity": (_gravity, ("gravity", "zero", "offset", "mass"), BOTH),
    "zero": (_zero, ("zero", "offset"), BOTH),
    "late command": (_late_command, ("delay", "late"), ("servo",)),
    "late torque": (_late_torque, ("delay", "late"), ("torque",)),
    "gain": (_gain, ("gain", "kp"), ("servo",)),
    "torque scale": (_scale, ("scale", "factor", "gear"), ("torque",)),
    "torque sign": (_sign, ("sign",), ("torque",)),
    "exchanged joints": (_exchanged, ("exchang", "order", "swap"), BOTH),
    "exchanged torques": (_exchanged_torques, ("exchang", "order", "swap"), ("torque",)),
    "saturation": (_saturation, ("limit", "saturat"), ("servo",)),
    "clipped commands": (_clip, ("limit", "clip", "range"), ("servo",)),
    "stale frames": (_stale, ("stale", "repeat", "frozen", "same"), BOTH),
    "clock": (_clock, ("time", "clock", "rate"), ("servo",)),
    "drag": (_stribeck, ("square", "quadratic", "drag", "friction", "damping"), BOTH),
    "spring": (_spring, ("spring", "stiff", "cable"), BOTH),
}
"""Faults by name: what plants it, words that name it, and the drives that it is planted in."""
