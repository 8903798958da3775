"""Read servo logs: JSON files with a header and one entry a sample, raw or evenly resampled.

The format is that of the recorders of Rhoban's Better Actuator Models: ``mass``, ``arm_mass``,
``length``, ``kp``, ``vin``, ``motor`` and ``trajectory`` beside a list ``entries`` of
``timestamp``, ``position``, ``speed``, ``goal_position``, ``torque_enable``, ``load``,
``input_volts`` and ``temp``. Logs that were resampled hold their time step ``dt`` too.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup.actuators.servo_log import Array, ServoLog

_HEADER = ("mass", "length", "kp", "motor", "trajectory", "entries")


def read_log(path: str | os.PathLike[str]) -> ServoLog:
    """Read one servo log, raw or evenly resampled."""
    path = Path(path)
    content = path.read_bytes()
    data = json.loads(content)
    return parse_log(data, path.stem, str(path), hashlib.sha256(content).hexdigest())


def read_logs(source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[ServoLog]:
    """Read the logs of a folder (``*.json``, by name) or those of the files given."""
    if isinstance(source, (str, os.PathLike)):
        path = Path(source)
        files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    else:
        files = [Path(p) for p in source]
    return [read_log(path) for path in files]


def parse_log(data: dict[str, Any], name: str, source: str, sha256: str = "") -> ServoLog:
    """Turn the content of a log file into a :class:`ServoLog`."""
    entries: Sequence[dict[str, Any]] = data["entries"]
    columns = {
        key: np.array([entry[key] for entry in entries], dtype=float) for key in entries[0]
    }
    header = {key: value for key, value in data.items() if key not in _HEADER}
    arm_mass = header.pop("arm_mass", header.pop("arm-mass", 0.0))
    vin = header.pop("vin", None)
    damping = header.pop("damping", None)
    dt = header.pop("dt", None)
    motor = str(data["motor"])
    return ServoLog(
        name=name,
        source=source,
        sha256=sha256,
        motor=motor,
        trajectory=str(data["trajectory"]),
        mass=float(data["mass"]),
        arm_mass=float(arm_mass),
        length=float(data["length"]),
        kp=float(data["kp"]),
        vin=None if vin is None else float(vin),
        damping=None if damping is None else float(damping),
        dt=None if dt is None else float(dt),
        times=columns.pop("timestamp"),
        position=columns.pop("position"),
        speed=columns.pop("speed"),
        goal_position=columns.pop("goal_position"),
        torque_enable=columns.pop("torque_enable") > 0.5,
        load=_duty(columns.pop("load", None), motor),
        input_volts=columns.pop("input_volts", None),
        temperature=columns.pop("temp", None),
        columns=columns,
        header=header,
    )


def _duty(load: Array | None, motor: str) -> Array | None:
    if load is None or np.abs(load).max(initial=0.0) <= 1.0:
        return load
    signed = np.where(load > 32767, load - 65536, load)
    duty = signed / 885 if motor.startswith("xl330") else signed / 1000
    return duty if np.abs(duty).max() <= 1.0 else None
