"""Publication of a finished run as an entry that others read, check and repeat."""

import html
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import ParameterError, RunDirectoryError, listing
from trueup.reports.rendering import breakable
from trueup.runs._report import report
from trueup.runs.kinds import KINDS, function_of, kind_of, noun_of, read_spec
from trueup.runs.store import atomic
from trueup.runs.store.input_check import check_inputs
from trueup.runs.store.published_entry import (
    FILE,
    FORMAT,
    FORMAT_VERSION,
    PublishedEntry,
    is_entry,
    read_entry,
)
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import interval_of, read_solution


def publish(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    licence: str,
    by: str = "",
    with_logs: bool = True,
    overwrite: bool = False,
) -> PublishedEntry:
    """Write the entry of a finished identification or servo fit.

    Args:
      run: run directory.
      output: folder of the entry, which is created.
      licence: licence of parameters and logs, such as ``CC-BY-4.0``.
      by: authors.
      with_logs: copy the logs; otherwise only their hashes are written.
      overwrite: replace an entry in ``output``.

    Raises:
      ParameterError: ``output`` exists, no licence is given, the verdict is "do not use", or an
        input is not one that others can find.
      RunDirectoryError: the folder is not the run directory of a finished run of such a kind, or
        its inputs have changed or are missing.
    """
    output = Path(output)
    if not licence.strip():
        raise ParameterError("a licence is required, such as CC-BY-4.0 or CC0-1.0")
    if output.exists() and not (overwrite and is_entry(output)):
        remedy = "replace it with --overwrite" if is_entry(output) else "it holds no entry"
        raise ParameterError(f"{output} exists: {remedy}, or choose another --output")
    directory = RunDirectory.open(run)
    kind = kind_of(directory)
    if not KINDS[kind].entry:
        published = " or ".join(noun_of(name) for name, each in KINDS.items() if each.entry)
        raise RunDirectoryError(
            f"{directory.path} is {noun_of(kind)}, which has no form of an entry: publish "
            f"{published}"
        )
    check = check_inputs(directory)
    if check.missing:
        raise RunDirectoryError(f"inputs of {directory.path} are missing: {check.missing[0]}")
    if not directory.solution.is_file():
        raise RunDirectoryError(
            f"{directory.path} is not finished: finish it with trueup study resume {run}"
        )
    spec = read_spec(directory)
    if spec.lacking:
        raise RunDirectoryError(
            f"the {listing(spec.lacking)} of {directory.path} were Python objects, which are in no "
            "file: repeat the run with files"
        )
    summary = read_solution(directory)
    verdict = summary["verdict"]
    if verdict["grade"] == "do not use":
        raise ParameterError(
            f"{directory.path} is not one to use: {verdict['reasons'][0]['sentence']}"
        )
    # written next to its place and renamed, so that no half entry is ever there
    output.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{output.name}.", dir=output.parent))
    try:
        partial.chmod(0o755)
        own = function_of(kind, "entry")(spec, directory, partial, with_logs)
        atomic.write_text(partial / "report.html", _page(directory))
        entry = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "name": output.name,
            "kind": kind,
            "licence": licence.strip(),
            "by": by,
            "grade": verdict["grade"],
            "reasons": [reason["sentence"] for reason in verdict["reasons"]],
            "values": {row["name"]: _value(row) for row in summary["parameters"]},
            "fitted": str(summary["provenance"].get("started", ""))[:10],
            "trueup": summary["trueup"],
            **own,
        }
        _write(partial / FILE, entry)
        if output.exists():
            shutil.rmtree(output)
        partial.rename(output)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return read_entry(output)


def _page(directory: RunDirectory) -> str:
    """The page without a script, and without the place of the run on this machine."""
    text = report(directory).html(static=True)
    for folder in dict.fromkeys((directory.path.parent, directory.path.resolve().parent)):
        place = f"{folder}{os.sep}"
        for written in (str(breakable(place)), html.escape(place)):
            text = text.replace(written, "") if folder.is_absolute() else text
    return text


def _write(path: Path, entry: dict[str, Any]) -> None:
    import yaml

    text = yaml.safe_dump(atomic.to_plain(entry), sort_keys=False, allow_unicode=True)
    atomic.write_text(path, text)


def _value(row: dict[str, Any]) -> dict[str, Any]:
    """Value, interval and unit of a parameter."""
    interval = interval_of(row)
    known = interval is not None and bool(np.isfinite(interval).all())
    return {
        "value": row["value"],
        "interval": list(interval) if known and interval is not None else None,
        "unit": row["unit"],
    }
