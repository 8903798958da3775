"""Recordings of the training of a network: their folder, and matches among other recordings."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trueup.cli.network.options import data_settings, data_values, settings_of_network
from trueup.errors import ExperimentError, RecordingError, RunDirectoryError
from trueup.networks import ActuatorSeries, DataSettings, Network
from trueup.networks.training import run_files
from trueup.runs.store.yaml_file import read_mapping

_BASE = "data_base_dir"
_DEPTH = 4
"""Number of folders from a member of an ensemble of a fold up to its run, and one for the file."""


@dataclass(frozen=True)
class NamedRecordings:
    """Recordings given to a command for a network."""

    network: Path
    """Run directory or network file."""
    data: Path | None
    """Folder of the recordings, or YAML file with keys of data; by default that of the training."""
    overrides: Sequence[str]
    """Further keys, as ``data.key=value``."""
    anyway: bool = False
    """Accept a network with changed recordings of its training."""

    def settings_for(self, network: Network) -> DataSettings:
        """Data settings for a network: those of its training, with the given keys replaced."""
        folder = data_values(self.data, self.overrides).get(_BASE)
        named = folder is not None or self.data is not None
        start = start_settings(self.network, network, named)
        if folder is not None:
            # groups of the training, without those that the other folder does not contain
            groups = start.get("inertia_groups") or ()
            place = Path(str(folder))
            start["inertia_groups"] = [g for g in groups if (place / g["folder"]).is_dir()]
        return data_settings(self.data, self.overrides, start)


@dataclass(frozen=True)
class TrainedOn:
    """Number of recordings that were part of training or validation of a network."""

    count: int
    """Number of files that were, whole or in part."""
    of: int
    """Total number of files."""

    @property
    def sentence(self) -> str:
        """The numbers in one sentence."""
        if not self.count:
            return f"None of these {self.of} recordings was part of the training."
        verb = "was" if self.count == 1 else "were"
        return (
            f"{self.count} of these {self.of} recordings {verb} part of the training, whole or in "
            "part: their scores are not a test of the network."
        )

    def to_dict(self) -> dict[str, int]:
        """JSON values."""
        return {"count": self.count, "of": self.of}


def trained_on(network: Network, series: Sequence[ActuatorSeries]) -> TrainedOn | None:
    """Number of recordings of the training of a network, by their hashes; None if unknown.

    The training includes its validation part.
    """
    origin = network.provenance
    hashes = origin.get("trained_on")
    if hashes is None and origin.get("split") == "global":
        hashes = [entry["sha256"] for entry in origin.get("inputs", ())]
    if not hashes:
        return None
    files = {each.source: each.sha256 for each in series}
    return TrainedOn(sum(sha256 in hashes for sha256 in files.values()), len(files))


def start_settings(path: Path, network: Network, named: bool) -> dict[str, Any]:
    """Data settings of the training of a network, with an absolute folder.

    Args:
        path: run directory, a folder within it, or a network file.
        network: the network.
        named: whether the command has other recordings.

    Raises:
        RecordingError: the folder of the recordings no longer exists.
        RunDirectoryError: a file of the run is damaged.
        ExperimentError: a network file outside of its run has no absolute folder of recordings.
    """
    start = settings_of_network(network)
    run = _run_of(path.resolve())
    if run is not None:
        content = read_mapping(run / "experiment.yaml")
        try:
            recorded = {**content["configuration"]["data"], **start}
            folder = run_files.recorded_data_folder(run, content)
        except (KeyError, TypeError) as error:
            raise RunDirectoryError(
                f"{run / 'experiment.yaml'} is damaged: the key {error} of the recordings is "
                "missing; restore it from a copy, or give the network file and --data"
            ) from error
        if not named and not folder.exists():
            raise RecordingError(
                f"the recordings of the training {run} are no longer in {folder}: give their "
                "folder with --data"
            )
        return {**recorded, _BASE: str(folder)}
    base = start.get(_BASE)
    if base is not None and not Path(base).is_absolute():
        if not named:
            raise ExperimentError(
                f"{path} is outside of its run directory, and the path {base!r} of its recordings "
                "is relative: give the folder of the recordings with --data"
            )
        del start[_BASE]
    return start


def _run_of(path: Path) -> Path | None:
    """Run directory of the training that contains a folder or file; None without one."""
    for folder in (path, *path.parents)[: _DEPTH + 1]:
        file = folder / "experiment.yaml"
        if file.is_file():
            return folder if read_mapping(file).get("kind") == run_files.KIND else None
    return None
