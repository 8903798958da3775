"""Names and content of the files of a training run."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from trueup.networks.base.analytic import AnalyticBase
from trueup.networks.base.servo import ServoBase
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.evaluation.metrics import NetworkScores
from trueup.networks.model.network import Network
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.networks.training.schedule import chunk_samples
from trueup.runs.store import atomic

KIND = "network"
"""Kind of the run in ``experiment.yaml``."""

CONFIGURATION = "config.yaml"
NETWORK = "network.safetensors"
TRAINED_NETWORK = "trained.safetensors"
"""The network that was trained, where a mixture or a simpler one has replaced it as the result."""
LINEAR = "linear.safetensors"
NORMALIZATION = "normalization_stats.json"
SUMMARY = "training_config_summary.json"
METRICS = "metrics.json"
HISTORY = "history.jsonl"
CHECKPOINT = "last.ckpt"
FINISHED = "training.json"
DATA_CHECK = "data_check.json"
PREDICTIONS = "predictions"
HYDRA = ".hydra"
"""Folder of the composed configuration, with the layout of Hydra."""


def torchscript_file(run: Path, folder: Path, family: str) -> Path:
    """TorchScript file of the best network of a split.

    Args:
        run: run directory.
        folder: folder of the split: the run directory itself, or that of a fold.
        family: family of the network.
    """
    if folder == run:
        return run / f"{family}_best_jit.pt"
    fold = folder.name
    return run / "checkpoints" / fold / "jit_models" / f"{family}_{fold}_best_jit.pt"


def write_hydra(run: Path, values: Mapping[str, Any], overrides: Sequence[str]) -> None:
    """Write ``.hydra`` of a new run: configuration, overrides and path of the run."""
    folder = run / HYDRA
    if folder.is_dir():
        return  # the run is resumed
    folder.mkdir()
    hydra = {
        "mode": "RUN",
        "run": {"dir": str(run)},
        "overrides": {"hydra": [f"hydra.run.dir={run}"], "task": list(overrides)},
        "job": {"name": "train", "config_name": "config"},
    }
    contents = {"config": dict(values), "overrides": list(overrides), "hydra": {"hydra": hydra}}
    for name, content in contents.items():
        text = yaml.safe_dump(content, sort_keys=False)
        atomic.write_text(folder / f"{name}.yaml", text)


def recorded_data_folder(run: Path, content: Mapping[str, Any]) -> Path:
    """Folder of the recordings of a run: relative to the run, else at its original path.

    Args:
        run: run directory; it may have moved together with the recordings.
        content: content of its ``experiment.yaml``; old runs have no absolute path.
    """
    relative = Path(os.path.normpath(run / content["data_from_run"]))
    first = content.get("data_folder")
    return Path(first) if first is not None and not relative.exists() else relative


def sequence_length(configuration: TrainingConfiguration, rate: float) -> int:
    """Number of unrolled steps."""
    duration = configuration.data.sequence_duration_s
    return chunk_samples(rate) if duration is None else max(2, round(duration * rate))


def write_description(
    folder: Path,
    configuration: TrainingConfiguration,
    network: Network,
    training: Sequence[ActuatorSeries],
) -> None:
    """Write ``normalization_stats.json`` and ``training_config_summary.json``.

    The gains of the base are those of the network, possibly trained.
    """
    atomic.write_json(folder / NORMALIZATION, network.normalization.to_dict())
    model = configuration.model
    base = network.base if isinstance(network.base, AnalyticBase) else None
    servo = network.base.to_dict() if isinstance(network.base, ServoBase) else None
    summary = {
        "use_residual": network.base is not None,
        "servo_base": servo,
        "k_spring": 0.0 if base is None else base.k_spring,
        "theta0": 0.0 if base is None else base.theta0,
        "kp_phys": 0.0 if base is None else base.kp,
        "kd_phys": 0.0 if base is None else base.kd,
        "pd_stall_torque_phys_training": None if base is None else base.stall_torque,
        "pd_no_load_speed_phys_training": None if base is None else base.no_load_speed,
        "gru_num_layers": model.gru_num_layers,
        "gru_hidden_dim": model.gru_hidden_dim,
        "gru_sequence_length_timesteps": sequence_length(configuration, network.rate),
        "input_dim": len(network.features),
        "model_type": network.family,
        "linear_skip": network.has_skip,
        "history": network.history,
        "feature_names": list(network.features),
        "inputs": list(network.inputs),
        "rate_hz": network.rate,
        "dt_s": 1.0 / network.rate,
        "torque_limit": network.torque_limit,
        "groups": list(dict.fromkeys(each.group for each in training)),
        "data_sha256": {f"{each.group}/{each.name}": each.sha256 for each in training},
        "seed": configuration.seed,
    }
    atomic.write_json(folder / SUMMARY, summary)


def write_predictions(
    folder: Path,
    series: Sequence[ActuatorSeries],
    scores: NetworkScores,
    estimates: Mapping[str, Sequence[np.ndarray]],
) -> None:
    """Write a CSV file per recording: time [s], torque, prediction and other estimates [N m].

    Args:
        folder: run directory; the files are written to ``predictions``, in a folder per group.
        series: recordings of the test part.
        scores: scores of the network on them.
        estimates: further columns by name, each over all recordings.
    """
    for index, (each, scored) in enumerate(zip(series, scores.series, strict=True)):
        columns = {
            "time_s": each.start + each.times,
            "torque_nm": each.torque,
            "predicted_nm": scored.predicted,
            **{f"{name}_nm": values[index] for name, values in estimates.items()},
        }
        if each.reference_torque is not None:
            columns["reference_nm"] = each.reference_torque
        rows = np.stack(list(columns.values()), axis=1)
        lines = [",".join(columns), *(",".join(f"{v:.9g}" for v in row) for row in rows)]
        place = folder / PREDICTIONS / _file_name(each.group)
        place.mkdir(parents=True, exist_ok=True)
        name = _file_name(each.name.removeprefix(f"{each.group}/"))
        atomic.write_text(place / f"{name}.csv", "\n".join(lines) + "\n")


def _file_name(name: str) -> str:
    """Name of a group or recording with characters allowed in file names."""
    return re.sub(r"[^\w.+-]", "_", name).lstrip(".") or "_"
