"""Content of the published entry of an identification: experiment, model, logs, parameters."""

import os
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

from trueup.errors import ParameterError
from trueup.runs.store import atomic
from trueup.runs.store.input_check import input_paths
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.experiment.run_inputs import named_files
from trueup.sysid.fit.spec import IdentificationSpec

INPUTS = "inputs"
"""Folder of model, logs and experiment of an entry, which refer to each other as they did."""

_PARAMETERS = "identified_parameters.yaml"


def write_entry(
    spec: IdentificationSpec, directory: RunDirectory, folder: Path, with_logs: bool
) -> dict[str, Any]:
    """Write the files of an entry; returns its keys.

    Raises:
      ParameterError: the experiment names a file by an absolute path.
    """
    import yaml

    if absolute := [name for name in named_files(spec.experiment) if Path(name).is_absolute()]:
        raise ParameterError(
            f"the experiment names {absolute[0]} by an absolute path, which others do not have: "
            "name it relative to the experiment file, and repeat the run"
        )
    inputs = input_paths(directory)
    home = _absolute(spec.folder)
    root = Path(os.path.commonpath([home, *(path.parent for path, _ in inputs)]))
    recordings = {_absolute(home / part.file) for part in spec.experiment.recordings}
    logs: dict[str, str] = {}
    models: dict[str, str] = {}
    for path, digest in inputs:
        name = f"{INPUTS}/{path.relative_to(root).as_posix()}"
        is_log = path in recordings or any(each in recordings for each in path.parents)
        (logs if is_log else models)[name] = digest
        if with_logs or not is_log:
            _copy(path, folder / name)
    experiment = Path(INPUTS, home.relative_to(root), "experiment.yaml").as_posix()
    content = spec.experiment.model_dump(mode="json", exclude_defaults=True, exclude={"output"})
    place = folder / experiment
    place.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_text(place, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))
    shutil.copyfile(directory.inside(_PARAMETERS), folder / _PARAMETERS)
    names = ["model", *spec.experiment.variants]
    identified = [name for name in names if directory.model(name).is_file()]
    for name in identified:
        text = _with_assets_in_entry(directory.model(name), root)
        atomic.write_text(folder / f"{name}.xml", text)
    return {
        "experiment": experiment,
        "parameters": _PARAMETERS,
        "models": [f"{name}.xml" for name in identified],
        "model_files": models,
        "logs": logs,
    }


def _absolute(path: Path) -> Path:
    """Path without dots; of a link its own, so that no name of another folder is published."""
    return Path(os.path.normpath(path.absolute()))


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():  # a data set
        shutil.copytree(path, target)
    else:
        shutil.copyfile(path, target)


def _with_assets_in_entry(path: Path, root: Path) -> str:
    """Text of an identified model whose folders of meshes and textures are those of the entry."""
    tree = ElementTree.fromstring(path.read_text(encoding="utf-8"))
    for compiler in tree.iter("compiler"):
        for key in ("meshdir", "texturedir", "assetdir"):
            place = compiler.get(key)
            if place is not None and any(each.get("file") for each in tree.iter()):
                assets = _absolute(path.parent / place)
                compiler.set(key, Path(INPUTS, assets.relative_to(root)).as_posix())
    return ElementTree.tostring(tree, encoding="unicode") + "\n"
