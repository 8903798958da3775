"""Checks of commands, gains and angles before training: which signals must vary."""

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
