"""Right models of identifications: whatever is found wrong with them is a false alarm."""

from dataclasses import replace

import numpy as np

from bank.identification import Identification, Setup
from bank.published import LEAST

ARMS = ("arm2", "arm3", "leg", "wrist")
"""Machines that situations take in turn."""
SLOW = {"band": (0.1, 0.7), "size": 0.6}
"""Motion that published robots follow within their torques."""
FAST = 500.0
"""Rate of the logs of torques whose situations have the names of their robots [Hz]."""


def situations() -> list[Identification]:
    """Right models by simulation, by torque, and published robots by the default path."""
    return [*by_simulation(), *by_torque(), *published()]


def by_simulation() -> list[Identification]:
    """Position servos of known gains, recorded by commands and angles."""
    plain = Identification(name="plain", machines=ARMS, drive="servo")
    return [
        plain,
        replace(plain, name="axis", machines=("axis",)),
        replace(plain, name="cart with boom", machines=("cart",)),
        replace(plain, name="100 Hz", motion={"rate": 100.0}),
        replace(plain, name="1 kHz", options={"step": 0.001}, motion={"rate": 1000.0}),
        replace(plain, name="nearly noise-free", noise=0.05),
        replace(plain, name="noisy", noise=10.0),
        replace(plain, name="quantised", plant=quantised),
        replace(plain, name="without dry friction", options={"friction": 0.0}),
        replace(plain, name="much dry friction", options={"friction": 4.0}),
        replace(plain, name="hard dry friction", options={"hard": True}),
        replace(plain, name="slow", motion={"band": (0.05, 0.5), "seconds": 20.0}),
        replace(plain, name="windows", plant=windows),
        replace(plain, name="lost frames", plant=lost_frames),
        replace(plain, name="spikes", plant=spikes),
        replace(plain, name="delay, from a pose with gravity", plant=delay,
                options={"buffer": True}, machines=("arm2", "leg")),
        replace(plain, name="encoder zeros", plant=zeros, machines=("arm2", "leg")),
        replace(plain, name="finger that touches the ground", machines=("finger",)),
        replace(plain, name="hanging quadruped", machines=("quadruped",),
                motion={"rate": 250.0, "seconds": 8.0}),
    ]  # fmt: skip


def by_torque() -> list[Identification]:
    """Motors, recorded by torques and angles."""
    plain = Identification(name="plain", machines=ARMS, drive="torque")
    return [
        plain,
        replace(plain, name="axis", machines=("axis",)),
        replace(plain, name="cart with boom", machines=("cart",)),
        replace(plain, name="100 Hz", motion={"rate": 100.0, "seconds": 20.0}),
        replace(plain, name="1 kHz", options={"step": 0.001}, motion={"rate": 1000.0}),
        replace(plain, name="nearly noise-free", noise=0.05),
        replace(plain, name="noisy", noise=5.0),
        replace(plain, name="much dry friction", options={"friction": 4.0}),
        replace(plain, name="hard dry friction", options={"hard": True}),
        replace(plain, name="lost frames", plant=lost_frames),
        replace(plain, name="spikes", plant=spikes),
        replace(plain, name="seven joints, links with priors", machines=("arm7",), plant=links),
    ]


def published() -> list[Identification]:
    """Published robots; nothing that ``import`` wrote is edited."""
    servos = [
        Identification(
            name=robot,
            machines=(robot,),
            drive="servo",
            motion={**SLOW, "rate": 100.0, "seconds": 8.0},
        )
        for robot in ("fr3", "z1", "hc20", "iiwa14")
    ]
    late = [
        Identification(
            name=f"{robot}, late and turned",
            machines=(robot,),
            drive="servo",
            plant=late_and_turned,
            motion={**SLOW, "rate": 100.0, "seconds": 12.0},
        )
        for robot in ("z1", "hc20", "iiwa14")
    ]
    return [*servos, *late, *published_by_torque()]


