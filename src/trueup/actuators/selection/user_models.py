"""Models of user-supplied parameter files, checked against the logs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from trueup._marks import KEY, joined
from trueup.actuators.assess.model_errors import names_in_logs
from trueup.actuators.catalogue.entries import use_catalogue
from trueup.actuators.catalogue.parameter_file import load_models
from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.servo_log import ServoLog
from trueup.errors import ParameterError, listing


def user_models(
    files: Sequence[Path],
    catalogue: Path | None = None,
    servo: str | None = None,
    logs: Sequence[ServoLog] = (),
    anyway: bool = False,
) -> dict[str, ServoModel]:
    """Models of parameter files, by label.

    Args:
      files: parameter files; duplicates are read once.
      catalogue: YAML file with additional servos.
      servo: servo that the files must be of.
      logs: logs that the files must match.
      anyway: accept files of fits with changed logs.

    Raises:
      ParameterError: a file is unusable, or of another servo than ``servo`` or the logs.
    """
    use_catalogue(catalogue)
    files = list(dict.fromkeys(files))
    models = load_models(files, servo=servo, anyway=anyway)
    for file, model in zip(files, models.values(), strict=True):
        others = {log.motor for log in logs} - names_in_logs(model.servo.name)
        if others:
            raise ParameterError(
                f"{file}: the parameters are of servo {model.servo.name!r}, but the logs are of "
                f"{listing(sorted(others))} ({logs[0].source} ...): pass files of that servo"
            )
    return models


def fitted_to(model: ServoModel, logs: Sequence[ServoLog]) -> list[str]:
    """Names of the logs that a model was fitted to, from its file."""
    known = model.provenance.get("training_logs") or {}
    return [log.name for log in logs if log.name in known]


def mark_of_models(models: Mapping[str, ServoModel]) -> str | None:
    """Mark of outputs made from models, about changed logs; None for none."""
    return joined(*(model.provenance.get(KEY) for model in models.values()))
