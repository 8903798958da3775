"""Several parameter files of one servo: their models, by labels that tell them apart."""

import os
from collections.abc import Sequence
from pathlib import Path

from trueup.actuators.catalogue.parameter_file import load_model
from trueup.actuators.catalogue.servo_model import ServoModel


def load_models(
    paths: Sequence[str | os.PathLike[str]], *, servo: str | None = None
) -> dict[str, ServoModel]:
    """Read parameter files; each is labelled by as much of its path as tells it from the others.

    Args:
        paths: the files, each taken once.
        servo: servo that all of them have to be of.

    Raises:
        ParameterError: a file cannot be used, or is of another servo.
        FitError: its servo, model or terms do not exist.
    """
    files = list(dict.fromkeys(Path(path) for path in paths))
    labels = path_labels(files)
    models = (load_model(file, servo=servo) for file in files)
    return dict(zip(labels, models, strict=True))


def path_labels(files: Sequence[Path]) -> list[str]:
    """Stem of each file, with as many of its folders as it takes to make all labels different."""
    parts = [(*file.absolute().parent.parts[1:], file.stem) for file in files]
    labels = []
    for own in parts:
        others = [other for other in parts if other is not own]
        depth = 1
        while depth < len(own) and any(other[-depth:] == own[-depth:] for other in others):
            depth += 1
        labels.append("/".join(own[-depth:]))
    return labels
