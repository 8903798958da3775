"""Norms of walking: bands of angles and moments over the gait cycle."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from trueup.errors import GaitError, listing
from trueup.gait.costs.motion_reference import read_motion
from trueup.gait.costs.reference import GaitReference, read_reference
from trueup.gait.walk.gait_cycle import Curve
from trueup.signals.readers.opensim import ENDINGS

MOMENTS = {"hip": "HipMoment", "knee": "KneeMoment", "ankle": "AnkleMoment"}


@dataclass(frozen=True)
class GaitNorm:
    """Norm of a gait.

    Attributes:
      reference: joint angles and optional activations.
      moments: joint -> internal moment over the gait cycle, extension and plantarflexion positive
        [N m/kg]; empty if unknown.
      powers: joint -> power of that moment, generation positive [W/kg]; empty if
        unknown.
      ground_reaction: ``upright`` and ``forward`` -> force of the ground on a foot [body weights];
        empty if unknown.
      timing: muscle group -> active intervals of the cycle, start and end [0, 1]; for one across
        the touch-down the end is below the start. Empty if unknown.
    """

    reference: GaitReference
    moments: Mapping[str, Curve] = field(default_factory=dict)
    powers: Mapping[str, Curve] = field(default_factory=dict)
    ground_reaction: Mapping[str, Curve] = field(default_factory=dict)
    timing: Mapping[str, tuple[tuple[float, float], ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name."""
        return self.reference.name


def read_norm(path: str | Path, speed: str = "Free") -> GaitNorm:
    """Read a reference gait in our form, MyoAssist's table, a motion of OpenSim (``.mot``,
    ``.sto``), or the norms of Schwartz et al. 2008.

    Args:
      path: the file.
      speed: speed of the norms of Schwartz et al., such as ``Slow``, ``Free`` or ``Fast``.

    Raises:
      GaitError: the file is missing or has another format.
    """
    path = Path(path)
    if path.suffix.lower() == ".csv" or path.suffix.lower() in ENDINGS:
        _check_no_speed(path, speed)
    if path.suffix.lower() == ".csv":
        return GaitNorm(read_reference(path))
    if path.suffix.lower() in ENDINGS:
        return GaitNorm(read_motion(path))
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GaitError(f"cannot read the norm {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise GaitError(f"{path} is not a JSON file: {error}") from error
    if not _is_of_schwartz(content):
        _check_no_speed(path, speed)
        return GaitNorm(read_reference(path))
    reference = read_schwartz(path, speed)
    tables = content[speed] if speed in content else next(iter(content.values()))[speed]
    return GaitNorm(reference, _moments(tables))


def _check_no_speed(path: Path, speed: str) -> None:
    """Raise GaitError for a speed of a file with a single one."""
    if speed != "Free":
        raise GaitError(
            f"{path} has a single speed, but reference_speed is {speed!r}: remove reference_speed, "
            "which only applies to the norms of Schwartz et al."
        )


def read_schwartz(path: str | Path, speed: str = "Free") -> GaitReference:
    """A speed of the gait norms of Schwartz et al., J. Biomech. 41 (2008), as a JSON file.

    Sagittal angles over the cycle [%]: mean minus and mean plus one standard deviation.

    Raises:
      GaitError: the file is missing or has another format, or no such speed.
    """
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GaitError(f"cannot read {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise GaitError(f"{path} is not a JSON file: {error}") from error
    if isinstance(content, dict) and len(content) == 1:
        (content,) = content.values()
    speeds = list(content) if isinstance(content, dict) else []
    if speed not in speeds:
        raise GaitError(f"{path} has no speed {speed!r}; it has {listing(speeds)}")
    names = {"hip": "HipAngles", "knee": "KneeAngles", "ankle": "AnkleAngles"}
    angles = {}
    for joint, key in names.items():
        try:
            table = np.asarray(content[speed][key]["X"], dtype=float)
            low, high = np.deg2rad(table[:, 1]), np.deg2rad(table[:, 2])
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise GaitError(f"{path} has no sagittal {key} for the speed {speed!r}") from error
        # the last sample is the next touch-down and repeats the first
        angles[joint] = Curve(0.5 * (low + high)[:-1], 0.5 * (high - low)[:-1])
    return GaitReference(f"{path.stem} {speed}", None, angles, source=str(path))


def _is_of_schwartz(content: object) -> bool:
    """Whether the content has speeds with sagittal angles, possibly nested under one name."""
    if isinstance(content, dict) and len(content) == 1:
        (content,) = content.values()
    speeds = content.values() if isinstance(content, dict) else ()
    return any(isinstance(tables, dict) and "HipAngles" in tables for tables in speeds)


def _moments(tables: Mapping[str, Mapping[str, object]]) -> dict[str, Curve]:
    """Sagittal moments, from tables in N mm/kg; missing ones are omitted."""
    found = {}
    for joint, key in MOMENTS.items():
        try:
            table = 1e-3 * np.asarray(tables[key]["X"], dtype=float)
            low, high = table[:-1, 1], table[:-1, 2]
        except (KeyError, TypeError, ValueError, IndexError):
            continue
        found[joint] = Curve(0.5 * (low + high), 0.5 * (high - low))
    return found
