"""Publication of a servo fit as an entry that others read, check and refit."""

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from trueup._input_files import read_settings, safe_yaml
from trueup.actuators.catalogue.parameter_file import load_model, model_to_dict
from trueup.actuators.catalogue.published_entry import (
    FILE,
    FORMAT,
    FORMAT_VERSION,
    LOGS,
    PublishedEntry,
    is_entry,
    read_entry,
)
from trueup.actuators.search.spec import FitSpec
from trueup.errors import ParameterError, RunDirectoryError
from trueup.runs.kinds import read_spec
from trueup.runs.store import atomic
from trueup.runs.store.input_check import check_inputs
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import interval_of, read_solution

_PRIVATE = ("arguments", "platform", "git")
"""Parts of a provenance that say more of a machine than of a fit."""


def publish(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    licence: str,
    by: str = "",
    with_logs: bool = True,
    overwrite: bool = False,
) -> PublishedEntry:
    """Write the entry of a finished servo fit.

    Args:
      run: run directory of the fit.
      output: folder of the entry, which is created.
      licence: licence of parameters and logs, such as ``CC-BY-4.0``.
      by: authors.
      with_logs: copy the logs; otherwise only their hashes are written.
      overwrite: replace an entry in ``output``.

    Raises:
      ParameterError: ``output`` exists, no licence is given, or the fit is not one to use.
      RunDirectoryError: the folder is not the run directory of a finished servo fit, its inputs
        have changed or are missing, or its logs were never in a file.
    """
    output = Path(output)
    if not licence.strip():
        raise ParameterError("a licence is required, such as CC-BY-4.0 or CC0-1.0")
    if output.exists() and not (overwrite and is_entry(output)):
        remedy = "replace it with --overwrite" if is_entry(output) else "it holds no entry"
        raise ParameterError(f"{output} exists: {remedy}, or choose another --output")
    directory = RunDirectory.open(run)
    check = check_inputs(directory)
    if check.missing:
        raise RunDirectoryError(f"inputs of {directory.path} are missing: {check.missing[0]}")
    spec = read_spec(directory)
    if not isinstance(spec, FitSpec):
        raise RunDirectoryError(f"{directory.path} is {spec.noun}, not a servo fit")
    if not directory.solution.is_file():
        raise RunDirectoryError(
            f"{directory.path} is not finished: finish it with trueup study resume {run}"
        )
    if spec.lacking:
        raise RunDirectoryError(
            f"the {', '.join(spec.lacking)} of {directory.path} were objects in Python and are in "
            "no file: fit logs that are files"
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
        _write(partial, output.name, spec, directory, summary, licence.strip(), by, with_logs)
        if output.exists():
            shutil.rmtree(output)
        partial.rename(output)
    except BaseException:
        shutil.rmtree(partial, ignore_errors=True)
        raise
    return read_entry(output)


def _write(
    folder: Path,
    name: str,
    spec: FitSpec,
    directory: RunDirectory,
    summary: dict[str, Any],
    licence: str,
    by: str,
    with_logs: bool,
) -> None:
    import yaml

    catalogue = _write_servo(folder, spec)
    model = load_model(directory.path / "parameters.json")
    content = model_to_dict(model)
    content["provenance"] = {
        key: value for key, value in content["provenance"].items() if key not in _PRIVATE
    }
    parameters = f"{model.friction.name}.json"
    atomic.write_json(folder / parameters, content)
    logs = {}
    if with_logs:
        (folder / LOGS).mkdir()
    for log in spec.run_logs().logs:
        path = Path(log.source)
        if path.name in logs:
            raise ParameterError(f"two logs are named {path.name}: rename one and repeat the fit")
        logs[path.name] = log.sha256
        if with_logs:
            shutil.copyfile(path, folder / LOGS / path.name)
    if directory.report.is_file():
        shutil.copyfile(directory.report, folder / "report.html")
    verdict = summary["verdict"]
    entry = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "name": name,
        "servo": model.servo.name,
        "title": model.servo.title,
        "model": model.friction.name,
        "terms": list(model.terms),
        "parameters": parameters,
        "catalogue": catalogue,
        "licence": licence,
        "by": by,
        "grade": verdict["grade"],
        "reasons": [reason["sentence"] for reason in verdict["reasons"]],
        "position_error": _errors(summary),
        "values": {row["name"]: _value(row) for row in summary["parameters"]},
        "fitted": str(summary["provenance"].get("started", ""))[:10],
        "trueup": summary["trueup"],
        "settings": spec.to_dict(directory.path)["settings"],
        "logs": logs,
    }
    text = yaml.safe_dump(atomic.to_plain(entry), sort_keys=False, allow_unicode=True)
    atomic.write_text(folder / FILE, text)


def _write_servo(folder: Path, spec: FitSpec) -> str | None:
    """File with the servo of a fit, if it came from a catalogue of the user."""
    import yaml

    if spec.catalogue is None:
        return None
    spec.load_catalogue()
    servos = safe_yaml(read_settings(spec.catalogue))
    if spec.actuator not in servos:  # the fit used a built-in servo
        return None
    text = yaml.safe_dump({spec.actuator: servos[spec.actuator]}, sort_keys=False)
    atomic.write_text(folder / "servo.yaml", text)
    return "servo.yaml"


def _errors(summary: dict[str, Any]) -> dict[str, float]:
    """Mean absolute position errors [mrad] on the logs of the fit, and on held-out ones."""
    parts = {"fit": summary["training"], "held_out": summary["held_out"]}
    return {name: round(1e3 * part["mae"], 3) for name, part in parts.items() if part}


def _value(row: dict[str, Any]) -> dict[str, Any]:
    """Value, interval and unit of a parameter."""
    interval = interval_of(row)
    known = interval is not None and bool(np.isfinite(interval).all())
    return {
        "value": row["value"],
        "interval": list(interval) if known and interval is not None else None,
        "unit": row["unit"],
    }
