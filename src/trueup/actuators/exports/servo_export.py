"""Request for an export of a servo, its result, and the terms that an export lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.equations.extended_terms import ABSENT, EXTENDED_TERMS
from trueup.actuators.logs.servo_log import ServoLog


@dataclass(frozen=True)
class ExportRequest:
    """Servo to export, and the conditions for which it is exported."""

    model: ServoModel
    """Identified servo."""
    path: Path | None = None
    """Parameter file of the model; None if it has none."""
    logs: Sequence[ServoLog] | None = None
    """Evenly sampled logs to measure the error on; None: the standard trajectories."""
    kp: float | None = None
    """Firmware gain; None: the servo's."""
    vin: float | None = None
    """Bus voltage [V]; None: the servo's."""
    timestep: float = 0.001
    """Time step of the simulation [s]."""


@dataclass(frozen=True)
class ServoExport:
    """Exported servo."""

    text: str
    """Content of the file."""
    errors: Mapping[str, float] | None = None
    """Mean position differences [rad]; None for a form that keeps the whole model.

    ``from_model``: simulator to full model; ``while_driven``: the same, each log up to where its
    torque goes off; with logs, ``from_logs``: simulator to recordings, and ``model_from_logs``:
    full model to recordings.
    """


def missing_terms(model: ServoModel, expressed: Sequence[str]) -> list[str]:
    """Extended terms with an effect that an export lacks.

    Args:
      model: identified servo.
      expressed: names of the terms that the export has.
    """
    return [
        name
        for name in EXTENDED_TERMS
        if name not in expressed and model.values.get(name, ABSENT[name]) != ABSENT[name]
    ]
