"""Faults of machine, model, wiring and log, each of two sizes.

A fault is a function of the setup, the size (0 or 1) and random numbers that plants it.
"""

import re
from dataclasses import replace

import numpy as np

from bank.identification import Setup
from bank.machines import scalar, set_damping, with_first

Rng = np.random.Generator


# --- the model lacks something of the machine -----------------------------------------------------


def no_armature(setup: Setup, size: int, rng: Rng) -> None:
    """The model has no armature, and it is no unknown."""
    _lacking(setup, "armature", 'armature=".03"', size)


def no_damping(setup: Setup, size: int, rng: Rng) -> None:
    """The model has no viscous friction, and it is no unknown."""
    _lacking(setup, "damping", 'damping=".3"', size)


def no_friction(setup: Setup, size: int, rng: Rng) -> None:
    """The model has no dry friction, and it is no unknown."""
    _lacking(setup, "frictionloss", 'frictionloss=".15"', size)


def _lacking(setup: Setup, term: str, text: str, size: int) -> None:
    machine, factor = setup.machine, (1.0, 3.0)[size]
    machine.model = str(machine.model).replace(text, f'{term}="0"')
    for joint in machine.real.joints:
        value = factor * machine.truth.pop(f"{joint.name}_{term}")
        if term == "damping":
            set_damping(joint, value)
        else:
            setattr(joint, term, value)
    setup.remove_unknowns(term.replace("loss", ""))


def mass(setup: Setup, size: int, rng: Rng) -> None:
    """The last link has another mass."""
    body = setup.machine.real.bodies[-1]
    body.mass = float(body.mass) * (1 + rng.choice([-1, 1]) * (0.2, 0.4)[size])


def centre(setup: Setup, size: int, rng: Rng) -> None:
    """The last link has another centre of mass."""
    body = setup.machine.real.bodies[-1]
    body.ipos = np.asarray(body.ipos) * (1 + (0.2, 0.4)[size])


def payload(setup: Setup, size: int, rng: Rng) -> None:
    """A mass at the end of the last link."""
    load = setup.machine.real.bodies[-1].add_body(pos=[0.0, 0.0, -0.2])
    load.explicitinertial = True
    load.mass, load.inertia = (0.1, 0.4)[size], [1e-5, 1e-5, 1e-5]


def gravity(setup: Setup, size: int, rng: Rng) -> None:
    """The machine stands on a slope."""
    angle = (0.05, 0.2)[size]
    setup.machine.real.option.gravity = 9.81 * np.array([np.sin(angle), 0.0, -np.cos(angle)])


def zero(setup: Setup, size: int, rng: Rng) -> None:
    """Encoders have other zeros than the model."""
    for joint in setup.machine.real.joints:
        joint.ref = (0.05, 0.2)[size] * rng.choice([-1.0, 1.0])


def gear(setup: Setup, size: int, rng: Rng) -> None:
    """A joint has another gear: its torque is another multiple of what is commanded."""
    actuators = setup.machine.real.actuators
    gains = actuators[int(rng.integers(len(actuators)))]
    factor = (0.8, 0.5)[size]
    if setup.machine.drive == "servo":
        gains.gear = [factor, 0, 0, 0, 0, 0]
    else:
        scale(setup, size, rng)


def drag(setup: Setup, size: int, rng: Rng) -> None:
    """Friction that grows with the square of speed."""
    for joint in setup.machine.real.joints:
        first = scalar(joint.damping)
        joint.damping = [first, 0.0, (0.5, 2.0)[size] * first]


def spring(setup: Setup, size: int, rng: Rng) -> None:
    """A cable that acts as a spring on the last joint."""
    joint = setup.machine.real.joints[-1]
    joint.stiffness = with_first(joint.stiffness, (0.5, 2.0)[size])


def cogging(setup: Setup, size: int, rng: Rng) -> None:
    """Torque that repeats 12 times a turn."""
    setup.wiring.cogging = (0.5, 2.0)[size]


def backlash(setup: Setup, size: int, rng: Rng) -> None:
    """Play between the motor of the last joint, where the encoder is, and its link."""
    joint = _behind_motor(setup)
    joint.range = np.array([-1.0, 1.0]) * (0.02, 0.06)[size]
    joint.limited, joint.solref_limit = 1, [0.004, 1.0]


def elastic(setup: Setup, size: int, rng: Rng) -> None:
    """A spring between the motor of the last joint, where the encoder is, and its link."""
    joint = _behind_motor(setup)
    joint.stiffness = with_first(joint.stiffness, (20.0, 5.0)[size])


def _behind_motor(setup: Setup):
    body = setup.machine.real.bodies[-1]
    motor = setup.machine.real.joints[-1]
    joint = body.add_joint(name="behind_motor", axis=motor.axis, type=motor.type)
    joint.armature, joint.frictionloss = 0.0, 0.0
    set_damping(joint, 0.02)
    return joint


# --- between controller and machine ---------------------------------------------------------------


