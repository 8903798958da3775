"""One experiment from the recordings of several runs, for a joint fit of their common unknowns."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from trueup._marks import marked
from trueup.errors import RunDirectoryError, listing
from trueup.reconcile.reconciled import ReconciledRuns
from trueup.runs import check_inputs, read_spec
from trueup.runs.kinds import kind_of, noun_of
from trueup.runs.store.provenance import sha256_of
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.settings import Experiment, HeldOut
from trueup.sysid.fit.spec import IdentificationSpec

if TYPE_CHECKING:
    from trueup.sysid.fit.identification import Identification

_OWN = {"name", "recordings", "held_out", "output", "seed"}
"""Fields in which experiments of one robot may differ."""


def fit_jointly(
    found: ReconciledRuns,
    output: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    verbose: bool = False,
) -> "Identification":
    """Identify the recordings of all consistent runs jointly.

    Args:
      found: the runs, from :func:`trueup.reconcile.reconcile`.
      output: run directory.
      folder: folder of the inputs, if they have moved.
      overwrite: replace the run in the directory.
      verbose: show progress on the error stream.

    Raises:
      RunDirectoryError: as ``joint_experiment``.
      TrueupError, RunInterrupted: as :func:`trueup.sysid.identify`.
    """
    from trueup.sysid import identify

    outlying = {outlier.index for outlier in found.pooled.outlying}
    runs = [run for i, run in enumerate(found.runs) if i not in outlying]
    experiment, place = joint_experiment(runs, folder, anyway=found.mark is not None)
    with marked(found.mark):
        return identify(
            experiment, place, output=Path(output), overwrite=overwrite, verbose=verbose
        )


def joint_experiment(
    runs: Sequence[str | os.PathLike[str]],
    folder: str | os.PathLike[str] | None = None,
    *,
    anyway: bool = False,
) -> tuple[Experiment, Path]:
    """Experiment with the recordings of all runs, and the base folder of its file names.

    A recording with a name that another run uses too is prefixed with the name of its run.

    Args:
      runs: run directories of identifications that differ only in their recordings.
      folder: folder of the inputs, if they have moved.
      anyway: accept runs with changed inputs.

    Raises:
      RunDirectoryError: the experiments differ in more than their recordings, two runs share a
        recording, or inputs are missing or have changed.
    """
    given = None if folder is None else Path(folder)
    specs = [_spec_of(Path(run), given, anyway) for run in runs]
    first, place = specs[0].experiment, specs[0].folder
    for spec, run in zip(specs, runs, strict=True):
        _check_alike(spec, specs[0], run, runs[0])
    names = [[r.name or Path(r.file).stem for r in spec.experiment.recordings] for spec in specs]
    everything = [name for own in names for name in own]
    recordings, held_out, seen = [], [], {}
    for spec, own, run in zip(specs, names, runs, strict=True):
        for recording, name in zip(spec.experiment.recordings, own, strict=True):
            path = spec.folder / recording.file
            digest = (sha256_of(path), recording.trim.start, recording.trim.end)
            if digest in seen:
                raise RunDirectoryError(
                    f"{run} and {seen[digest]} share the recording {recording.file}: a joint fit "
                    "would count it twice; remove one of them"
                )
            seen[digest] = run
            unique = name if everything.count(name) == 1 else f"{Path(run).name}_{name}"
            file = os.path.relpath(path, place)
            recordings.append(recording.model_copy(update={"file": file, "name": unique}))
            if name in spec.experiment.held_out.recordings:
                held_out.append(unique)
    return first.model_copy(
        update={
            "name": "joint",
            "recordings": recordings,
            "held_out": HeldOut(
                recordings=held_out, fraction=first.held_out.fraction, folds=first.held_out.folds
            ),
        }
    ), place


def _spec_of(run: Path, folder: Path | None, anyway: bool) -> IdentificationSpec:
    opened = RunDirectory.open(run)
    check_inputs(opened, folder=folder, anyway=anyway)
    if (kind := kind_of(opened)) != IdentificationSpec.kind:
        raise RunDirectoryError(f"{run} is {noun_of(kind)}; a joint fit requires identifications")
    spec = read_spec(opened, folder)
    assert isinstance(spec, IdentificationSpec)
    return spec


def _check_alike(
    spec: IdentificationSpec,
    other: IdentificationSpec,
    run: str | os.PathLike[str],
    first: str | os.PathLike[str],
) -> None:
    """Raise RunDirectoryError if experiments differ in more than their recordings."""
    both = (spec, other)
    own, theirs = (each.experiment.model_dump(mode="json", exclude=_OWN) for each in both)
    differing = [key for key in own if own[key] != theirs[key]]
    if not differing:
        models = [each.folder / each.experiment.model.file for each in both]
        if sha256_of(models[0]) != sha256_of(models[1]):
            differing = ["model"]
    if (spec.experiment.held_out.fraction, spec.experiment.held_out.folds) != (
        other.experiment.held_out.fraction,
        other.experiment.held_out.folds,
    ):
        differing.append("held_out")
    if differing:
        raise RunDirectoryError(
            f"{run} and {first} differ in {listing(differing)}: a joint fit requires experiments "
            "that differ only in their recordings"
        )
