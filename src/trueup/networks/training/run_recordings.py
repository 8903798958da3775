"""Recordings of a training run: read, checked and split."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trueup.errors import ExperimentError
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.check import DataCheck, read_checked
from trueup.networks.data.splits import (
    DataSplit,
    split_global,
    split_lomo,
    split_named,
)
from trueup.networks.training.configuration import TrainingConfiguration
from trueup.runs.store import provenance


@dataclass(frozen=True, eq=False)
class RunRecordings:
    """Recordings of a configuration, and their splits."""

    series: list[ActuatorSeries]
    splits: list[DataSplit]
    """One for ``global``; one per group for ``lomo_cv``."""
    check: DataCheck
    """Findings of the checks of the recordings."""

    def inputs(self, folder: Path) -> list[Path | Mapping[str, Any]]:
        """Input files with their hashes; named relative to ``folder``."""
        hashes = {each.source: each.sha256 for each in self.series if each.source}
        return [
            provenance.known_input(source, sha256, folder)
            if sha256 and Path(source).is_file()
            else Path(source)
            for source, sha256 in hashes.items()
        ]


def read_recordings(configuration: TrainingConfiguration, *, refuse: bool = True) -> RunRecordings:
    """Read, check and split the recordings of a configuration.

    Args:
        configuration: configuration of the training.
        refuse: whether unusable recordings raise an error.

    Raises:
        TrueupError: the recordings cannot be read, used or split.
    """
    data = configuration.data
    settings = replace(data, data_base_dir=os.fspath(data_folder(configuration)))
    series, check = read_checked(settings, refuse=refuse)
    _check_sequence(series, data.sequence_duration_s)
    shares = (data.global_train_ratio, data.global_val_ratio, data.split_by, configuration.seed)
    if configuration.evaluation_mode == "lomo_cv":
        if data.test or data.validation:
            raise ExperimentError(
                "evaluation_mode=lomo_cv tests on each group in turn: remove data.test and "
                "data.validation"
            )
        splits = split_lomo(series, *shares)
    elif data.test or data.validation:
        splits = [split_named(series, data.test, data.validation, data.global_val_ratio)]
    else:
        splits = [split_global(series, *shares)]
    return RunRecordings(series, splits, check)


def _check_sequence(series: list[ActuatorSeries], duration: float | None) -> None:
    """Check that every recording is as long as the unrolled sequence.

    Raises:
        ExperimentError: the sequence is longer than the shortest recording.
    """
    shortest = min(series, key=lambda each: len(each) / each.rate)
    seconds = len(shortest) / shortest.rate
    if duration is not None and duration > seconds:
        raise ExperimentError(
            f"data.sequence_duration_s is {duration:g} s, longer than the shortest recording, "
            f"{shortest.name} of {seconds:.3g} s: set at most {seconds:.3g} s, or remove it"
        )


def data_folder(configuration: TrainingConfiguration) -> Path:
    """Folder of the recordings."""
    return configuration.folder / Path(configuration.data.data_base_dir).expanduser()
