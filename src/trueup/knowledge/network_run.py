"""Ensemble of networks, with its members as draws."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RunDirectoryError
from trueup.fitting.judgement.verdict import Verdict
from trueup.fitting.uncertainty.start_noise import noise_from_changes
from trueup.knowledge.draws import Draws
from trueup.knowledge.finished_run import finished, mark_of
from trueup.knowledge.held_out_check import HeldOutCheck, SequenceBand
from trueup.networks.runtime.ensemble import MEMBERS, NetworkEnsemble
from trueup.networks.training.run_recordings import RunRecordings, read_recordings
from trueup.networks.training.spec import TrainingSpec
from trueup.runs import check_inputs, read_spec
from trueup.runs.kinds import kind_of, noun_of
from trueup.runs.store.input_check import check_read
from trueup.runs.store.run_directory import RunDirectory


@dataclass(frozen=True)
class NetworkRun:
    """A finished training of an ensemble; a row is a member."""

    directory: RunDirectory
    """Directory of the run."""
    recordings: RunRecordings
    """Recordings of the training."""
    solution: dict[str, Any]
    """Content of ``solution.json``."""
    verdict: Verdict
    """Verdict on the use of the run."""
    ensemble: NetworkEnsemble
    """The trained networks."""
    joints: int | None
    """Number of joints per environment that are driven by the actuator."""
    mark: str | None = None
    """Mark of all results, if recordings have changed or the verdict is "do not use"."""
    names: tuple[str, ...] = ("member",)
    """Name of the only column of the rows, the index of the member."""
    narrower: float = 1.0
    """Ratio of marginal to conditional standard deviation; 1 for a single column."""

    @property
    def widened(self) -> dict[str, float]:
        """Empty: members are not widened for model error."""
        return {}

    @property
    def drawn(self) -> NetworkEnsemble:
        """The ensemble; each row is one of its networks."""
        return self.ensemble

    def draw(
        self, count: int, seed: int, progress: Callable[[float], None] | None
    ) -> tuple[HeldOutCheck | None, np.ndarray]:
        """Band of the members over the test recordings, which reject none, and their indices."""
        members = np.arange(len(self.ensemble.networks), dtype=float)[:, None]
        splits = self.recordings.splits
        if len(splits) != 1:
            return None, members
        check = HeldOutCheck(members, drawn=len(members))
        tested = splits[0].test
        for number, each in enumerate(tested):
            torque = self.ensemble.each(each.features(self.ensemble.inputs))
            mean = torque.mean(axis=0)
            noise = noise_from_changes((each.torque - mean)[:, None], [0])
            check.bands.append(
                SequenceBand(
                    each.name,
                    ("torque",),
                    ("N m",),
                    each.start + each.times,
                    np.ones(len(each.times), bool),
                    each.torque[:, None],
                    mean[:, None],
                    torque[:, :, None],
                    noise,
                )
            )
            if progress is not None:
                progress((number + 1) / len(tested))
        return check, members

    def rows(self, values: np.ndarray) -> tuple[Draws, list[str]]:
        """Draws with one row per member, and a sentence on what their spread omits."""
        made = Draws(self.names, ("",), ("network",), values)
        return made, [
            "members differ where recordings are sparse; their spread includes neither the noise "
            "of the torque nor errors common to all of them"
        ]

    def cost(self, count: int) -> tuple[Sequence[str], float]:
        """Names of the test recordings; the time of their predictions is negligible."""
        return [each.name for split in self.recordings.splits for each in split.test], 0.0


def network_run(
    directory: str | os.PathLike[str],
    *,
    anyway: bool = False,
    folder: Path | None = None,
    joints: int | None = None,
) -> NetworkRun:
    """Read a finished training of an ensemble.

    Args:
      directory: run directory.
      anyway: accept a run with the verdict "do not use", or with changed recordings.
      folder: folder of the recordings, if they have moved relative to the run.
      joints: number of joints per environment that are driven by the networks.

    Raises:
      RunDirectoryError: it is not a finished training of two networks or more, has the verdict "do
        not use", or its recordings have changed.
    """
    opened = RunDirectory.open(directory)
    check = check_inputs(opened, folder=folder, anyway=anyway)
    if kind_of(opened) != TrainingSpec.kind:
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind_of(opened))}; expected a training of networks "
            "(trueup network train)"
        )
    spec = read_spec(opened, folder)
    assert isinstance(spec, TrainingSpec)
    solution, verdict = finished(opened, anyway)
    if not opened.inside(MEMBERS).is_dir():
        raise RunDirectoryError(
            f"{opened.path} contains one network; draws require an ensemble: train it with "
            "model.ensemble_members=5"
        )
    ensemble = NetworkEnsemble.load(opened.path, anyway=True)
    # findings were accepted at the start; changed recordings are detected by their hashes
    recordings = read_recordings(spec.configuration, refuse=False)
    inputs = recordings.inputs(spec.data_from_run)
    mark = mark_of(check_read(check, inputs, anyway=anyway), verdict)
    return NetworkRun(opened, recordings, solution, verdict, ensemble, joints, mark)
