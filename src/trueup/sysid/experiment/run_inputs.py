"""Current location of the model and recordings of a run of an experiment."""

import os
from pathlib import Path
from typing import Any

from trueup._marks import joined
from trueup.errors import RunDirectoryError, listing
from trueup.runs import check_inputs
from trueup.runs.store.input_check import mark_of_file
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.settings import Experiment


def named_files(experiment: Experiment) -> list[str]:
    """File names in an experiment; a model may be outside the folder."""
    parts = (experiment.model, *experiment.variants.values(), *experiment.recordings)
    return list(dict.fromkeys(part.file for part in parts))


def inputs_of_run(
    directory: RunDirectory, recorded: str | None, folder: Path | None, experiment: Experiment
) -> tuple[Experiment, Path]:
    """Experiment of a run and the folder to which its file names are relative.

    The folder is ``folder`` if given; otherwise the first with all inputs: the one recorded in the
    run, the working folder, the nearest above the run. If none has all, each file is searched by
    its hash, and the experiment is updated with its current name.

    Raises:
      RunDirectoryError: an input is not found.
    """
    names = named_files(experiment)
    former = directory.path.parent if recorded is None else directory.path / recorded
    former = Path(os.path.normpath(former))
    first = [] if recorded is None else [former]
    tried = [*first, Path.cwd(), *directory.path.parents] if folder is None else [folder]
    for place in tried:
        if all((place / name).exists() for name in names):
            return experiment, place
    found = check_inputs(directory, folder=folder, anyway=True).found
    base = next(place for place in (*tried, directory.path.parent) if place.is_dir())
    now = {name: _now(name, base, former, found) for name in names}
    if gone := [name for name, path in now.items() if path is None]:
        where = "above the run or in this folder" if folder is None else f"in {folder}"
        raise RunDirectoryError(
            f"the inputs of {directory.path} ({listing(gone, 4)}) are not {where}, and no file "
            "nearby has the same content: give their location with --folder"
        )
    files = {name: os.path.relpath(path, base) for name, path in now.items() if path is not None}
    return _with_files(experiment, files), base


def mark_of_models(experiment: Experiment, folder: Path, *, anyway: bool = False) -> str | None:
    """Mark of everything made with the models of an experiment; None for none.

    A model identified by a run has the mark of that run.

    Raises:
      RunDirectoryError: a model is of a run with changed inputs, without ``anyway``.
    """
    parts = (experiment.model, *experiment.variants.values())
    return joined(*(mark_of_file(folder / part.file, anyway=anyway) for part in parts))


def _now(name: str, base: Path, former: Path, found: Any) -> Path | None:
    if (base / name).exists():
        return base / name
    return found.get(Path(os.path.normpath(former / name)))


def _with_files(experiment: Experiment, files: dict[str, str]) -> Experiment:
    """The experiment with other file names; its recordings keep their names."""

    def moved(part: Any, **further: Any) -> Any:
        return part.model_copy(update={"file": files[part.file], **further})

    return experiment.model_copy(
        update={
            "model": moved(experiment.model),
            "variants": {name: moved(part) for name, part in experiment.variants.items()},
            "recordings": [
                moved(part, name=part.name or Path(part.file).stem)
                for part in experiment.recordings
            ],
        }
    )
