"""Reference gaits: joint angles and optional activations over the gait cycle.

File (JSON): ``{"format": "trueup gait reference", "version": 1, "name": ..., "source": ...,
"speed": 1.25, "angles": {"hip": {"mean": [...], "sd": [...]}, "knee": ..., "ankle": ..., "trunk":
...}, "emg": {"SOL": {"mean": [...], "sd": [...]}}}``. Angles are in degrees, flexion,
dorsiflexion and forward lean positive; samples are evenly spaced over the cycle of a leg, from its
touch-down to before the next touch-down. ``sd`` is optional.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import GaitError, listing
from trueup.gait.costs.myoassist import read_myoassist_kinematics
from trueup.gait.walk.gait_cycle import Curve, resampled
from trueup.runs.store import atomic

JOINTS = ("hip", "knee", "ankle")
FORMAT = "trueup gait reference"


@dataclass(frozen=True)
class GaitReference:
    """A reference gait."""

    name: str
    """Name."""
    speed: float | None
    """Walking speed [m/s]; None if unknown."""
    angles: Mapping[str, Curve]
    """Joint -> angle [rad], flexion, dorsiflexion and forward lean of ``trunk`` positive. Empty for
    a reference of activations alone."""
    emg: Mapping[str, Curve] = field(default_factory=dict)
    """Muscle group -> activation, 0 to 1."""
    source: str = ""
    """Source."""

    def leg_angles(self) -> np.ndarray:
        """Hip, knee and ankle ``(3, points)`` [rad] in the convention of the controller.

        Raises:
          GaitError: a joint is missing.
        """
        missing = [joint for joint in JOINTS if joint not in self.angles]
        if missing:
            raise GaitError(
                f"the reference {self.name!r} has no {listing(missing)}; it has "
                f"{listing(self.angles)}"
            )
        straight = (np.pi, np.pi, 0.5 * np.pi)
        curves = [resampled(self.angles[joint].mean, 100) for joint in JOINTS]
        return np.stack([angle - curve for angle, curve in zip(straight, curves, strict=True)])

    def save(self, path: str | Path) -> None:
        """Write the reference to a file."""

        def plain(curve: Curve, factor: float) -> dict[str, list[float]]:
            values = {"mean": curve.mean} | ({} if curve.sd is None else {"sd": curve.sd})
            return {key: (factor * value).tolist() for key, value in values.items()}

        content: dict[str, Any] = {
            "format": FORMAT,
            "version": 1,
            "name": self.name,
            "source": self.source,
            "speed": self.speed,
            "angles": {k: plain(v, 180.0 / np.pi) for k, v in self.angles.items()},
            "emg": {k: plain(v, 1.0) for k, v in self.emg.items()},
        }
        atomic.write_json(Path(path), content)


def read_reference(path: str | Path) -> GaitReference:
    """Read a reference gait: JSON of trueup, or a kinematics table of MyoAssist without header.

    Motions of OpenSim are read by :func:`trueup.gait.read_motion`.

    Raises:
      GaitError: the file is missing or has another format.
    """
    path = Path(path)
    if path.suffix.lower() == ".csv":
        return _of_myoassist(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise GaitError(f"cannot read the reference {path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise GaitError(f"{path} is not a JSON file: {error}") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise GaitError(
            f'{path} is not a reference gait: "format": "{FORMAT}" is missing. Other formats: '
            "kinematics of MyoAssist as .csv, norms as the JSON file of Schwartz et al. 2008"
        )
    if content.get("version") != 1:
        raise GaitError(
            f"{path} has version {content.get('version')}; this trueup supports version 1"
        )
    speed = content.get("speed")
    if not (speed is None or (isinstance(speed, int | float) and np.isfinite(speed))):
        raise GaitError(f"{path}: speed is {speed!r}; expected a number [m/s] or null")
    return GaitReference(
        name=str(content.get("name") or path.stem),
        speed=None if speed is None else float(speed),
        angles=_curves(path, "angles", content.get("angles"), np.pi / 180.0),
        emg=_curves(path, "emg", content.get("emg") or {}, 1.0),
        source=str(content.get("source", "")),
    )


def _curves(path: Path, where: str, content: Any, factor: float) -> dict[str, Curve]:
    if not isinstance(content, dict) or (where == "angles" and not content):
        raise GaitError(f"{path}: {where} must contain curves by name")
    curves = {}
    for name, entry in content.items():
        values = {}
        for key in ("mean", "sd"):
            given = entry.get(key) if isinstance(entry, dict) else None
            if given is None and key == "sd":
                continue
            try:
                array = factor * np.asarray(given, dtype=float)
            except (TypeError, ValueError):
                array = np.zeros(0)
            if array.ndim != 1 or len(array) < 10 or not np.isfinite(array).all():
                raise GaitError(
                    f"{path}: {where}.{name}.{key} must be a list of at least 10 numbers"
                )
            values[key] = array
        if "sd" in values and len(values["sd"]) != len(values["mean"]):
            raise GaitError(
                f"{path}: {where}.{name} has {len(values['mean'])} means and {len(values['sd'])} "
                "deviations"
            )
        curves[str(name)] = Curve(values["mean"], values.get("sd"))
    return curves


def _of_myoassist(path: Path) -> GaitReference:
    table = read_myoassist_kinematics(path)
    angles = {
        "trunk": Curve(table[:, 0]),
        "hip": Curve(np.pi - table[:, 1]),
        "knee": Curve(np.pi - table[:, 2]),
        "ankle": Curve(0.5 * np.pi - table[:, 3]),
    }
    return GaitReference(path.stem, None, angles, source=str(path))
