"""Model and recordings of a run of an experiment, wherever they are by now."""

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
    """Files that an experiment names, as it names them: a model may lie outside of the folder."""
    parts = (experiment.model, *experiment.variants.values(), *experiment.recordings)
    return list(dict.fromkeys(part.file for part in parts))


def inputs_of_run(
    directory: RunDirectory, recorded: str | None, folder: Path | None, experiment: Experiment
) -> tuple[Experiment, Path]:
    """An experiment of a run and the folder that its file names refer to.

    The folder is ``folder`` where that is given; else the first that holds all inputs: the one that
    the run records, the working folder, the nearest above the run. Where none does, each file is
    looked for by its hash, and the experiment gets the name that it has now.

    Raises:
      RunDirectoryError: an input is nowhere.
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
            "nearby holds the same: say where they are with --folder"
        )
    files = {name: os.path.relpath(path, base) for name, path in now.items() if path is not None}
    return _with_files(experiment, files), base


def mark_of_models(experiment: Experiment, folder: Path, *, anyway: bool = False) -> str | None:
    """What is said of everything made with the models of an experiment; None for nothing.

    A model that a run has identified is what that run was made from.

    Raises:
      RunDirectoryError: one belongs to a run whose inputs have changed, and is not wanted anyway.
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
