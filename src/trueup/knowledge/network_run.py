"""An ensemble of networks, whose members are what the recordings leave open."""

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
    """A finished training of an ensemble; its rows are its members."""

    directory: RunDirectory
    recordings: RunRecordings
    solution: dict[str, Any]
    """Content of ``solution.json``."""
    verdict: Verdict
    ensemble: NetworkEnsemble
    joints: int | None
    """Joints of an environment that the actuator drives."""
    mark: str | None = None
    """Mark of everything made from it, where its inputs have changed."""
    names: tuple[str, ...] = ("member",)
    narrower: float = 1.0

    @property
    def widened(self) -> dict[str, float]:
        """Nothing: members are what training gave."""
        return {}

    @property
    def drawn(self) -> NetworkEnsemble:
        """The networks that the rows are."""
        return self.ensemble

    def draw(
        self, count: int, seed: int, progress: Callable[[float], None] | None
    ) -> tuple[HeldOutCheck | None, np.ndarray]:
        """Band of the members over the test recordings, which reject none, and their numbers."""
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
        """One row a member."""
        made = Draws(self.names, ("",), ("network",), values)
        return made, [
            "members differ where recordings were few: their spread holds neither the noise of the "
            "torque nor what all of them miss"
        ]

    def cost(self, count: int) -> tuple[Sequence[str], float]:
        """Test recordings by name; their predictions take no time to speak of."""
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
      anyway: take a run whose verdict is "do not use", or whose recordings have changed, too.
      folder: where the recordings are, if they have moved away from the run.
      joints: joints of an environment that the networks drive.

    Raises:
      RunDirectoryError: it is no finished training of two networks or more, its verdict is "do
        not use", or its recordings have changed.
    """
    opened = RunDirectory.open(directory)
    check = check_inputs(opened, folder=folder, anyway=anyway)
    if kind_of(opened) != TrainingSpec.kind:
        raise RunDirectoryError(
            f"{opened.path} is {noun_of(kind_of(opened))}; this takes a training of networks "
            "(trueup network train)"
        )
    spec = read_spec(opened, folder)
    assert isinstance(spec, TrainingSpec)
    solution, verdict = finished(opened, anyway)
    if not opened.inside(MEMBERS).is_dir():
        raise RunDirectoryError(
            f"{opened.path} has no ensemble to draw from, but one network: train several with "
            "model.ensemble_members=5"
        )
    ensemble = NetworkEnsemble.load(opened.path, anyway=True)
    # accepted when the run was begun: changed ones are found by their hashes
    recordings = read_recordings(spec.configuration, refuse=False)
    inputs = recordings.inputs(spec.data_from_run)
    mark = mark_of(check_read(check, inputs, anyway=anyway), verdict)
    return NetworkRun(opened, recordings, solution, verdict, ensemble, joints, mark)
