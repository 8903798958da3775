"""Checks of commands, gains and angles before training: which signals must vary."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from trueup.errors import listing
from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    COMMANDED_TORQUE,
    POSITION_GAIN,
    TARGET_ANGLE,
    with_derived,
)
from trueup.networks.data.recordings import COMMANDS
from trueup.networks.data.settings import (
    COMMAND,
    GAINS,
    REFERENCE_TORQUE,
    TORQUE,
    UNITS,
    DataSettings,
)
from trueup.signals import Finding, Recording, suspect_units
from trueup.signals.checks.copies import copy_sentence
from trueup.signals.checks.finding import Severity
from trueup.signals.checks.units import RELATED

_FEWEST_FOLLOWED = 50
_FOLLOWING = 0.3
"""Largest lag of an angle behind its target [s]."""
_LAGS_TRIED = 40
_OTHER_SIGN = 0.1
"""Smallest difference of the correlations of both signs."""

_LARGEST_TORQUE = 1000.0
"""Torque that joints of robots do not reach [N m]."""

_CONSTANT = 1e-9
"""Range of a command relative to its magnitude below which it is rounding."""

_DEGREES = 180.0 / math.pi
_DEGREES_TOLERANCE = 1.25
"""Tolerance of the ratio of motion to command around that of degrees to radians, as a factor."""


def check_commands(recorded: Sequence[Recording], settings: DataSettings) -> list[Finding]:
    """Refuse recordings in which no command changes."""
    commands: dict[str, bool] = {}
    for each in recorded:
        known = with_derived(each.stream.columns)
        for name in COMMANDS:
            if name in known:
                commands[name] = commands.get(name, False) or _varies(known[name])
    if any(commands.values()):
        return []
    if not commands:
        # an angle error without a target may vary because of the command or of the motion
        if any(ANGLE_ERROR in each.columns for each in recorded):
            return []
        sentence = (
            f"No command is among the columns ({', '.join(COMMANDS)}): the network receives "
            "the motion but not the command of the actuator."
        )
        return [Finding(COMMAND, "warning", "", sentence)]
    sentence = (
        f"The commands ({', '.join(commands)}) are constant in all {len(recorded)} recordings: "
        "the response of the actuator to a command cannot be learned. Record commanded motion, or "
        "map the column of the command."
    )
    return [Finding(COMMAND, _severity(COMMAND, settings), "", sentence)]


def check_command_signs(
    recorded: Sequence[Recording], names: Sequence[str], settings: DataSettings
) -> list[Finding]:
    """Refuse target angles that the joint follows with the other sign, or that repeat its angle.

    Args:
        recorded: the recordings.
        names: name of each, for messages.
        settings: settings of the data.
    """
    signs = [_followed_sign(each) for each in recorded]
    found = [*_copied_commands(recorded, names, settings)]
    odd = [name for name, sign in zip(names, signs, strict=True) if sign < 0]
    if not odd:
        return found
    everywhere = 1 not in signs  # the motion of some shows no sign
    files = "all recordings" if everywhere else listing(odd)
    sentence = (
        f"The angle follows the target angle with the other sign in {files}: the sign of one of "
        f"them is reversed. Give {TARGET_ANGLE} in data.columns a scale of -1"
        + ("." if everywhere else " for these files, or remove them.")
    )
    return [*found, Finding(COMMAND, _severity(COMMAND, settings), TARGET_ANGLE, sentence)]


def _copied_commands(
    recorded: Sequence[Recording], names: Sequence[str], settings: DataSettings
) -> Iterator[Finding]:
    """Find target angles that repeat the measured angle."""
    for name, each in zip(names, recorded, strict=True):
        known = each.stream.columns
        if {TARGET_ANGLE, ANGLE} <= set(known):
            sentence = copy_sentence(TARGET_ANGLE, known[TARGET_ANGLE], ANGLE, known[ANGLE])
            if sentence:
                severity = _severity(COMMAND, settings)
                yield Finding(COMMAND, severity, TARGET_ANGLE, f"{name}: {sentence}.")


def _followed_sign(recording: Recording) -> int:
    """Sign with which the angle follows the target angle; 0 where it is not certain.

    A periodic motion follows the reversed target half a period later: only a correlation that no
    lag of the other sign reaches is certain.
    """
    known = with_derived(recording.stream.columns)
    if not {TARGET_ANGLE, ANGLE} <= set(known) or not _varies(known[TARGET_ANGLE]):
        return 0
    times = recording.stream.times
    pair = np.stack([known[TARGET_ANGLE], known[ANGLE]])
    count = len(times)
    step = float(np.median(np.diff(times))) if count > _FEWEST_FOLLOWED else 0.0
    if step <= 0.0 or not np.isfinite(pair).all():
        return 0
    reach = min(int(_FOLLOWING / step), count // 4)
    lags = np.unique(np.linspace(0, reach, _LAGS_TRIED).round().astype(int))
    found = []
    for lag in lags:
        target, angle = pair[0, : count - lag], pair[1, lag:]
        if target.std() <= 0 or angle.std() <= 0:
            return 0
        found.append(float(np.corrcoef(target, angle)[0, 1]))
    highest, lowest = max(found), min(found)
    if max(highest, -lowest) < RELATED or abs(highest + lowest) < _OTHER_SIGN:
        return 0
    return 1 if highest > -lowest else -1


def check_magnitude(
    recorded: Sequence[Recording], names: Sequence[str], settings: DataSettings
) -> list[Finding]:
    """Find torques in N mm: by the commanded torque or the estimate, or by their size.

    Args:
        recorded: the recordings.
        names: name of each, for messages.
        settings: settings of the data.
    """
    by_ratio, by_size = [], []
    for name, each in zip(names, recorded, strict=True):
        columns = each.stream.columns
        torque = columns.get(TORQUE)
        if torque is None or not np.isfinite(torque).all() or torque.std() <= 0:
            continue
        for other in (REFERENCE_TORQUE, COMMANDED_TORQUE):
            values = columns.get(other)
            if values is None or not np.isfinite(values).all() or values.std() <= 0:
                continue
            related = np.corrcoef(torque, values)[0, 1] >= RELATED
            if related and _is_thousand(float(torque.std() / values.std())):
                by_ratio.append(f"{name} ({other})")
                break
        else:
            if float(np.quantile(np.abs(torque), 0.99)) > _LARGEST_TORQUE:
                by_size.append(name)
    found = []
    if by_ratio:
        sentence = (
            f"The torque is a thousand times, or a thousandth of, another torque in "
            f"{listing(by_ratio)}: one of them is in mN m. Set its unit in data.columns, such as "
            "{column: ..., unit: mN m}."
        )
        found.append(Finding(UNITS, _severity(UNITS, settings), TORQUE, sentence))
    if by_size:
        sentence = (
            f"The torque exceeds {_LARGEST_TORQUE:g} N m in {listing(by_size)}: if it is in mN m, "
            "set its unit in data.columns, such as {column: ..., unit: mN m}."
        )
        found.append(Finding(UNITS, "warning", TORQUE, sentence))
    return found


def _is_thousand(ratio: float) -> bool:
    return abs(abs(math.log(ratio)) - math.log(1000.0)) < math.log(2.0)


def check_gains(recorded: Sequence[Recording], settings: DataSettings) -> list[Finding]:
    """Refuse recordings with several gains where the gain is not an input of the network."""
    columns = [each.stream.columns for each in recorded]
    signals = [each[POSITION_GAIN] for each in columns if POSITION_GAIN in each]
    gains = sorted({float(gain) for values in signals for gain in np.unique(values)})
    if len(gains) < 2 or POSITION_GAIN in settings.features or not np.isfinite(gains).all():
        return []
    sentence = (
        f"The recordings have the gains {', '.join(f'{gain:g}' for gain in gains)}, but the "
        f"gain is not an input of the network: add {POSITION_GAIN} to data.features, or train on "
        "one gain."
    )
    return [Finding(GAINS, _severity(GAINS, settings), POSITION_GAIN, sentence)]


def follows_an_angle(recording: Recording) -> bool:
    """Whether the joint is driven by a target angle that changes."""
    target = with_derived(recording.stream.columns).get(TARGET_ANGLE)
    return target is not None and _varies(target)


def look_like_degrees(recording: Recording, settings: DataSettings) -> list[Finding]:
    """Angles that appear to be in degrees: by their range, or by the ratio of command to motion.

    The range of a torque-driven joint, which follows no target angle, is not checked.
    """
    if not follows_an_angle(recording):
        return []
    sentences, columns = {}, recording.stream.columns
    for name in (ANGLE, TARGET_ANGLE, ANGLE_ERROR):
        if name in columns:
            sentences[name] = suspect_units(name, columns[name], "angle")
    if not any(sentences.values()):
        sentences = _degrees_by_ratio(recording)
    return [
        Finding(UNITS, _severity(UNITS, settings), name, sentence)
        for name, sentence in sentences.items()
        if sentence
    ]


def _degrees_by_ratio(recording: Recording) -> dict[str, str | None]:
    """The angle in degrees where the commanded and the measured angle have different units."""
    columns = recording.stream.columns
    if not {ANGLE, TARGET_ANGLE} <= set(columns):
        return {}
    pair = np.stack([columns[TARGET_ANGLE], columns[ANGLE]])
    pair = pair[:, np.isfinite(pair).all(axis=0)]
    if pair.shape[1] < 3:
        return {}
    sizes = pair.std(axis=1)
    if not (sizes > 0).all() or np.corrcoef(pair)[0, 1] < RELATED:
        return {}
    ratio = float(sizes[0] / sizes[1])
    if abs(abs(math.log(ratio)) - math.log(_DEGREES)) > math.log(_DEGREES_TOLERANCE):
        return {}
    large, small = (TARGET_ANGLE, ANGLE) if ratio > 1.0 else (ANGLE, TARGET_ANGLE)
    times = max(ratio, 1.0 / ratio)
    return {
        large: f"The range of {large} is {times:.3g} times that of {small}: it appears to be in "
        "degrees: set its unit to deg."
    }


def _severity(kind: str, settings: DataSettings) -> Severity:
    return "warning" if kind in settings.accept else "refuse"


def _varies(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return finite.size > 0 and float(np.ptp(finite)) > _CONSTANT * float(np.abs(finite).max())
