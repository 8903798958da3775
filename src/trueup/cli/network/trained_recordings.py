"""The recordings of a network's training: where they lie, and which of others they are."""

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
"""Folders from a member of an ensemble of a fold up to its run, and one for the file."""


@dataclass(frozen=True)
class NamedRecordings:
    """Recordings that a command names for a network."""

    network: Path
    """Run directory or network file."""
    data: Path | None
    """Folder of the recordings, or YAML file with keys of data; by default that of the training."""
    overrides: Sequence[str]
    """Further keys, as ``data.key=value``."""
    anyway: bool = False
    """Whether a network is taken whose recordings have changed since its training."""

    def settings_for(self, network: Network) -> DataSettings:
        """How the recordings are read for a network: as those of its training, but for these."""
        folder = data_values(self.data, self.overrides).get(_BASE)
        named = folder is not None or self.data is not None
        start = start_settings(self.network, network, named)
        if folder is not None:
            # groups are folders of the training's recordings; others may have their own
            groups = start.get("inertia_groups") or ()
            place = Path(str(folder))
            start["inertia_groups"] = [g for g in groups if (place / g["folder"]).is_dir()]
        return data_settings(self.data, self.overrides, start)


@dataclass(frozen=True)
class TrainedOn:
    """How many recordings a network was trained on, or its epoch chosen by."""

    count: int
    """Files that were, whole or in part."""
    of: int
    """Files."""

    @property
    def sentence(self) -> str:
        """In words."""
        if not self.count:
            return f"None of these {self.of} recordings was trained on."
        verb = "was" if self.count == 1 else "were"
        return (
            f"{self.count} of these {self.of} recordings {verb} trained on, whole or in part: a "
            "score on those is no test of the network."
        )

    def to_dict(self) -> dict[str, int]:
        """Plain data, as a JSON file holds it."""
        return {"count": self.count, "of": self.of}


def trained_on(network: Network, series: Sequence[ActuatorSeries]) -> TrainedOn | None:
    """Which recordings are of the network's training, by their hashes; None where it is not known.

    They are those of its training and validation parts.
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
    """How and where the recordings of a network's training are read, wherever the command is given.

    Args:
        path: run directory, a folder within it, or a network file.
        network: the network.
        named: whether the command names recordings itself.

    Raises:
        RecordingError: the recordings of the run are not where they were.
        RunDirectoryError: a file of the run is damaged.
        ExperimentError: a file outside of its run does not tell in which folder they are.
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
                f"{run / 'experiment.yaml'} does not tell how its recordings are read: it lacks "
                f"{error}"
            ) from error
        if not named and not folder.exists():
            raise RecordingError(
                f"the recordings that {run} was trained on are no longer in {folder}: give --data "
                "FOLDER"
            )
        return {**recorded, _BASE: str(folder)}
    base = start.get(_BASE)
    if base is not None and not Path(base).is_absolute():
        if not named:
            raise ExperimentError(
                f"{path} lies outside of its training run and tells its recordings as {base!r} "
                "only, which is another folder wherever the command is given: give --data FOLDER"
            )
        del start[_BASE]
    return start


def _run_of(path: Path) -> Path | None:
    """The training run that a folder or file belongs to; None where there is none."""
    for folder in (path, *path.parents)[: _DEPTH + 1]:
        file = folder / "experiment.yaml"
        if file.is_file():
            return folder if read_mapping(file).get("kind") == run_files.KIND else None
    return None
