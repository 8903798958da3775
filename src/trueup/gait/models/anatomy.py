"""Names of the parts of a walker in a model, and initial poses of walks."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueup.errors import GaitError

Side = Literal["right", "left"]

SUFFIX: dict[str, str] = {"right": "r", "left": "l"}
"""Leg -> letter in the names of its parts."""

ANATOMY = ".anatomy.yaml"
"""Suffix of a file with an anatomy, next to its model ``NAME.xml``."""

LEGS = tuple(SUFFIX)
"""Legs in the order of every array with a leg axis."""


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Root(_Part):
    """Names of the joints of the pelvis in the sagittal plane."""

    forward: str
    upward: str
    pitch: str


class ScaledEntry(_Part):
    """Entry of a parameter vector: value = scale * p + offset, with bounds on p."""

    scale: float
    offset: float
    lower: float = float("-inf")
    upper: float = float("inf")


class Pose(_Part):
    """Initial pose of a walk."""

    swing: Side
    """Leg in swing."""
    base: dict[str, dict[Side, float]]
    """Joint -> joint angle of each side at the entry 0 [deg]."""
    frontal_base: dict[str, dict[Side, float]] = Field(default_factory=dict)
    """Joint of the frontal plane -> joint angle of each side at the entry 0 [deg], where it is not
    that of all walkers."""
    sideways: dict[str, ScaledEntry] = Field(default_factory=dict)
    """Further entries of the pose of a walker in space: joint -> angle [deg], or vel_joint -> speed
    [m/s, rad/s]."""
    activation: dict[str, dict[Side, float]] = Field(default_factory=dict)
    """Muscle group -> nominal entry of the initial activation of each side; 1 where missing."""


class GainRange(_Part):
    """Range and nominal value of an entry of a parameter vector."""

    lower: float
    upper: float
    start: float = 1.0


class Spring(_Part):
    """Spring and damper of a joint that assist a walk."""

    stiffness: float
    """Stiffness [N m/rad, N/m]."""
    damping: float
    """Damping [N m s/rad, N s/m]."""


class Anatomy(_Part):
    """Names of a walker's parts in a model.

    A name with ``{side}`` or ``{Side}`` is a pattern for both legs: r and l, or R and L.
    """

    name: str
    pelvis: str
    torso: str
    foot: str
    root: Root
    joints: dict[str, str]
    frontal_joints: dict[str, str] = Field(default_factory=dict)
    touch_sensors: dict[Literal["heel", "toes"], str]
    limit_sensors: dict[str, str] = Field(default_factory=dict)
    sole_sites: tuple[str, ...]
    muscles: dict[str, tuple[str, ...]]
    exoskeleton: str
    terrain: str
    pose_spread: float
    pitch: ScaledEntry
    speed: ScaledEntry
    poses: dict[str, Pose]
    initial_activations: tuple[str, ...]
    lowest: float = 0.65
    """Height of the pelvis below which the walker has fallen [m]."""
    steepest: float = 60.0
    """Tilt of the pelvis above which the walker has fallen [deg]."""
    fiber_share: dict[str, float] = Field(default_factory=dict)
    """Muscle group -> share of the fibers in the length change of a muscle with an elastic tendon,
    above 0 to 1; 1 where it is missing. The optimal length of the model's muscle is that of the
    fibers divided by it."""
    gains: dict[str, GainRange] = Field(default_factory=dict)
    """Gain of the controller -> range and nominal value of its entry in this walker."""
    other_gains: GainRange | None = None
    """Range and nominal value of the entries of all other gains; None: those of the controller."""
    frontal_initial_activations: tuple[str, ...] = ()
    reflexes: str | None = None
    """Name of the reflexes of the package that are added to the shipped ones for this walker."""
    assistance: dict[str, Spring] = Field(default_factory=dict)
    """Joint of the pelvis -> spring and damper of a walk with full assistance."""

    def named(self, pattern: str, side: str) -> str:
        """Name of the part of one side."""
        return pattern.format(side=SUFFIX[side], Side=SUFFIX[side].upper())

    def both(self, pattern: str) -> tuple[str, str]:
        """Names of the right and the left part."""
        return self.named(pattern, "right"), self.named(pattern, "left")

    def muscle_groups(self, muscles: Sequence[str]) -> list[tuple[str, str]]:
        """Group and side of each muscle, given by its name in the model."""
        known = {
            self.named(pattern, side): (group, side)
            for group, patterns in self.muscles.items()
            for pattern in patterns
            for side in LEGS
        }
        return [known[name] for name in muscles]


def load_anatomy(path: str | Path) -> Anatomy:
    """Read an anatomy from a YAML file.

    Raises:
      GaitError: the file is missing or malformed.
    """
    path = Path(path)
    try:
        return Anatomy.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise GaitError(f"cannot read the anatomy {path}: {error.strerror or error}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise GaitError(f"{path} is not a YAML file: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise GaitError(f"{path} is not a valid anatomy: {place}: {first['msg']}") from error


@functools.cache
def myoassist_anatomy() -> Anatomy:
    """Anatomy of MyoAssist's models."""
    return load_anatomy(Path(__file__).with_name("anatomy_myoassist.yaml"))
