"""Start values of a servo fit: from the catalogue, an earlier result or a call."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from trueup.actuators.search.prepared_fit import free_names, start_model
from trueup.actuators.search.spec import FitSpec
from trueup.errors import FitError
from trueup.parameters import Space
from trueup.runs.execution import Execution
from trueup.runs.loop._warm_start import warm_start


def with_start(spec: FitSpec, execution: Execution) -> FitSpec:
    """Spec with the start values of its parameters, and notes on their origin.

    A spec with start values, or with a model to be selected, is returned unchanged.

    Raises:
      TrueupError: the start is unusable, or the model is to be selected.
    """
    if spec.model is None:
        if execution.load_study:
            raise FitError("--load-study requires a friction model: select it with --model")
        return spec
    if spec.start is not None:
        return spec
    model = start_model(spec.servo_or_name, spec.model, spec.fit_settings)
    space, notes = _started(spec, model.space(free_names(model, spec.settings)), execution)
    start = np.clip(space.start, space.lower, space.upper)
    values = dict(zip(space.names, start.tolist(), strict=True))
    return spec.model_copy(update={"start": values, "notes": (*spec.notes, *notes)})


def _started(spec: FitSpec, space: Space, execution: Execution) -> tuple[Space, list[str]]:
    """Space with its start values, and notes on their origin."""
    kind, start = spec.settings.objective.kind, spec.start_from
    if execution.storage and execution.load_study:
        return _best_of_storage(execution.storage, execution.load_study, space, kind)
    if start is None:
        return space, []
    if isinstance(start, np.ndarray):
        return replace(space, start=np.array(start, float)), []
    path = Path(start).expanduser()
    if path.is_file() and _is_sqlite(path):
        return _best_of_storage(f"sqlite:///{path}", None, space, kind)
    if path.is_file() and path.suffix == ".log":  # a journal of Optuna
        return _best_of_storage(str(path), None, space, kind)
    if not path.exists():
        raise FitError(
            f"--load-study {start}: no such run directory or SQLite file; to select a "
            "study of a storage, pass --storage too"
        )
    warm = warm_start(path, space)
    return warm.space(space), warm.sentences


def _best_of_storage(
    storage: str, name: str | None, space: Space, kind: str
) -> tuple[Space, list[str]]:
    from trueup.runs.optuna_storage import load_study

    found = load_study(storage, name, space, (kind,))
    return (space if found.x is None else replace(space, start=found.x.copy())), found.notes()


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(15) == b"SQLite format 3"
