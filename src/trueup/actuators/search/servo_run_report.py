"""Report of a servo fit, from its run directory."""

from typing import Any

import numpy as np

from trueup.actuators.catalogue.servo_model import ServoModel
from trueup.actuators.logs.splits import split_logs
from trueup.actuators.report._servo_fit import servo_report
from trueup.actuators.search.nested_models import nested_sub_models
from trueup.actuators.search.servo_search import STAGES
from trueup.actuators.search.spec import FitSpec
from trueup.actuators.selection.model_for_fit import choice_of_run, chosen_spec
from trueup.parameters import Space
from trueup.reports import Page
from trueup.runs.kinds import read_spec
from trueup.runs.store.history import History
from trueup.runs.store.run_directory import RunDirectory
from trueup.runs.store.solution_file import read_solution
from trueup.runs.study_page.record import read_study
from trueup.runs.study_page.report import study_report


def report_of_run(directory: RunDirectory) -> Page:
    """Report of a fit from its run directory; of a running fit, the report of its search."""
    if not directory.solution.is_file():
        return study_report(read_study(directory))
    spec = read_spec(directory)
    assert isinstance(spec, FitSpec)
    spec.check_report(directory)
    spec.load_catalogue()
    choice = choice_of_run(spec, directory)
    spec = chosen_spec(spec, choice)
    settings, logs = spec.fit_settings, spec.run_logs().logs
    study = read_study(directory)
    summary = read_solution(directory)
    training, held_out = split_logs(
        logs,
        kp=settings.validation_kp,
        mass=settings.validation_mass,
        trajectory=settings.validation_trajectory,
    )
    values = {row["name"]: row["value"] for row in summary["parameters"]}
    model = ServoModel.create(
        spec.servo_or_name,
        spec.first_model,
        settings.terms,
        quadratic=settings.quadratic,
        **{**summary["fixed"], **values},
    )
    return servo_report(
        model,
        training,
        held_out,
        statistics={**summary, "history": _course(study.history, model.space(list(values)))},
        kind=settings.objective.kind,
        scheme=settings.scheme,
        reset_period=settings.reset_period,
        vin=settings.vin,
        choice=choice,
    )


def _course(history: History, space: Space) -> list[dict[str, Any]]:
    """Best cost after each generation, as in the history of a solution."""
    costs = np.where(np.isfinite(history.costs[:, 0]), history.costs[:, 0], np.inf)
    best = np.minimum.accumulate(costs)
    ends = np.searchsorted(history.generation, np.unique(history.generation), side="right")
    numbers = {entry["generation"]: entry.get("stage") for entry in history.generations}
    stages = {k: None if n is None else STAGES[int(n)] for k, n in numbers.items()}
    names = [sub_model.name for sub_model in nested_sub_models(space)]
    reached = {entry["generation"]: entry.get("model") for entry in history.generations}
    # a search with too few evaluations for sub-models has only the full model
    nested = max((n for n in reached.values() if n is not None), default=0) > 0
    models = {k: names[int(n)] if nested and n is not None else None for k, n in reached.items()}
    return [
        {
            "evaluations": int(history.counted[end - 1]),
            "cost": float(best[end - 1]),
            "stage": stages.get(int(history.generation[end - 1])),
            "model": models.get(int(history.generation[end - 1])),
        }
        for end in ends
    ]
