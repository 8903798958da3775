"""Wrong models and logs of identifications, too little data, and input that has to be refused."""

from bank import faults
from bank.identification import Identification, Plant

ARMS = ("arm2", "arm3", "leg")
UPRIGHT = ("arm3", "wrist")
"""Machines whose first joint is upright: nothing but friction and inertia acts on it."""
BOTH, SERVO, TORQUE = ("servo", "torque"), ("servo",), ("torque",)
MASSES = ("payload", "mass", "centre", "inertia", "gravity", "weight", "link")
ORDER = ("exchang", "order", "swap")

FAULTS: dict[str, tuple[Plant, tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    "no armature": (faults.no_armature, ("armature", "inertia"), BOTH, ARMS),
    "no viscous friction": (faults.no_damping, ("viscous", "damping"), BOTH, ARMS),
    "no dry friction": (faults.no_friction, ("coulomb", "dry friction", "friction"), BOTH, ARMS),
    "mass of a link": (faults.mass, MASSES, BOTH, ARMS),
    "centre of a link": (faults.centre, MASSES, BOTH, ARMS),
    "payload": (faults.payload, MASSES, BOTH, ARMS),
    "gravity tilted": (faults.gravity, ("gravity", "tilt", "zero", "constant force"), BOTH, ARMS),
    "encoder zero": (faults.zero, ("zero", "offset", "constant force", "gravity"), BOTH, ARMS),
    "gear": (faults.gear, ("gear", "gain", "kp", "scale", "factor"), SERVO, ARMS),
    "drag": (faults.drag, ("square", "quadratic", "drag", "viscous"), BOTH, ARMS),
    "spring": (faults.spring, ("spring", "stiff"), BOTH, ARMS),
    "cogging": (faults.cogging, ("cogging", "ripple", "depends on the angle", "position"), BOTH,
                ARMS),
    "backlash": (faults.backlash, ("backlash", "play", "elastic", "compliance"), BOTH, ARMS),
    "elastic joint": (faults.elastic, ("elastic", "compliance", "spring", "stiff"), BOTH, ARMS),
    "late commands": (faults.late_command, ("delay", "late"), SERVO, ARMS),
    "firmware gains": (faults.gain, ("gain", "kp"), SERVO, ARMS),
    "saturation": (faults.saturation, ("limit", "saturat"), SERVO, ARMS),
    "clipped commands": (faults.clip, ("clip", "limit", "range"), SERVO, ARMS),
    "late torques": (faults.late_torque, ("delay", "late", "lag"), TORQUE, ARMS),
    "one late torque": (faults.late_torque_of_one, ("delay", "late", "lag"), TORQUE, ARMS),
    "scale of a torque": (faults.scale, ("scale", "factor", "gear", "unit", "times"), TORQUE, ARMS),
    "sign of a torque": (faults.sign, ("sign", "against", "oppos", "revers"), TORQUE,
                         ARMS),
    "sign of a joint of friction": (faults.sign_of_friction, ("sign", "against", "oppos", "revers"),
                                    TORQUE, UPRIGHT),
    "exchanged encoders": (faults.exchanged, ORDER, BOTH, ARMS),
    "exchanged torques": (faults.exchanged_torques, ORDER, TORQUE, ARMS),
    "stale frames": (faults.stale, ("stale", "repeat", "frozen", "same"), BOTH, ARMS),
    "late velocities": (faults.late_velocity, ("late", "lag"), BOTH, ARMS),
    "model clips commands": (faults.narrow_commands, ("ctrlrange", "range", "clip"), SERVO, ARMS),
    "clock": (faults.clock, ("clock", "time step", "rate of"), BOTH, ARMS),
    "time step": (faults.time_step, ("time step", "timestep"), SERVO, ARMS),
}  # fmt: skip
"""Faults by name: what plants it, words that name it, drives and machines that it is planted in."""

SHORT = ("excitation", "too little", "too short", "short", "determin", "seconds")


def situations() -> list[Identification]:
    """Planted faults, too little data, and what has to be refused."""
    return [*wrong(), *little(), *refused()]


def wrong() -> list[Identification]:
    """Planted faults."""
    return [
        Identification(
            name=name,
            sort="wrong",
            machines=machines,
            drive=drive,
            plant=plant,
            causes=causes,
            motion={"seconds": 10.0},
        )
        for name, (plant, causes, drives, machines) in FAULTS.items()
        for drive in drives
    ]


def little() -> list[Identification]:
    """Too little data or excitation."""
    about = {"sort": "little", "machines": ("arm2", "wrist"), "causes": SHORT}
    found = [
        Identification(name=name, drive=drive, motion=motion, **about)  # type: ignore[arg-type]
        for drive in BOTH
        for name, motion in (
            ("0.4 s", {"seconds": 0.4}),
            ("1 s", {"seconds": 1.0}),
            ("no excitation", {"size": 0.002}),
        )
    ]
    return [
        *found,
        Identification(
            name="windows of 0.03 s",
            drive="servo",
            plant=faults.short_windows,
            **{**about, "causes": ("window", *SHORT)},  # type: ignore[arg-type]
        ),
    ]


def refused() -> list[Identification]:
    """Input that says nothing about the fit."""
    return [
        Identification(
            name="held-out recording is that of the fit",
            sort="refused",
            machines=("arm2", "leg"),
            drive=drive,
            plant=faults.same_held_out,
            causes=("held", "same"),
        )
        for drive in BOTH
    ]
