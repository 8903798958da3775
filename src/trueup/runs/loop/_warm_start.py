"""Start values from an earlier result: a parameter file, a run directory or a plain vector."""

import dataclasses
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import LARGEST_TEXT, check_regular
from trueup.errors import ParameterError, RunDirectoryError, listing, reason
from trueup.parameters import ParameterDict, Space
from trueup.runs.store.atomic import read_json
from trueup.runs.store.run_directory import RunDirectory

_READABLE = ("*.yaml", "*.yml", "*.json", "*.npy", "*.txt", "*.csv")
_PICKLES = (".pkl", ".pickle", ".pt", ".joblib")


@dataclass(frozen=True)
class WarmStart:
    """Start values of a space from an earlier result."""

    x: np.ndarray
    """Start ``(p,)``, within the bounds."""
    source: Path
    """Source file of the values."""
    matched: tuple[str, ...]
    """Elements with a value from the file."""
    missing: tuple[str, ...]
    """Elements missing in the file, which keep the start of the space."""
    unused: tuple[str, ...]
    """Names in the file that the space does not have."""
    clipped: tuple[str, ...]
    """Elements with a value outside the bounds, which was clipped."""

    def space(self, space: Space) -> Space:
        """The space with these start values."""
        return dataclasses.replace(space, start=self.x.copy())

    @property
    def sentences(self) -> list[str]:
        """Sentences on the values from the file, and on missing, unused and clipped ones."""
        said = [f"{len(self.matched)} start values come from {self.source}."]
        if self.missing:
            said.append(f"Missing in it, so at their default: {listing(self.missing)}.")
        if self.unused:
            said.append(f"In it, but not a parameter here: {listing(self.unused)}.")
        if self.clipped:
            said.append(f"Outside their bounds, so clipped: {listing(self.clipped)}.")
        return said


def warm_start(
    path: str | os.PathLike[str],
    space: Space,
    layouts: Sequence[Sequence[str]] | None = None,
    instead: Mapping[str, str] | None = None,
) -> WarmStart:
    """Read start values for ``space`` from an earlier result.

    Supported are a run directory (its current best parameters, of any kind of run), a parameter
    file (YAML of :class:`trueup.parameters.ParameterDict`, or JSON with values by name), and a
    plain vector (``.npy``, or text with numbers separated by white space, commas or lines). A
    folder that is not a run must contain exactly one such file. Nothing is unpickled.

    Args:
        path: the file or folder.
        space: the unknowns.
        layouts: names of the elements of plain vectors: the first one of the vector's length is
            used. None: the names of the space.
        instead: element -> name of the value to use if its own is missing in the file.

    Raises:
        ParameterError: no such file, it cannot be read, no name matches, a value is not a finite
            number, or a vector matches no layout.
    """
    source = _file_of(Path(path).expanduser())
    known = (space.names,) if layouts is None else layouts
    values = _values_of(source, [tuple(names) for names in known])
    found_as = {
        name: other
        for name in space.names
        if (other := _first_of((name, (instead or {}).get(name)), values)) is not None
    }
    matched = tuple(found_as)
    if not matched:
        raise ParameterError(
            f"no name in {source} matches: it contains {listing(values)}, expected "
            f"{listing(space.names)}"
        )
    bad = [name for name in matched if not np.isfinite(values[found_as[name]])]
    if bad:
        raise ParameterError(f"{source} contains values that are not finite: {listing(bad)}")
    given = np.array(
        [
            values[found_as[name]] if name in found_as else start
            for name, start in zip(space.names, space.start, strict=True)
        ]
    )
    x = np.clip(given, space.lower, space.upper)
    return WarmStart(
        x=x,
        source=source,
        matched=matched,
        missing=tuple(name for name in space.names if name not in found_as),
        unused=tuple(name for name in values if name not in {*space.names, *found_as.values()}),
        clipped=tuple(n for n, a, b in zip(space.names, given, x, strict=True) if a != b),
    )


def _first_of(names: Sequence[str | None], values: Mapping[str, float]) -> str | None:
    """The first of some names with a value."""
    return next((name for name in names if name in values), None)


def _file_of(path: Path) -> Path:
    """The file with the values."""
    if not path.exists():
        raise ParameterError(
            f"no such file: {path}; give a parameter file, a run directory or a plain vector"
        )
    if not path.is_dir():
        check_regular(path, LARGEST_TEXT)
        return path
    if (path / "run.json").is_file():
        try:
            directory = RunDirectory.open(path)
        except RunDirectoryError as error:
            raise ParameterError(str(error)) from error
        for file in (directory.parameters, directory.solution):
            if file.is_file():
                return file
        raise ParameterError(f"the run {path} has no parameters yet")
    found = sorted({file for pattern in _READABLE for file in path.glob(pattern)})
    if len(found) == 1:
        return found[0]
    raise ParameterError(
        f"{path} is not a run of trueup and contains {listing(f.name for f in found)}: "
        "give the path of the parameter file"
    )


