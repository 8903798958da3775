"""``trueup study export``: every evaluation as a table, or as a study of Optuna."""

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import marked
from trueup.cli.output import Output
from trueup.errors import MissingExtraError, RunDirectoryError, listing
from trueup.runs import check_inputs
from trueup.runs.optuna_storage import export_study
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.study_page.record import read_study

_SUFFIXES = (".parquet", ".csv", ".json")


def run_study_export(
    directory: Path, target: Path, overwrite: bool, anyway: bool, output: Output
) -> int:
    """Write the table; returns the exit code."""
    path = target.expanduser()
    if path.suffix.lower() not in _SUFFIXES:
        raise RunDirectoryError(
            f"{path} must have one of the suffixes {listing(_SUFFIXES)}, which select the format"
        )
    if path.exists() and not overwrite:
        raise RunDirectoryError(
            f"{path} exists: replace it with --overwrite, or give another --output"
        )
    run = RunDirectory.open(directory)
    mark = check_inputs(run, anyway=anyway).mark
    columns = evaluation_columns(run)
    count = len(columns["generation"])
    with marked(mark):
        atomic.write_bytes(path, _WRITERS[path.suffix.lower()](columns))
        output.result({"file": str(path), "evaluations": count, "columns": list(columns)})
    output.text(f"{count} evaluations in {path}")
    return 0


def run_optuna_export(directory: Path, storage: str, anyway: bool, output: Output) -> int:
    """Write a study of Optuna; returns the exit code."""
    run = RunDirectory.open(directory)
    mark = check_inputs(run, anyway=anyway).mark
    with marked(mark):
        study = export_study(run, storage, verbose=not output.json)
        output.result(
            {
                "storage": study.storage,
                "study": study.name,
                "trials": study.trials,
                "added": study.added,
            }
        )
    output.text(
        f"{study.added} trials added to the study {study.name!r} in {study.storage}, which now has "
        f"{study.trials}"
    )
    return 0


def evaluation_columns(directory: RunDirectory) -> dict[str, Any]:
    """Columns of the table: generation, candidate, costs, validity with its reason, parameters.

    A cost has the name of its objective, with the prefix ``cost:`` if a parameter has it too.
    """
    record = read_study(directory)
    history = record.history
    reasons = np.full(len(history.X), None, object)
    reasons[list(history.reasons)] = list(history.reasons.values())
    taken = {"generation", "candidate", "valid", "reason", *history.names}
    costs = {
        name if name not in taken else f"cost:{name}": history.costs[:, i]
        for i, name in enumerate(record.objectives)
    }
    reserved = {"generation", "candidate", "valid", "reason", *costs}
    return {
        "generation": history.generation,
        "candidate": history.candidate,
        **costs,
        "valid": np.array([reason is None for reason in reasons], bool),
        "reason": reasons,
        **{
            name if name not in reserved else f"parameter:{name}": history.X[:, i]
            for i, name in enumerate(history.names)
        },
    }


def _parquet(columns: dict[str, Any]) -> bytes:
    try:
        import pyarrow as arrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise MissingExtraError("Writing Parquet", "readers", "pyarrow") from error
    arrays = [
        arrow.array(list(values), arrow.string()) if values.dtype == object else arrow.array(values)
        for values in columns.values()
    ]
    buffer = io.BytesIO()
    parquet.write_table(arrow.table(arrays, names=list(columns)), buffer)
    return buffer.getvalue()


def _csv(columns: dict[str, Any]) -> bytes:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(columns)
    # str of a float has all digits; None becomes an empty cell
    table.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
    return text.getvalue().encode("utf-8", "replace")


def _json(columns: dict[str, Any]) -> bytes:
    return (atomic.to_json(columns) + "\n").encode()


_WRITERS = {".parquet": _parquet, ".csv": _csv, ".json": _json}
