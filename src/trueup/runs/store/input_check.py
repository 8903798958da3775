"""Check of the inputs of finished runs: a run with changed inputs is an error.

``provenance.json`` contains the hashes of the inputs, ``experiment.yaml`` their paths. Every reader
of a run compares them first, by :func:`check_inputs`, and code that rereads inputs compares these
by :func:`check_read`.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from trueup._marks import KEY, joined
from trueup.errors import RunDirectoryError
from trueup.runs.store import provenance
from trueup.runs.store.experiment_file import read_experiment
from trueup.runs.store.input_files import is_same, moved_file
from trueup.runs.store.run_directory import RunDirectory

RESULT = "solution.json"
"""Result of another run, used as an input."""

_ABOVE = 3  # number of searched folders above the run
_WITHIN = 5  # maximum depth of a file below its run
_SHOWN = 6  # maximum names in a sentence
_OF_MODELS = {
    *(".xml", ".mjcf", ".urdf", ".obj", ".stl", ".msh", ".dae", ".png", ".skn", ".bin"),
}
"""Suffixes of model files, some of which are not recorded by older versions."""


@dataclass(frozen=True)
class InputCheck:
    """Current state of the inputs of a run."""

    directory: RunDirectory
    changed: tuple[str, ...] = ()
    """Names of changed inputs."""
    missing: tuple[str, ...] = ()
    """Names of inputs that were not found."""
    found: Mapping[Path, Path] = field(default_factory=dict)
    """Original and current path of each moved input."""
    former: str | None = None
    """Mark of the run itself, if it was made despite changed inputs."""

    @property
    def mark(self) -> str | None:
        """Mark of everything made from the run; None for none."""
        if not self.changed:
            return self.former
        now = (
            f"made although {_named(self.changed)} {_has(self.changed)} changed since the run "
            f"{self.directory.path.name} was made"
        )
        return joined(now, self.former)


def check_inputs(
    directory: RunDirectory | str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    anyway: bool = False,
    except_for: Sequence[str] = (),
) -> InputCheck:
    """Compare the inputs of a run with their recorded hashes.

    An input is searched at its path, in ``folder``, and otherwise by its hash in folders nearby.
    Inputs that are not found are not compared.

    Args:
      directory: run directory, of any kind of run.
      folder: location of the inputs, if they were moved.
      anyway: whether to accept a run with changed inputs; everything made from it has
        :attr:`InputCheck.mark`.
      except_for: names of files that may have changed.

    Raises:
      RunDirectoryError: an input has changed, or a file of the run is damaged.
    """
    opened = directory if isinstance(directory, RunDirectory) else RunDirectory.open(directory)
    given = None if folder is None else Path(folder)
    changed, missing, found = [], [], {}
    for entry, place in _entries(opened):
        if Path(entry["name"]).name in except_for:
            continue
        at, here = _at(entry, place, opened, given)
        if at is None:
            missing.append(entry["name"])
        elif not here:
            changed.append(entry["name"])
        elif place is not None and at != place:
            found[place] = at
    former = provenance.read(opened.provenance).get(KEY)
    check = InputCheck(opened, tuple(dict.fromkeys(changed)), tuple(missing), found, former)
    if check.changed and not anyway:
        raise _changed(opened, check.changed)
    return check


def input_paths(directory: RunDirectory) -> list[tuple[Path, str]]:
    """Current path and recorded SHA-256 of each input of a run, those of a model included.

    Raises:
      RunDirectoryError: an input has changed or is missing.
    """
    check = check_inputs(directory)
    if check.missing:
        raise RunDirectoryError(f"inputs of {directory.path} are missing: {check.missing[0]}")
    paths = []
    for entry, place in _entries(directory):
        at = place if place is None or place not in check.found else check.found[place]
        if at is None:  # an older run, which records names alone
            raise RunDirectoryError(
                f"{directory.path} does not record where {entry['name']} is: repeat the run"
            )
        paths.append((Path(os.path.normpath(at.absolute())), entry["sha256"]))
    return list(dict.fromkeys(paths))


def check_read(
    check: InputCheck, inputs: Iterable[Path | Mapping[str, Any]], *, anyway: bool = False
) -> InputCheck:
    """Compare inputs that were read again with those that a run was made from.

    Args:
      check: result of :func:`check_inputs`.
      inputs: the inputs that were read, by name.
      anyway: whether to accept changed inputs.

    Returns:
      The check, with the names of changed inputs.

    Raises:
      RunDirectoryError: an input has changed.
    """
    record = provenance.read(check.directory.provenance)
    if not record:
        return check
    _, others = same_inputs(record, provenance.hashed(inputs))
    changed = tuple(dict.fromkeys((*check.changed, *others)))
    if changed and not anyway:
        raise _changed(check.directory, changed)
    return replace(check, changed=changed)


def same_inputs(
    record: Mapping[str, Any], now: Sequence[Mapping[str, Any]]
) -> tuple[list[dict[str, Any]], list[str]]:
    """Match the recorded inputs of a run with the current ones.

    Args:
      record: content of ``provenance.json``.
      now: entries of :func:`trueup.runs.store.provenance.hashed`.

    Returns:
      The entries of the record with current names and paths, and the names of changed inputs.
    """
    left, entries, differ = list(now), [], []
    for entry in record.get("inputs", ()):
        # of identical files, the one of this name
        likely = sorted(left, key=lambda each: each["name"] != entry["name"])
        match = next((each for each in likely if _matches(each, entry)), None)
        if match is None:
            differ.append(entry["name"])
            continue
        left.remove(match)
        entries.append({**entry, "name": match["name"], "path": match["path"]})
    # one file may be several inputs
    known = [each["path"] for each in entries]
    left = [each for each in left if each["path"] not in known]
    if record.get("format_version", 1) < 2:  # does not list all files of a model
        left = [each for each in left if Path(each["name"]).suffix.lower() not in _OF_MODELS]
    differ += [each["name"] for each in left if each["name"] not in differ]
    return entries, differ


def _matches(now: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    return now["sha256"] == entry["sha256"] or is_same(Path(now["path"]), entry)


def _changed(directory: RunDirectory, names: Sequence[str]) -> RunDirectoryError:
    return RunDirectoryError(
        f"{_named(names)} {_has(names)} changed since {directory.path} was made: restore the "
        "original file, or repeat the run; --anyway ignores the change and marks the results"
    )


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _has(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _entries(directory: RunDirectory) -> Iterator[tuple[dict[str, Any], Path | None]]:
    """Inputs of a run with their paths, which older runs do not record."""
    record = provenance.read(directory.provenance)
    if not record.get("inputs"):
        return
    _, content = read_experiment(directory)
    places = content.get("inputs") or []
    if not isinstance(places, list) or not all(isinstance(each, str) for each in places):
        raise RunDirectoryError(
            f"{directory.experiment} is damaged: inputs must contain paths. Restore it from a copy"
        )
    if len(places) != len(record["inputs"]):
        former = content.get("folder")
        place = former if isinstance(former, str) else None
        for entry in record["inputs"]:
            yield entry, None if place is None else _there(directory, place, entry["name"])
        return
    for entry, place in zip(record["inputs"], places, strict=True):
        yield entry, _there(directory, place)


def _there(directory: RunDirectory, *parts: str) -> Path:
    return Path(os.path.normpath(directory.path.joinpath(*parts)))


def _at(
    entry: dict[str, Any], place: Path | None, directory: RunDirectory, folder: Path | None
) -> tuple[Path | None, bool]:
    """Current path of an input, None if not found, and whether it is unchanged."""
    name = Path(entry["name"])
    likely = [] if folder is None else [folder / name, folder / name.name]
    likely += [] if place is None else [place]
    there = next((path for path in likely if path.exists()), None)
    if there is not None:
        return there, is_same(there, entry)
    moved = moved_file(entry, places_near(directory, place, folder))
    if moved is not None:
        return moved, True
    return None, False


def places_near(
    directory: RunDirectory, place: Path | None = None, folder: Path | None = None
) -> list[Path]:
    """Folders to search for a moved input, most likely first."""
    former = [] if place is None else [place.parent, place.parent.parent]
    near = [*directory.path.parents[:_ABOVE], Path.cwd()]
    given = [] if folder is None else [folder]
    return [each for each in dict.fromkeys([*given, *former, *near]) if each.is_dir()]


def run_of(path: str | os.PathLike[str]) -> Path | None:
    """Run directory of a file; None if it is in none.

    It is the folder itself, the folder of the name of a servo's parameter file, or the nearest one
    above.
    """
    path = Path(path).absolute()
    folders = [path, path.with_suffix(".run"), *path.parents[:_WITHIN]] if path.name else [path]
    return next((folder for folder in folders if (folder / "run.json").is_file()), None)


def mark_of_file(path: str | os.PathLike[str], *, anyway: bool = False) -> str | None:
    """Mark of everything made from a file of a run; None for none.

    Raises:
      RunDirectoryError: it belongs to a run whose inputs have changed.
    """
    run = run_of(path)
    return None if run is None else check_inputs(run, anyway=anyway).mark