def _values_of(source: Path, layouts: list[tuple[str, ...]]) -> dict[str, float]:
    """Values by name."""
    suffix = source.suffix.lower()
    if suffix in _PICKLES:
        raise ParameterError(
            f"{source} is a pickle, which is not supported because it can run arbitrary code: "
            "give the parameters as text, JSON, YAML or .npy"
        )
    try:
        if suffix in (".yaml", ".yml"):
            return _of_parameters(source)
        if suffix == ".json":
            return _of_json(source, read_json(source), layouts)
        if suffix == ".npy":
            with source.open("rb") as file:
                values = np.lib.format.read_array(file, allow_pickle=False)
            return _of_vector(source, values, layouts)
        return _of_text(source, layouts)
    except RunDirectoryError as error:
        raise ParameterError(str(error)) from error
    except OSError as error:
        raise ParameterError(f"cannot read {source}: {error.strerror or error}") from error
    except (ValueError, EOFError, RecursionError) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"{source} cannot be read: {reason(error)}; give a parameter file, a run directory or "
            "a plain vector of numbers"
        ) from error


def _of_parameters(source: Path) -> dict[str, float]:
    """Values of a parameter file, also of vectors and of frozen and tied parameters."""
    return {
        name: float(value)
        for p in ParameterDict.load_from_disk(source).values()
        for name, value in zip(p.element_names, p.as_vector(), strict=True)
    }


def _of_json(source: Path, content: Any, layouts: list[tuple[str, ...]]) -> dict[str, float]:
    """Values of JSON: a vector, values by name, or a file of a run."""
    if isinstance(content, list):
        return _of_vector(source, np.asarray(_number(content), float), layouts)
    if not isinstance(content, dict):
        raise ParameterError(f"{source} contains no parameters: expected values by name, or a list")
    inner = content.get("parameters", content)
    if isinstance(inner, list):  # records, as in solution.json
        records = [r for r in inner if isinstance(r, dict) and {"name", "value"} <= set(r)]
        return {str(r["name"]): _number(r["value"]) for r in records}
    if not isinstance(inner, dict):
        raise ParameterError(f"{source}: 'parameters' must contain values by name")
    # other blocks, such as "provenance", are not parameters
    kept = {k: v for k, v in inner.items() if not isinstance(v, Mapping)}
    return _elements({k: v for k, v in kept.items() if _is_numeric(v)})


def _of_text(source: Path, layouts: list[tuple[str, ...]]) -> dict[str, float]:
    """Values of a text: numbers, or lines ``name value``."""
    lines = source.read_text(encoding="utf-8").replace(",", " ").splitlines()
    words = [w for line in lines if (w := line.partition("#")[0].replace(":", " ").split())]
    if words and all(len(w) == 2 and not _is_number(w[0]) for w in words):
        return {name: float(value) for name, value in words}
    return _of_vector(source, np.array([float(w) for line in words for w in line]), layouts)


def _of_vector(
    source: Path, vector: np.ndarray, layouts: list[tuple[str, ...]]
) -> dict[str, float]:
    vector = np.asarray(vector, float).reshape(-1)
    for names in layouts:
        if len(names) == len(vector):
            return dict(zip(names, vector.tolist(), strict=True))
    lengths = sorted({len(names) for names in layouts})
    raise ParameterError(
        f"{source} contains {len(vector)} numbers without names; expected "
        f"{' or '.join(map(str, lengths))}. Give the values by name: a JSON or YAML file"
    )


def _elements(values: Mapping[str, Any]) -> dict[str, float]:
    """Values of the elements: those of an array as ``name[0]``, ``name[0,1]``, as in a space."""
    elements: dict[str, float] = {}
    for name, value in values.items():
        array = np.asarray(_number(value), float)
        for index in np.ndindex(array.shape):
            place = f"[{','.join(map(str, index))}]" if index else ""
            elements[name + place] = float(array[index])
    return elements


def _is_numeric(value: Any) -> bool:
    try:
        np.asarray(_number(value), float)
    except (TypeError, ValueError):
        return False
    return True


def _number(value: Any) -> Any:
    """A number, or nested lists of numbers; the strings for what is not finite are numbers."""
    if isinstance(value, list):
        return [_number(v) for v in value]
    if isinstance(value, bool) or value is None:
        raise ValueError(f"{json.dumps(value)} is not a number")
    return float(value)


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
