"""The JSON files of a run of ``CombinedGRUAndPDActuator``, with checks of their consistency."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.errors import ParameterError
from trueup.networks.data.features import FEATURE_NAMES

_NEEDED = ("use_residual", "gru_num_layers", "gru_hidden_dim", "input_dim")
_STATISTICS = ("input_mean", "input_std", "target_mean", "target_std")


@dataclass(frozen=True)
class RunFiles:
    """Constants of the actuator, from ``normalization_stats.json`` and the training summary."""

    layers: int
    hidden: int
    input_mean: list[float]
    input_deviation: list[float]
    output_mean: float
    output_deviation: float
    has_base: bool
    """Whether a PD law and a spring are added to the network's output."""
    kp: float
    """Proportional gain [N m/rad]."""
    kd: float
    """Derivative gain [N m s/rad]."""
    k_spring: float
    """Gain of a spring [N m/rad]; a positive one pushes away from its angle without torque."""
    theta0: float
    """Angle at which the spring has no torque [rad]."""
    target_velocity: bool
    """Whether the target velocity enters the derivative term; otherwise it is zero there."""
    stall_torque: float | None
    """Stall torque limit of the PD law [N m]; None: no limit."""
    no_load_speed: float | None
    """No-load speed, with zero torque in the direction of motion [rad/s]; None: no limit."""
    rate: float | None
    """Sampling rate in training [Hz]; None if the file has none."""
    torque_limit: float | None
    """Limit of the total torque [N m]; None: no limit."""
    sequence_length: int | None
    """Length of the training sequences [samples], for information only."""
    feature_lowest: list[float] | None
    """Smallest value of each feature in training; None if the file has none."""
    feature_highest: list[float] | None
    """Largest value of each feature in training; None if the file has none."""


def read_run_files(statistics: str | Path, summary: str | Path) -> RunFiles:
    """Read and check both files.

    Raises:
      ParameterError: a file is missing, not a JSON object, lacks a key, has a value that is not a
        number, or lists other features.
    """
    stats, content = _read(statistics, _STATISTICS), _read(summary, _NEEDED)
    fed = ", ".join(FEATURE_NAMES)
    for path, found in ((statistics, stats), (summary, content)):
        names = found.get("feature_names")
        if names is not None and (not isinstance(names, list) or tuple(names) != FEATURE_NAMES):
            raise ParameterError(
                f"{path}: the network requires {names}; the actuator supplies {fed}, in this order"
            )
    mean, deviation = (_numbers(stats, key, statistics) for key in _STATISTICS[:2])
    if not len(mean) == len(deviation) == len(FEATURE_NAMES):
        raise ParameterError(
            f"{statistics} has statistics of {len(mean)} features; the actuator supplies {fed}"
        )
    target_mean, target_std = (_numbers(stats, key, statistics) for key in _STATISTICS[2:])
    if not target_mean or not target_std:
        raise ParameterError(f"{statistics}: target_mean and target_std must be one number each")
    if min(*deviation, target_std[0]) <= 0:
        raise ParameterError(f"{statistics}: input_std and target_std must be above 0")

    def number(key: str, default: float = 0.0) -> float:
        return _number(content.get(key, default), key, summary)

    def positive(key: str) -> float | None:
        found = content.get(key)
        return None if found is None or number(key) <= 0 else number(key)

    def limits(key: str) -> list[float] | None:
        if content.get(key) is None:
            return None
        found = _numbers(content, key, summary)
        if len(found) != len(FEATURE_NAMES):
            raise ParameterError(
                f"{summary}: {key} has {len(found)} numbers; the actuator supplies {fed}"
            )
        return found

    sizes = [number(key) for key in ("gru_num_layers", "gru_hidden_dim")]
    if not all(size >= 1 and size == int(size) for size in sizes):
        raise ParameterError(
            f"{summary}: gru_num_layers and gru_hidden_dim must be integers of at least 1"
        )
    stall, free = (positive(f"pd_{key}_phys_training") for key in ("stall_torque", "no_load_speed"))
    length = content.get("gru_sequence_length_timesteps")
    # two names under which older versions state that a positive k_spring pulls back
    pulls = content.get("k_spring_pulls_back") or content.get("spring_restores")
    sign = -1.0 if pulls else 1.0
    return RunFiles(
        layers=int(sizes[0]),
        hidden=int(sizes[1]),
        input_mean=mean,
        input_deviation=deviation,
        output_mean=target_mean[0],
        output_deviation=target_std[0],
        has_base=bool(content["use_residual"]),
        kp=number("kp_phys"),
        kd=number("kd_phys"),
        k_spring=sign * number("k_spring"),
        theta0=number("theta0"),
        target_velocity=bool(content.get("pd_target_velocity", False)),
        stall_torque=None if free is None else stall,
        no_load_speed=None if stall is None else free,
        rate=positive("rate_hz"),
        torque_limit=positive("torque_limit_nm"),
        sequence_length=None if length is None else int(number("gru_sequence_length_timesteps")),
        feature_lowest=limits("feature_lowest"),
        feature_highest=limits("feature_highest"),
    )


def _read(path: str | Path, needed: tuple[str, ...]) -> dict[str, Any]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ParameterError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"{path} cannot be read (invalid JSON: {error})") from error
    lacking = [key for key in needed if not isinstance(content, dict) or key not in content]
    if lacking:
        raise ParameterError(f"{path} lacks the keys {', '.join(lacking)}")
    return content


def _numbers(content: dict[str, Any], key: str, path: str | Path) -> list[float]:
    values = content[key]
    if not isinstance(values, list):
        raise ParameterError(f"{path}: {key}: expected a list of numbers, found {values!r:.60}")
    return [_number(value, key, path) for value in values]


def _number(value: Any, key: str, path: str | Path) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # JSON integers can exceed the range of float
    if not is_number or not abs(value) <= sys.float_info.max:
        raise ParameterError(f"{path}: {key}: expected a finite number, found {value!r:.60}")
    return float(value)
