"""Content of the published entry of a servo fit: parameter file, servo and logs."""

import shutil
from pathlib import Path
from typing import Any

from trueup._input_files import read_settings, safe_yaml
from trueup.actuators.catalogue.parameter_file import load_model, model_to_dict
from trueup.actuators.logs.files import LOGS
from trueup.actuators.search.spec import FitSpec
from trueup.errors import ParameterError
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution

_PRIVATE = ("arguments", "platform", "git")
"""Parts of a provenance that say more of a machine than of a fit."""


def write_entry(
    spec: FitSpec, directory: RunDirectory, folder: Path, with_logs: bool
) -> dict[str, Any]:
    """Write the files of an entry; returns its keys.

    Raises:
      ParameterError: two logs have one name.
    """
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
        name = f"{LOGS}/{path.name}"
        if name in logs:
            raise ParameterError(f"two logs are named {path.name}: rename one and repeat the fit")
        logs[name] = log.sha256
        if with_logs:
            shutil.copyfile(path, folder / name)
    return {
        "servo": model.servo.name,
        "title": model.servo.title,
        "model": model.friction.name,
        "terms": list(model.terms),
        "parameters": parameters,
        "catalogue": catalogue,
        "position_error": _errors(read_solution(directory)),
        "settings": spec.to_dict(directory.path)["settings"],
        "logs": logs,
    }


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
