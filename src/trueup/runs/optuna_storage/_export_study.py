"""Evaluations of a run, written as a study of Optuna."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from trueup.errors import StorageError
from trueup.parameters import Space
from trueup.runs.loop.progress import Progress
from trueup.runs.optuna_storage.compatibility import check_compatible
from trueup.runs.optuna_storage.storage import existing_study, opened, study_names
from trueup.runs.store.history import History
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import space_records
from trueup.runs.store.yaml_file import read_mapping
from trueup.runs.study_page.record import StudyRecord, read_study

if TYPE_CHECKING:
    from optuna.distributions import FloatDistribution
    from optuna.trial import FrozenTrial

_FAR = 1e3
"""Bound of a parameter without one, in multiples of its start value, or of 1 if that is less."""
_BATCH = 50  # trials between two updates of the progress


@dataclass(frozen=True)
class ExportedStudy:
    """A study of Optuna that contains the evaluations of a run."""

    name: str
    """Name of the study in its storage."""
    storage: str
    """Address of the storage, without password."""
    trials: int
    """Trials of the study."""
    added: int
    """Trials that this export has added."""


def export_study(
    directory: RunDirectory,
    storage: str,
    *,
    load: str | None = None,
    space: Space | None = None,
    verbose: bool = False,
) -> ExportedStudy:
    """Write the evaluations of a run as finished trials of a study with the name of the run.

    A second export adds the evaluations that are missing, after an interruption or a resumed run.
    A valid candidate is a trial in the state COMPLETE with all its costs, which are minimised; an
    invalid one is in the state FAIL, with its reason as an attribute. Other attributes are its
    generation and its number therein. Ranges of Optuna are finite: a parameter without bounds gets
    1000 times its start value, and the study's attribute ``parameters without bounds`` names it.

    Args:
        directory: the run, which may be in progress.
        storage: URL of a database, or file.
        load: name of an existing study, made by any program, that the trials are added to.
        space: bounds and scales, where the run has no experiment file: a search that was run by
            :func:`trueup.runs.run_search`.
        verbose: show progress on the error stream.

    Raises:
        StorageError: the storage cannot be used, or its study is of another run or problem.
        RunDirectoryError: the run has no evaluations that can be read.
        MissingExtraError: optuna is not installed.
    """
    import optuna

    record = read_study(directory)
    history, name = record.history, load or _name_of(directory)
    with opened(storage, create=load is None) as (backend, shown):
        if load is not None or name in study_names(backend):
            study = existing_study(backend, shown, name)
        else:
            minimise = optuna.study.StudyDirection.MINIMIZE
            directions = [minimise] * len(record.objectives)
            study = optuna.create_study(study_name=name, storage=backend, directions=directions)
            if record.objectives != ("cost",):
                study.set_metric_names(list(record.objectives))
        former = study.get_trials(deepcopy=False)
        check_compatible(study, former, history.names, record.objectives)
        first, others = _evaluations_in(former, history)
        if load is None and others:
            raise study_exists(shown, name)
        ranges, unbounded = _ranges(record, former, space)
        if unbounded and load is None:
            study.set_user_attr("parameters without bounds", ", ".join(unbounded))
        total = len(history.X)
        ends = {each["generation"]: float(each["seconds"]) for each in history.generations}
        with Progress(verbose) as progress:
            for start in range(first, total, _BATCH):
                stop = min(start + _BATCH, total)
                study.add_trials([_trial(history, i, ranges, ends) for i in range(start, stop)])
                progress.update(f"{stop} of {total} trials in {shown}", stop / total)
    added = total - first
    return ExportedStudy(name, shown, len(former) + added, added)


def check_new_study(
    storage: str, name: str, load: str | None, names: Sequence[str], objectives: Sequence[str]
) -> None:
    """Raise what an export would raise for a run that is yet to be done.

    Args:
        storage: URL of a database, or file.
        name: name that the run's study will have.
        load: name of an existing study that the trials are to be added to.
        names: parameters of the run.
        objectives: names of its costs.

    Raises:
        StorageError: the storage cannot be used, or its study is of another run or problem.
        MissingExtraError: optuna is not installed.
    """
    with opened(storage, create=load is None) as (backend, shown):
        if load is not None:
            study = existing_study(backend, shown, load)
            check_compatible(study, study.get_trials(deepcopy=False), names, objectives)
        elif name in study_names(backend):
            raise study_exists(shown, name)


def study_exists(shown: str, name: str) -> StorageError:
    """Error: the study of this name is not that of the run."""
    return StorageError(
        f"{shown} already has a study {name!r}, of another run: choose another storage, or give "
        "the run another name"
    )


def _name_of(directory: RunDirectory) -> str:
    """Name of a run: that of its spec, which a result may replace by a longer one."""
    content = read_mapping(directory.experiment) if directory.experiment.is_file() else {}
    return str(content.get("name") or directory.path.name)


def _evaluations_in(trials: "list[FrozenTrial]", history: History) -> tuple[int, int]:
    """Evaluations of a history, from its first, that trials contain in its order; other trials.

    Trials of generations that a long history no longer contains are not others.
    """
    kept = set(history.generation.tolist()) if history.removed.evaluations else None
    found = others = 0
    for trial in trials:
        if found < len(history.X) and _is_row(trial, history, found):
            found += 1
        elif kept is None or trial.user_attrs.get("generation", -1) in {-1, *kept}:
            others += 1
    return found, others


def _is_row(trial: "FrozenTrial", history: History, row: int) -> bool:
    number = (int(history.generation[row]), int(history.candidate[row]))
    if (trial.user_attrs.get("generation"), trial.user_attrs.get("candidate")) != number:
        return False
    x = dict(zip(history.names, history.X[row].tolist(), strict=True))
    return all(trial.params[name] == x[name] for name in history.names if name in trial.params)


def _trial(
    history: History, row: int, ranges: "dict[str, FloatDistribution]", ends: dict[int, float]
) -> "FrozenTrial":
    """One evaluation as a trial; ``ends`` are those of the generations [s] from the run's begin."""
    from optuna.trial import TrialState, create_trial

    number, costs = int(history.generation[row]), history.costs[row]
    reason = history.reasons.get(row)
    if reason is None and np.isnan(costs).any():
        reason = "the cost is not a number"
    values = dict(zip(history.names, history.X[row].tolist(), strict=True))
    params = {name: x for name, x in values.items() if _has_place(x, ranges[name].log)}
    attributes: dict[str, Any] = {"generation": number, "candidate": int(history.candidate[row])}
    trial = create_trial(
        state=TrialState.COMPLETE if reason is None else TrialState.FAIL,
        values=costs.tolist() if reason is None else None,
        params=params,
        distributions={name: _reaching(ranges[name], x) for name, x in params.items()},
        user_attrs=attributes if reason is None else {**attributes, "reason": reason},
    )
    # Clock and time zone are those of the installed Optuna, which gave the trial the present time.
    now, end = trial.datetime_complete, ends[number]
    assert now is not None
    began = now - timedelta(seconds=max(ends.values()))
    trial.datetime_start = began + timedelta(seconds=min(ends.get(number - 1, 0.0), end))
    trial.datetime_complete = began + timedelta(seconds=end)
    return trial


