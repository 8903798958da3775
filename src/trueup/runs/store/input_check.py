"""The one gate of finished runs: a run whose inputs have changed is not taken for what it was.

``provenance.json`` holds the hashes of the inputs, ``experiment.yaml`` where they were. Whoever
reads a run compares them first, by :func:`check_inputs`, and those who read the inputs again
compare what they have read, by :func:`check_read`.
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
"""Result of another run, as an input of one."""

_ABOVE = 3  # folders above the run that are searched
_WITHIN = 5  # folders that a file lies below its run
_SHOWN = 6  # names in a sentence
_OF_MODELS = {
    *(".xml", ".mjcf", ".urdf", ".obj", ".stl", ".msh", ".dae", ".png", ".skn", ".bin"),
}
"""Endings of files of a model, some of which runs of older versions did not name."""


@dataclass(frozen=True)
class InputCheck:
    """Inputs of a run as they are now."""

    directory: RunDirectory
    changed: tuple[str, ...] = ()
    """Names of those that hold something else."""
    missing: tuple[str, ...] = ()
    """Names of those that are nowhere to be found, which nothing is known of."""
    found: Mapping[Path, Path] = field(default_factory=dict)
    """Where an input was and where it was moved to."""
    former: str | None = None
    """What is said of the run itself, where it was made although something spoke against it."""

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
    """Compare the inputs of a run with those that it was made from.

    An input is looked for where it was, in the folder, and, where it is in neither, by its hash in
    folders nearby. One that is nowhere is not compared.

    Args:
      directory: run directory, of any kind of run.
      folder: where the inputs are, if they have moved away from the run.
      anyway: whether a run with other inputs is taken too; what is made from it bears
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


def check_read(
    check: InputCheck, inputs: Iterable[Path | Mapping[str, Any]], *, anyway: bool = False
) -> InputCheck:
    """Compare what was read again with the inputs that a run was made from.

    Args:
      check: what :func:`check_inputs` found.
      inputs: what was read, as :meth:`trueup.runs.Job.inputs` gives it.
      anyway: whether other inputs are taken too.

    Returns:
      The check, with the names of what is another input.

    Raises:
      RunDirectoryError: an input is another one.
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
    """Inputs of a run beside those that are read now.

    Args:
      record: content of ``provenance.json``.
      now: entries of :func:`trueup.runs.store.provenance.hashed`.

    Returns:
      The entries of the record with the names and paths of now, and the names of what differs.
    """
    left, entries, differ = list(now), [], []
    for entry in record.get("inputs", ()):
        # of files that are alike, the one of this name
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
    if record.get("format_version", 1) < 2:  # which did not name all files of a model
        left = [each for each in left if Path(each["name"]).suffix.lower() not in _OF_MODELS]
    differ += [each["name"] for each in left if each["name"] not in differ]
    return entries, differ


def _matches(now: Mapping[str, Any], entry: Mapping[str, Any]) -> bool:
    return now["sha256"] == entry["sha256"] or is_same(Path(now["path"]), entry)


def _changed(directory: RunDirectory, names: Sequence[str]) -> RunDirectoryError:
    return RunDirectoryError(
        f"{_named(names)} {_has(names)} changed since {directory.path} was made: take the "
        "former file, or make the run again; --anyway goes on all the same, and what it makes says "
        "so"
    )


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def _has(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def _entries(directory: RunDirectory) -> Iterator[tuple[dict[str, Any], Path | None]]:
    """Inputs of a run with where they were, which older runs do not tell."""
    record = provenance.read(directory.provenance)
    if not record.get("inputs"):
        return
    _, content = read_experiment(directory)
    places = content.get("inputs") or []
    if not isinstance(places, list) or not all(isinstance(each, str) for each in places):
        raise RunDirectoryError(
            f"{directory.experiment} is damaged: inputs has to hold paths. Take it from a copy"
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
    """Where an input is, None for nowhere, and whether it is as it was."""
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
    """Folders that a moved input is looked for in, the likeliest first."""
    former = [] if place is None else [place.parent, place.parent.parent]
    near = [*directory.path.parents[:_ABOVE], Path.cwd()]
    given = [] if folder is None else [folder]
    return [each for each in dict.fromkeys([*given, *former, *near]) if each.is_dir()]


def run_of(path: str | os.PathLike[str]) -> Path | None:
    """Run directory that a file belongs to; None where it belongs to none.

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
