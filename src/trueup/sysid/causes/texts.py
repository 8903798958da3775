"""Words of causes in sentences, by kind."""

from collections.abc import Sequence
from dataclasses import dataclass

from trueup.sysid.causes.friction_shapes import SHAPES
from trueup.sysid.causes.term_candidates import KINDS

SHOWN = 6
"""Maximum number of joints in a sentence."""

IN_MODEL = "Estimate it, or set its value in the model."
_BY_LAW = (
    "MuJoCo's joints do not support this friction: the other values are valid at the speeds of the "
    "recordings, or a control law must add it."
)


@dataclass(frozen=True)
class Wording:
    """Words for a kind of cause."""

    label: str
    """Subject of a sentence, with its article."""
    short: str
    """Noun phrase for a list."""
    advice: str = IN_MODEL
    """Advice, as a sentence."""


_LOAD = Wording("a payload", "payload", "Add it to the model, or take it off and record again.")

WORDINGS: dict[str, Wording] = {
    "friction": Wording(KINDS["friction"].label, "Coulomb friction"),
    "damping": Wording(KINDS["damping"].label, "viscous friction"),
    "armature": Wording(KINDS["armature"].label, "armature"),
    "stiffness": Wording(KINDS["stiffness"].label, "spring"),
    "mass": Wording(KINDS["mass"].label, "mass", f"Weigh the part. {IN_MODEL}"),
    "offset": Wording(KINDS["offset"].label, "constant force"),
    **{
        name: Wording(shape.label, shape.label.removeprefix("a "), _BY_LAW)
        for name, shape in SHAPES.items()
    },
    "delay": Wording("a delay of the commands", "delay of the commands"),
    "gain": Wording("the servo gain", "servo gain", f"Read the gain from the drive. {IN_MODEL}"),
    "zero": Wording(
        "a shift of the encoder zero",
        "encoder zero",
        "Drive the joint to a stop or a level and compare the angle with the model; set ref of "
        "the joint.",
    ),
    "sensor-zero": Wording(
        "an offset of the recorded position",
        "encoder zero in the log",
        "Correct it with offset under signals, or estimate it under measurement.biases.",
    ),
    "sensor-scale": Wording(
        "the scale of the recorded position",
        "scale of the position sensor",
        "Correct it with scale under signals: a gear between sensor and joint, or a unit.",
    ),
    "centre": Wording("the centre of mass", "centre of mass"),
    "gravity": Wording(
        "a tilt of gravity",
        "tilted gravity",
        "Level the base, or set gravity in the options of the model.",
    ),
    "clock": Wording(
        "the clock of the log",
        "clock of the log",
        "Correct the times of the log: compare its length with that of the run.",
    ),
    "limit": Wording(
        "a limit of the force",
        "force limit",
        "Read the limit of current or torque from the drive, and set forcerange in the model.",
    ),
    "clip": Wording(
        "a limit of the commands",
        "clipped commands",
        "Log the command that acts, or set ctrlrange in the model.",
    ),
    **{f"payload-{number}": _LOAD for number in range(3)},
    "exchanged-sensors": Wording(
        "an exchange of recorded positions",
        "exchanged positions",
        "Exchange the columns under signals.",
    ),
    "exchanged-commands": Wording(
        "an exchange of commands", "exchanged commands", "Exchange the columns under controls."
    ),
}
"""Words by kind of cause."""


def enumerated(parts: Sequence[str]) -> str:
    """List of parts as text, limited to the first."""
    shown = [*parts] if len(parts) <= SHOWN else [*parts[:SHOWN], f"{len(parts) - SHOWN} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
