"""Calibration files of LeRobot within or next to a log."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

from trueup._input_files import read_settings
from trueup.errors import RecordingError, listing, reason
from trueup.sysid.importing.columns.joint_families import JointLog
from trueup.sysid.importing.evidence.calibration import TICKS, Motor

_KEYS = frozenset({"id", "drive_mode", "homing_offset", "range_min", "range_max"})
"""Fields of ``MotorCalibration`` of ``lerobot/motors/motors_bus.py``."""
_LARGEST = 2**20  # bytes; a calibration has a hundred for each motor
_OF_LEADERS = re.compile(r"teleoperators|leader", re.I)
_LEROBOT = "LeRobot"
_DYNAMIXEL = ("koch", "omx")
"""Robot types whose motors apply their drive mode themselves."""


def calibrated_motors(logs: Sequence[Path], joints: JointLog, robot: str) -> dict[int, Motor]:
    """Calibration of the motor of each joint; empty without a file of it.

    Files are searched within a data set, then next to the log and in a folder ``calibration``
    there. Those of leader arms are not used: positions are those of the follower.

    Args:
      logs: files and folders.
      joints: columns of the joints of the first log.
      robot: type of the robot that the log states, or empty.

    Raises:
      RecordingError: a calibration is damaged or does not fit the log, or several are possible.
    """
    names = _names(joints)
    found: dict[int, Motor] = {}
    for log in dict.fromkeys(logs):
        for place in _places(log):
            motors = _calibration_in(place, log, names, joints.source, robot)
            for joint, motor in motors.items():
                _check_same(found.setdefault(joint, motor), motor, log)
            if motors:
                break
    return found


def _names(joints: JointLog) -> dict[int, str]:
    """Name of each joint in the log: a label, or a column that contains the name of the motor."""
    labelled = joints.source == _LEROBOT
    return {
        joints.joints[c.label]: (c.label if labelled else c.column).lower()
        for c in joints.columns
        if c.quantity == "position" and not c.commanded and c.label in joints.joints
    }


def _places(log: Path) -> list[list[Path]]:
    """Files that may be calibrations, by place; the first place with some counts."""
    folder = log.resolve().parent
    near = [*folder.glob("*.json"), *(folder / "calibration").rglob("*.json")]
    places = [near] if not log.is_dir() else [[*log.rglob("*.json")], near]
    return [
        sorted(p for p in files if p.is_file() and p.stat().st_size <= _LARGEST) for files in places
    ]


def _calibration_in(
    files: Sequence[Path], log: Path, names: dict[int, str], source: str, robot: str
) -> dict[int, Motor]:
    """Motors of the joints by the calibrations among files; empty without one."""
    known = [(p, c) for p in files if (c := _read(p)) is not None]
    known = [(p, c) for p, c in known if not _OF_LEADERS.search(_place(p, log))]
    found: dict[int, Motor] = {}
    for path, content in known:
        motors = _motors(path, content, robot)
        for joint, name in names.items():
            motor = _motor_of(name, path, motors, source)
            if motor is not None:
                _check_same(found.setdefault(joint, motor), motor, log)
    missing = [name for joint, name in names.items() if joint not in found]
    if not missing:
        return found
    if known and source == _LEROBOT:
        path, content = known[0]
        raise RecordingError(
            f"the calibration {path} has no motor {listing(missing)} of {log.name}; its motors are "
            f"{listing(content)}. Give the calibration of the robot that was recorded, or remove "
            "the file"
        )
    return {}


def _place(path: Path, log: Path) -> str:
    """Path of a file below the data set, or below the folder that holds the log."""
    return str(path.relative_to(log if path.is_relative_to(log) else log.resolve().parent))


def _read(path: Path) -> dict[str, dict[str, object]] | None:
    """Content of a calibration; None for any other file.

    Raises:
      RecordingError: a file of a folder ``calibration`` cannot be read.
    """
    try:
        content = json.loads(read_settings(path))
    except (OSError, ValueError, RecursionError) as error:
        if "calibration" not in path.parts[-4:]:
            return None
        raise RecordingError(
            f"the calibration {path} cannot be read ({reason(error)}): copy it again, or remove it"
        ) from error
    if not isinstance(content, dict) or not content:
        return None
    motors = [v for v in content.values() if isinstance(v, dict)]
    if len(motors) < len(content) or not all({"range_min", "range_max"} <= set(v) for v in motors):
        return None
    return content


def _motors(path: Path, content: dict[str, dict[str, object]], robot: str) -> dict[str, Motor]:
    """Motors of a calibration, in the order of their numbers.

    Raises:
      RecordingError: a field is missing, or a range is none of an encoder.
    """
    applied = not any(name in robot.lower() for name in _DYNAMIXEL)
    out, order = {}, {}
    for name, motor in content.items():
        values = {key: motor.get(key) for key in sorted(_KEYS)}
        wrong = [key for key, v in values.items() if type(v) is not int]
        if wrong:
            raise RecordingError(
                f"the calibration {path} has no whole number {listing(wrong)} of {name}: copy it "
                "again, or remove it"
            )
        low, high = int(str(values["range_min"])), int(str(values["range_max"]))
        if not 0 < high - low < TICKS:
            raise RecordingError(
                f"the calibration {path} has the range {low} to {high} of {name}, expected "
                f"range_min below range_max and at most {TICKS - 1} ticks: calibrate the robot "
                "again, or remove the file"
            )
        out[name.lower()] = Motor(low, high, applied and values["drive_mode"] != 0, path.name)
        order[name.lower()] = int(str(values["id"]))
    return {name: out[name] for name in sorted(out, key=lambda n: order[n])}


def _motor_of(name: str, path: Path, motors: dict[str, Motor], source: str) -> Motor | None:
    """Motor of a joint: by its name, in one of two arms by that of the file, or by its number."""
    if source != _LEROBOT:
        fits = [m for m in motors if _in_words(m) in _in_words(name)]
        return motors[max(fits, key=len)] if fits else None
    if name in motors:
        return motors[name]
    side = re.search(r"(^|_)(left|right)$", path.stem, re.I)
    if side and name.startswith(f"{side[2].lower()}_"):
        return motors.get(name.split("_", 1)[1])
    ordered = list(motors.values())
    return ordered[int(name)] if name.isdigit() and int(name) < len(ordered) else None


def _in_words(name: str) -> str:
    return f" {re.sub('[^a-z0-9]+', ' ', name).strip()} "


def _check_same(one: Motor, other: Motor, log: Path) -> None:
    """Raise RecordingError if two calibrations of a joint differ."""
    if (one.low, one.high, one.mirrored) != (other.low, other.high, other.mirrored):
        names = one.file if one.file == other.file else listing([one.file, other.file])
        raise RecordingError(
            f"several calibrations are within or next to {log.name} or the logs before it, and "
            f"differ ({names}): keep that of the robot that was recorded, and import logs of "
            "another calibration separately"
        )