def late_command(setup: Setup, size: int, rng: Rng) -> None:
    """Commands act later than they were logged."""
    setup.wiring.late_command = (0.01, 0.04)[size]


def gain(setup: Setup, size: int, rng: Rng) -> None:
    """The firmware has other gains than the model."""
    setup.wiring.gain = (0.75, 0.4)[size]


def saturation(setup: Setup, size: int, rng: Rng) -> None:
    """Motors reach a limit that the model has not."""
    setup.wiring.saturation = (0.9, 0.6)[size]


def clip(setup: Setup, size: int, rng: Rng) -> None:
    """Commands are clipped after they were logged."""
    setup.wiring.clip = (0.6, 0.35)[size]


# --- in the log -----------------------------------------------------------------------------------


def late_torque(setup: Setup, size: int, rng: Rng) -> None:
    """Torques were logged later than angles."""
    setup.wiring.late_torque = (0.06, 0.3)[size]


def late_torque_of_one(setup: Setup, size: int, rng: Rng) -> None:
    """The torque of one joint was logged later than everything else."""
    setup.wiring.late_torque = (0.02, 0.1)[size]
    setup.wiring.late_joint = int(rng.integers(len(setup.machine.joints)))


def scale(setup: Setup, size: int, rng: Rng) -> None:
    """The torque of one joint is in other units."""
    factors = np.ones(len(setup.machine.joints))
    factors[rng.integers(len(factors))] = (0.8, 0.5)[size]
    setup.wiring.torque_scale = factors


def sign(setup: Setup, size: int, rng: Rng) -> None:
    """The torque of one joint has the wrong sign: of the first, or of the last."""
    setup.wiring.reversed_torque = (0, len(setup.machine.joints) - 1)[size]


def sign_of_friction(setup: Setup, size: int, rng: Rng) -> None:
    """The torque of an upright joint, which is mostly friction, has the wrong sign."""
    machine = setup.machine
    joint = machine.real.joints[0]
    joint.frictionloss = float(joint.frictionloss) * (2.0, 5.0)[size]
    machine.truth[f"{joint.name}_frictionloss"] = float(joint.frictionloss)
    setup.wiring.reversed_torque = 0


def exchanged(setup: Setup, size: int, rng: Rng) -> None:
    """Two encoders are exchanged: the last two, or the outer ones."""
    setup.wiring.exchanged = _pair(setup, size)


def exchanged_torques(setup: Setup, size: int, rng: Rng) -> None:
    """Two torques are exchanged: the last two, or the outer ones."""
    setup.wiring.exchanged_torques = _pair(setup, size)


def _pair(setup: Setup, size: int) -> tuple[int, int]:
    last = len(setup.machine.joints) - 1
    return (0, last) if size else (last - 1, last)


def stale(setup: Setup, size: int, rng: Rng) -> None:
    """Positions repeat at random samples."""
    setup.wiring.stale = (0.1, 0.4)[size]


def late_velocity(setup: Setup, size: int, rng: Rng) -> None:
    """Velocities are filtered, and lag their positions."""
    setup.machine.kind = replace(setup.machine.kind, velocities=True)
    setup.wiring.late_velocity = (0.01, 0.04)[size]


def narrow_commands(setup: Setup, size: int, rng: Rng) -> None:
    """The model clips commands that the machine follows."""
    share = (0.6, 0.3)[size]
    machine = setup.machine
    ends = [share * reach for reach in np.asarray(machine.kind.reach)]
    for name, rest, end in zip(machine.joints, np.asarray(machine.kind.rest), ends, strict=True):
        given = f'ctrllimited="true" ctrlrange="{rest - end:.4g} {rest + end:.4g}"'
        machine.model = re.sub(
            rf'<position ([^>]*joint="{name}")', rf"<position {given} \1", str(machine.model)
        )


def clock(setup: Setup, size: int, rng: Rng) -> None:
    """The clock of the log runs fast."""
    setup.wiring.clock = (1.03, 1.2)[size]


# --- in the experiment ----------------------------------------------------------------------------


def time_step(setup: Setup, size: int, rng: Rng) -> None:
    """The experiment simulates with a step that is too long."""
    step = (0.01, 0.02)[size]
    setup.edits.append((r"(?m)^  # timestep: .*", f"  timestep: {step}"))


def short_windows(setup: Setup, size: int, rng: Rng) -> None:
    """Windows in which nothing happens."""
    setup.edits.append((r"(?m)^window: .*", "window: 0.03"))


def same_held_out(setup: Setup, size: int, rng: Rng) -> None:
    """The held-out recording is a copy of the one of the fit."""
    setup.copied = True
    setup.edits += [
        (
            r"(?ms)^recordings:\n(  - file: )log\.csv\n(.*?)\nparameters:",
            r"recordings:\n\1log.csv\n\2\n\1copy.csv\n\2\nparameters:",
        ),
        (r"(?m)^  fraction: .*", "  recordings: [copy]"),
    ]
