"""Trainings of networks so small that a run takes a second or two."""

from pathlib import Path
from typing import Any

from trueup.networks.training import load_configuration

SMALL = (
    "model.model_type.name=lstm",
    "model.gru_hidden_dim=6",
    "model.gru_num_layers=1",
    "train.max_epochs=2",
    "train.accelerator=cpu",
    "train.burn_in=20",
    "data.sequence_duration_s=0.5",
    "data.batch_size=32",
    "data.split_by=time",
    "model.warmup_epochs=1",
    "train.early_stopping.active=false",
)


def configured(data: Path, *overrides: str) -> Any:
    """The configuration of a small training on the recordings of a folder."""
    return load_configuration([f"data.data_base_dir={data}", *SMALL, *overrides])