def _ranges(
    record: StudyRecord, trials: "list[FrozenTrial]", space: Space | None
) -> tuple["dict[str, FloatDistribution]", list[str]]:
    """Finite range of each parameter, and the names of those without a finite one of their own.

    A parameter that a study already has keeps its scale there: Optuna takes one only.
    """
    from optuna.distributions import FloatDistribution, IntDistribution

    known = {row["name"]: row for row in record.parameters}
    if space is not None:
        known = space_records(space)
    scales = {
        name: kind.log
        for trial in trials
        for name, kind in trial.distributions.items()
        if isinstance(kind, FloatDistribution | IntDistribution)
    }
    ranges, unbounded = {}, []
    for name in record.history.names:
        row = known.get(name, {})
        log = bool(scales.get(name, row.get("scale") == "log"))
        lower, upper = float(row.get("lower", -math.inf)), float(row.get("upper", math.inf))
        low, high = _finite_range(lower, upper, float(row.get("start", 0.0)), log)
        if (low, high) != (lower, upper):
            unbounded.append(name)
        ranges[name] = FloatDistribution(low, high, log=log)
    return ranges, unbounded


def _finite_range(lower: float, upper: float, start: float, log: bool) -> tuple[float, float]:
    far = _FAR * max(abs(start), 1.0)
    if log:
        high = upper if math.isfinite(upper) else far
        low = lower if 0.0 < lower < math.inf else (start if start > 0.0 else high) / _FAR
        return low, high
    low = lower if math.isfinite(lower) else -far
    return low, upper if math.isfinite(upper) else far


def _has_place(value: float, log: bool) -> bool:
    return math.isfinite(value) and (value > 0.0 or not log)


def _reaching(range_: "FloatDistribution", value: float) -> "FloatDistribution":
    """The range, extended to a value outside of it."""
    from optuna.distributions import FloatDistribution

    if range_.low <= value <= range_.high:
        return range_
    return FloatDistribution(min(range_.low, value), max(range_.high, value), log=range_.log)
