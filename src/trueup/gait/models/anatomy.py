"""What the parts of a walker are called in a model."""

import functools
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from trueup.errors import GaitError
from trueup.gait.controller._registers import LEGS

Side = Literal["right", "left"]

SUFFIX = {"right": "r", "left": "l"}


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Root(_Part):
    """Joints of the pelvis in the sagittal plane."""

    forward: str
    upward: str
    pitch: str


class ScaledEntry(_Part):
    """An entry of a parameter vector: value = scale * p + offset, with bounds on p."""

    scale: float
    offset: float
    lower: float = float("-inf")
    upper: float = float("inf")


class Pose(_Part):
    """A pose to start from."""

    swing: Side
    """The leg that swings."""
    base: dict[str, dict[Side, float]]
    """Joint -> angle of each side at the entry 0 [deg]."""


class Anatomy(_Part):
    """Names of a walker's parts in a model; ``{side}`` stands for r or l, ``{Side}`` for R or L."""

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
    frontal_initial_activations: tuple[str, ...] = ()

    def named(self, pattern: str, side: str) -> str:
        """A name of one side."""
        return pattern.format(side=SUFFIX[side], Side=SUFFIX[side].upper())

    def both(self, pattern: str) -> tuple[str, str]:
        """A name of the right and of the left side."""
        return self.named(pattern, LEGS[0]), self.named(pattern, LEGS[1])


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
        raise GaitError(f"{path} is no YAML file: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the file"
        raise GaitError(f"{path} describes no anatomy: {place}: {first['msg']}") from error


@functools.cache
def myoassist_anatomy() -> Anatomy:
    """Names in MyoAssist's models and in those that follow them."""
    return load_anatomy(Path(__file__).with_name("anatomy_myoassist.yaml"))
