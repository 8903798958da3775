"""LeRobot data sets: episodes in Parquet files, features described in meta/info.json."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import check_folder, read_settings
from trueup._memory_budget import MemoryBudget
from trueup.errors import InputFileError, RecordingError, reason
from trueup.signals.readers._optional import import_optional
from trueup.signals.readers._pointers import check_not_pointer
from trueup.signals.readers.contents import Contents, Table
from trueup.signals.readers.parquet import (
    check_size,
    numeric_array,
    open_parquet,
    readable_columns,
)

_INFO = Path("meta") / "info.json"


def is_lerobot(folder: Path) -> bool:
    """Whether a folder is a LeRobot data set."""
    return _home(folder) is not None


def _home(folder: Path) -> Path | None:
    """Folder that holds ``meta`` and ``data``: the folder itself, or the snapshot in a Hub cache.

    The cache has the layout ``datasets--owner--name/{refs/main,snapshots/<commit>/meta}``.
    """
    if (folder / _INFO).is_file():
        return folder
    found = sorted(p.parent.parent for p in folder.glob(f"snapshots/*/{_INFO.as_posix()}"))
    main = folder / "refs" / "main"
    if len(found) > 1 and main.is_file():
        commit = main.read_text(encoding="utf-8").strip()
        found = [home for home in found if home.name == commit] or found
    return found[-1] if found else None


def read_lerobot(path: Path, *, episode: int | None = None) -> list[Contents]:
    """Read the episodes of a data set of version 3 (or 2, one file per episode).

    A vector feature becomes one column per component, by the names in ``info.json``:
    ``observation.state/shoulder_pan.pos``, ``action/shoulder_pan.pos``. Each episode has its own
    clock, the column ``timestamp`` [s].

    Args:
        path: The folder that holds ``meta`` and ``data``.
        episode: Index of the episode to read; None reads all.

    Raises:
        RecordingError: ``info.json`` or data are missing or damaged, or the episode does not exist.
    """
    arrow = import_optional("pyarrow", "Reading LeRobot data sets", "pyarrow")
    parquet = import_optional("pyarrow.parquet", "Reading LeRobot data sets", "pyarrow")
    path = _home(path) or path
    inside = check_folder(path)
    info = _read_info(path)
    data = path / "data"
    files = [file for file in inside if data in file.parents and file.suffix == ".parquet"]
    if not files:
        raise RecordingError(
            f"The LeRobot data set {path} contains no data/chunk-*/*.parquet: download all of it."
        )
    chosen = None if episode is None else [("episode_index", "==", episode)]
    tables, read, available = [], [], []
    left_out: dict[str, str] = {}
    total = MemoryBudget(path, sum(file.stat().st_size for file in files))
    for file in files:
        available.append(_episodes_in(parquet, file))
        if episode is not None and episode not in available[-1]:
            continue
        described = open_parquet(file)
        wanted = readable_columns(described, left_out)
        # of one episode only its rows are kept
        check_size(described, wanted, total if episode is None else MemoryBudget(file))
        tables.append(parquet.read_table(file, columns=wanted, filters=chosen, partitioning=None))
        read.append(file)
    if episode is not None and not tables:
        known = np.unique(np.concatenate(available))
        raise RecordingError(
            f"{path} has no episode {episode}: it has {known.size} episodes, {known.min()} to "
            f"{known.max()}."
        )
    table = arrow.concat_tables(tables, promote_options="default")
    columns = _columns(table, info, left_out)
    if "timestamp" not in columns:
        raise RecordingError(f"The data of {path} have no column 'timestamp'.")
    metadata: dict[str, object] = {
        key: info[key] for key in ("codebase_version", "robot_type", "fps") if key in info
    }
    if left_out:
        metadata["left_out"] = left_out
    times = columns.pop("timestamp")
    index = columns["episode_index"]
    rows_of = {int(number): np.flatnonzero(index == number) for number in np.unique(index)}
    return [
        Contents(
            (Table({name: values[rows] for name, values in columns.items()}, times=times[rows]),),
            {**metadata, "episode_index": number},
            name=f"episode_{number}",
            files=(path / _INFO, *read),
        )
        for number, rows in rows_of.items()
    ]


def _read_info(path: Path) -> dict[str, Any]:
    try:
        check_not_pointer(path / _INFO)
        info = json.loads(read_settings(path / _INFO))
    except (OSError, ValueError) as error:
        raise RecordingError(
            f"{path} is not a LeRobot data set: {_INFO} cannot be read ({reason(error)})."
        ) from error
    if not isinstance(info, dict) or not isinstance(info.get("features"), dict):
        raise RecordingError(f"{path / _INFO} does not describe the features of the data set.")
    return info


def _episodes_in(parquet: Any, file: Path) -> np.ndarray:
    check_not_pointer(file)
    try:
        described = open_parquet(file)
        check_size(described, ["episode_index"], MemoryBudget(file))
        column = parquet.read_table(file, columns=["episode_index"], partitioning=None)
    except InputFileError:
        raise
    except Exception as error:
        raise RecordingError(
            f"{file} cannot be read ({reason(error)}). It may be truncated: download it again."
        ) from error
    if "episode_index" not in column.column_names:
        raise RecordingError(
            f"{file} has no column 'episode_index', which is required to split it into episodes."
        )
    return np.unique(column.column("episode_index").to_numpy())


def _columns(table: Any, info: dict[str, Any], left_out: dict[str, str]) -> dict[str, np.ndarray]:
    """Columns of a table; those without numbers are added to ``left_out``."""
    columns: dict[str, np.ndarray] = {}
    for name, column in zip(table.column_names, table.columns):
        values = numeric_array(column)
        if values is None:
            left_out[name] = f"its type is {column.type}"
        elif values.ndim == 1:
            columns[name] = values
        else:
            names = _component_names(info["features"].get(name), values.shape[1])
            for place, component in enumerate(names):
                columns[f"{name}/{component}"] = values[:, place]
    return columns


def _component_names(feature: Any, width: int) -> list[str]:
    """Return the names of the components of a feature, or their indices if it has none."""
    names = feature.get("names") if isinstance(feature, dict) else None
    if isinstance(names, dict):
        # Either one list under a key such as "motors", or indices by name.
        lists = [value for value in names.values() if isinstance(value, list)]
        if len(lists) == 1:
            names = lists[0]
        elif all(isinstance(value, int) for value in names.values()):
            names = [name for name, _ in sorted(names.items(), key=lambda item: item[1])]
    while isinstance(names, list) and len(names) == 1 and isinstance(names[0], list):
        names = names[0]  # names as a list in a list
    if isinstance(names, list) and len(names) == width == len({str(name) for name in names}):
        return [str(name) for name in names]
    return [str(place) for place in range(width)]
