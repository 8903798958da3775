"""The three files of a run that ``CombinedGRUAndPDActuator`` reads, checked against each other."""

import json
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from trueup.errors import FitError, listing, reason
from trueup.networks.base.analytic_base import AnalyticBase
from trueup.networks.data.features import FEATURE_NAMES

_NEEDED = ("use_residual", "gru_num_layers", "gru_hidden_dim", "input_dim")
_STATISTICS = ("input_mean", "input_std", "target_mean", "target_std")


@dataclass(frozen=True)
class RunFiles:
    """Numbers of the actuator, from ``normalization_stats.json`` and the training summary."""

    layers: int
    hidden: int
    input_mean: list[float]
    input_deviation: list[float]
    output_mean: float
    output_deviation: float
    has_base: bool
    kp: float
    kd: float
    k_spring: float
    """Stiffness of a spring that pulls back [N m/rad]."""
    theta0: float
    target_velocity: bool
    stall_torque: float | None
    no_load_speed: float | None
    rate: float | None
    """Samples a second in training [Hz]; None where the file does not say."""
    torque_limit: float | None
    sequence_length: int | None
    """Length of the training sequences [samples]: for information."""

    @property
    def base(self) -> AnalyticBase | None:
        """The analytic base, or None."""
        if not self.has_base:
            return None
        names = (f.name for f in fields(AnalyticBase) if f.name != "learned")
        return AnalyticBase(**{name: getattr(self, name) for name in names})


def read_run_files(statistics: str | Path, summary: str | Path) -> RunFiles:
    """Read and check both files.

    Raises:
        FitError: a file is missing, is no JSON object, lacks a key, or names other features.
    """
    stats, content = _read(statistics, _STATISTICS), _read(summary, _NEEDED)
    for path, names in ((statistics, stats.get("feature_names")),
                        (summary, content.get("feature_names"))):  # fmt: skip
        if names is not None and tuple(names) != FEATURE_NAMES:
            raise FitError(
                f"{path}: the network reads {listing(names)}; the actuator feeds "
                f"{listing(FEATURE_NAMES)}, in this order"
            )
    if not len(stats["input_mean"]) == len(stats["input_std"]) == len(FEATURE_NAMES):
        raise FitError(
            f"{statistics} has statistics of {len(stats['input_mean'])} features; the actuator "
            f"feeds {listing(FEATURE_NAMES)}"
        )
    stall = content.get("pd_stall_torque_phys_training") or None
    free = content.get("pd_no_load_speed_phys_training") or None
    if stall is None or free is None or stall <= 0 or free <= 0:
        stall = free = None
    # without the mark a file is of a training whose spring pushes away
    sign = 1.0 if content.get("k_spring_pulls_back") else -1.0
    return RunFiles(
        layers=int(content["gru_num_layers"]),
        hidden=int(content["gru_hidden_dim"]),
        input_mean=[float(v) for v in stats["input_mean"]],
        input_deviation=[float(v) for v in stats["input_std"]],
        output_mean=float(stats["target_mean"][0]),
        output_deviation=float(stats["target_std"][0]),
        has_base=bool(content["use_residual"]),
        kp=float(content.get("kp_phys", 0.0)),
        kd=float(content.get("kd_phys", 0.0)),
        k_spring=sign * float(content.get("k_spring", 0.0)),
        theta0=float(content.get("theta0", 0.0)),
        target_velocity=bool(content.get("pd_target_velocity", False)),
        stall_torque=stall,
        no_load_speed=free,
        rate=content.get("rate_hz"),
        torque_limit=content.get("torque_limit_nm"),
        sequence_length=content.get("gru_sequence_length_timesteps"),
    )


def _read(path: str | Path, needed: tuple[str, ...]) -> dict[str, Any]:
    try:
        content = json.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise FitError(f"{path} cannot be read: {reason(error)}") from error
    lacking = [key for key in needed if not isinstance(content, dict) or key not in content]
    if lacking:
        raise FitError(f"{path} lacks {listing(lacking)}")
    return content