def published_by_torque() -> list[Identification]:
    """Published robots with motors; a gripper on a tendon is not measured, and one on a motor in
    one of two situations."""
    return [
        Identification(
            name=robot
            + ("" if rate == FAST else f", {rate:g} Hz")
            + ("" if whole else ", no gripper"),
            machines=(robot,),
            drive="torque",
            motion={**SLOW, "rate": rate, "seconds": 12.0},
            # 200 Hz is no whole number of the robots' own steps
            options={"gripper": whole, "step": None if rate == FAST else 0.001},
        )
        for robot in LEAST
        for rate in (FAST, 200.0)
        for whole in ((True, False) if robot == "z1" else (True,))
    ]


# --- what is edited, or true, in them -------------------------------------------------------------


def quantised(setup: Setup, size: int, rng: np.random.Generator) -> None:
    """Encoders of 4096 counts."""
    del size, rng
    setup.wiring.quantum = 2 * np.pi / 4096


def lost_frames(setup: Setup, size: int, rng: np.random.Generator) -> None:
    """A bus that loses a fifth of the frames of each motor, which are logged again."""
    del size, rng
    setup.machine.kind = replace(setup.machine.kind, velocities=True)
    setup.wiring.frames = 0.2


def spikes(setup: Setup, size: int, rng: np.random.Generator) -> None:
    """A dozen samples of each position with the bytes of another frame."""
    del size, rng
    setup.wiring.spikes = 12


def windows(setup: Setup, size: int, rng: np.random.Generator) -> None:
    """Windows of half a second."""
    del size, rng
    setup.edits.append((r"(?m)^window: .*", "window: 0.5"))


def delay(setup: Setup, size: int, rng: np.random.Generator) -> None:
    """A delay of each servo, which is an unknown."""
    del size
    machine = setup.machine
    for actuator in machine.real.actuators:
        actuator.delay = rng.uniform(0.005, 0.03)
        machine.truth[f"{actuator.name}_delay"] = actuator.delay
    setup.add_unknowns(
        [
            f"{a.name}_delay: {{target: actuator/{a.name}/delay, start: 0.01, "
            f"bounds: [{machine.step}, 0.05], unit: s}}"
            for a in machine.real.actuators
        ]
    )
    setup.edits.append((r"(?m)(^  command_delay: .*\n)|\Z", ""))


def zeros(setup: Setup, size: int, rng: np.random.Generator) -> None:
    """Zeros of the encoders, which ``import`` makes unknowns."""
    del size
    machine = setup.machine
    for joint in machine.real.joints:
        joint.ref = rng.uniform(-0.05, 0.05)
        machine.truth[f"{joint.name}_zero"] = joint.ref


def late_and_turned(setup: Setup, size: int, rng: np.random.Generator) -> None:
    """Late commands, encoders of 12 or 14 bit with other zeros than the model's."""
    del size
    machine = setup.machine
    machine.truth["command_delay"] = delay = rng.uniform(0.01, 0.04)
    for actuator in machine.real.actuators:
        actuator.nsample, actuator.interp = round(0.1 / machine.step), 1
        actuator.delay = delay
    for joint in machine.real.joints:
        joint.ref = rng.uniform(-0.03, 0.03)
        machine.truth[f"{joint.name}_zero"] = joint.ref
    setup.wiring.quantum = 2 * np.pi / 2 ** rng.choice([12, 14])


def links(setup: Setup, size: int, rng: np.random.Generator) -> None:
    """Links that differ from their drawings, which are unknowns with priors."""
    del size
    bodies = [body for body in setup.machine.real.bodies if body.name.startswith("link")]
    for body in bodies:
        factor = 1.0 + np.clip(0.1 * rng.normal(), -0.25, 0.25)
        body.mass = float(body.mass) * factor
        body.inertia = np.asarray(body.inertia) * factor
        body.ipos = np.asarray(body.ipos) + 0.004 * rng.normal(size=3)
    setup.add_unknowns(
        [
            f"{body.name}: {{inertia: {body.name}, inertia_type: pseudo, prior: {{sd: 0.1}}}}"
            for body in bodies
        ]
    )
