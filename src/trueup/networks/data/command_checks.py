"""Checks of commands, gains and angles before a network is trained: what recordings must vary."""

import math
from collections.abc import Sequence

import numpy as np

from trueup.networks.data.features import (
    ANGLE,
    ANGLE_ERROR,
    POSITION_GAIN,
    TARGET_ANGLE,
    with_derived,
)
from trueup.networks.data.recordings import COMMANDS
from trueup.networks.data.settings import COMMAND, GAINS, UNITS, DataSettings
from trueup.signals import Finding, Recording, suspect_units
from trueup.signals.checks.finding import Severity
from trueup.signals.checks.units import RELATED

_CONSTANT = 1e-9
"""Range of a command, relative to its size, that is rounding."""

_DEGREES = 180.0 / math.pi
_DEGREES_TOLERANCE = 1.25
"""Factor by which a command may be followed too far or not far enough, and still show degrees."""


def check_commands(recorded: Sequence[Recording], settings: DataSettings) -> list[Finding]:
    """Refuse recordings of which no command ever changes."""
    commands: dict[str, bool] = {}
    for each in recorded:
        known = with_derived(each.stream.columns)
        for name in COMMANDS:
            if name in known:
                commands[name] = commands.get(name, False) or _varies(known[name])
    if any(commands.values()):
        return []
    if not commands:
        # an angle error that stands alone may vary by the command as well as by the motion
        if any(ANGLE_ERROR in each.columns for each in recorded):
            return []
        sentence = (
            f"No command is among the columns ({', '.join(COMMANDS)}): the network sees motion, "
            "and not what the actuator was asked for."
        )
        return [Finding(COMMAND, "warning", "", sentence)]
    sentence = (
        f"No command changes in any of {len(recorded)} recordings ({', '.join(commands)}): what "
        "the actuator does when it is driven cannot be learnt. Record motion that is commanded, or "
        "map the column of the command that was given."
    )
    return [Finding(COMMAND, _severity(COMMAND, settings), "", sentence)]


def check_gains(recorded: Sequence[Recording], settings: DataSettings) -> list[Finding]:
    """Refuse recordings at several gains where the network is not told which."""
    columns = [each.stream.columns for each in recorded]
    signals = [each[POSITION_GAIN] for each in columns if POSITION_GAIN in each]
    gains = sorted({float(gain) for values in signals for gain in np.unique(values)})
    if len(gains) < 2 or POSITION_GAIN in settings.features or not np.isfinite(gains).all():
        return []
    sentence = (
        f"The recordings have the gains {', '.join(f'{gain:g}' for gain in gains)}, and the "
        f"network is not told which: add {POSITION_GAIN} to data.features, or train on one gain."
    )
    return [Finding(GAINS, _severity(GAINS, settings), POSITION_GAIN, sentence)]


def follows_an_angle(recording: Recording) -> bool:
    """Whether a target angle that changes is what the joint is driven by."""
    target = with_derived(recording.stream.columns).get(TARGET_ANGLE)
    return target is not None and _varies(target)


def look_like_degrees(recording: Recording, settings: DataSettings) -> list[Finding]:
    """Angles of a recording that look like degrees: by their range, or command beside motion.

    A joint that follows no angle, but a torque, may turn as far as it likes.
    """
    if not follows_an_angle(recording):
        return []
    sentences, columns = {}, recording.stream.columns
    for name in (ANGLE, TARGET_ANGLE, ANGLE_ERROR):
        if name in columns:
            sentences[name] = suspect_units(name, columns[name], "angle")
    if not any(sentences.values()):
        sentences = _beside_each_other(recording)
    return [
        Finding(UNITS, _severity(UNITS, settings), name, sentence)
        for name, sentence in sentences.items()
        if sentence
    ]


def _beside_each_other(recording: Recording) -> dict[str, str | None]:
    """The angle that is in degrees where the commanded and the measured one are in two units."""
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
        large: f"{large} moves {times:.3g} times as far as {small}: it looks like degrees: give "
        "its unit as deg."
    }


def _severity(kind: str, settings: DataSettings) -> Severity:
    return "warning" if kind in settings.accept else "refuse"


def _varies(values: np.ndarray) -> bool:
    finite = values[np.isfinite(values)]
    return finite.size > 0 and float(np.ptp(finite)) > _CONSTANT * float(np.abs(finite).max())
