"""Report of a fit with the toolbox's functions."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from trueup import reports
from trueup.errors import ReportError, TrueupError
from trueup.fitting.solution import Solution, Status
from trueup.parameters import ParameterDict
from trueup.runs.store import provenance
from trueup.signals import QualityReport, check_quality
from trueup.simulation.measured.model_sequences import ModelSequences
from trueup.sysid.assess.assessment import assess
from trueup.sysid.assess.summary import summarise
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.model_modifier import apply_param_modifiers
from trueup.sysid.report import ReportBuilder, identification_report, save_path_of
from trueup.sysid.results.overlay_video import motion_videos
from trueup.sysid.toolbox.hooked_problem import HookedProblem
from trueup.sysid.toolbox.user_residual import problem_of, problem_of_function


def default_report(
    models_sequences: Sequence[ModelSequences],
    initial_params: ParameterDict,
    opt_params: ParameterDict,
    residual_fn: Callable[..., Any],
    opt_result: Any,
    title: str = "SysID",
    save_path: str | Path | None = None,
    build_model: Callable[..., Any] | None = apply_param_modifiers,
    generate_videos: bool = True,
) -> ReportBuilder:
    """Report a fit: parameters with intervals, signals, scores, identifiability, residuals.

    The fit is assessed as in :func:`trueup.sysid.identify`. The specs of the models and the
    parameters are not changed.

    Args:
      models_sequences: models with their recordings, those of the residual function.
      initial_params: parameters before the fit.
      opt_params: parameters after it.
      residual_fn: the residual function of the fit, preferably of :func:`build_residual_fn`, or any
        function ``residual_fn(x, params) -> (residuals, predictions, records)``.
      opt_result: result of :func:`optimize`; its status, message and history are shown.
      title: heading.
      save_path: folder for ``report.html``, or an HTML file; None: nothing is written.
      build_model: compiles the models of a video if the residual function is not of
        :func:`build_residual_fn`; None for no video then.
      generate_videos: overlay measured, initial and identified motion; if rendering is not
        possible, the report contains a note with the reason.

    Returns:
      The report, to which sections can be added.

    Raises:
      ReportError: ``initial_params`` and ``opt_params`` have different free parameters, or the
        file cannot be written.
    """
    before, after = initial_params, opt_params
    names = before.get_non_frozen_parameter_names()
    if names != after.get_non_frozen_parameter_names() or before.size != after.size:
        raise ReportError(
            f"initial_params has the free parameters {', '.join(names)}, opt_params "
            f"{', '.join(after.get_non_frozen_parameter_names())}: they must be the same"
        )
    sequences = [name for models in models_sequences for name in models.sequence_name]
    problem = problem_of(residual_fn, before, sequences)
    if not isinstance(problem, GrayBoxProblem | HookedProblem):
        problem = problem_of_function(residual_fn, before, sequences)
    start, x = np.asarray(before.as_vector(), float), np.asarray(after.as_vector(), float)
    solution = _solution(opt_result, problem, x)
    assessment = assess(problem, start, solution)  # type: ignore[arg-type]
    solution.covariance, solution.intervals = assessment.covariance.matrix, assessment.intervals
    solution.provenance = provenance.collect(None, [], {})
    summary = summarise(
        title,
        problem,  # type: ignore[arg-type]
        solution,
        assessment,
        quality=_quality(models_sequences),
    )
    summary["models"] = list(getattr(opt_result, "models", ()))
    videos: list[reports.Content] = []
    if generate_videos:
        videos = _videos(problem, models_sequences, build_model, before, start, x)
    page = identification_report(summary, assessment.signals, videos, title)
    if save_path is not None:
        page.save(save_path_of(save_path))
    return page


def _solution(result: Any, problem: Any, x: np.ndarray) -> Solution:
    """Solution from the result of :func:`optimize` or of scipy."""
    cost = float(problem.costs(x[None])[0, 0])
    status = getattr(result, "status", None)
    if not isinstance(status, Status):
        success = bool(getattr(result, "success", True))
        out_of_steps = status == 0 and not success
        status = (
            Status.CONVERGED
            if success
            else Status.ITERATION_LIMIT
            if out_of_steps
            else Status.STALLED
        )
    message = str(getattr(result, "message", "") or status.value)
    return Solution(
        parameters=dict(zip(problem.space.names, map(float, x), strict=True)),
        x=x,
        cost=cost,
        status=status,
        message=message,
        history=_history(result),
        stats={"evaluations": int(getattr(result, "nfev", 0) or 0)},
    )


def _history(result: Any) -> list[dict[str, Any]]:
    """History of the search: trueup's, or the trace of the toolbox in ``extras``."""
    own = getattr(result, "history", None)
    if isinstance(own, list) and all(isinstance(h, dict) and "cost" in h for h in own):
        return own
    extras = getattr(result, "extras", None) or {}
    costs = np.ravel(extras.get("objective", []))
    points = [np.ravel(p) for p in extras.get("candidate", [])]
    if len(costs) == 0 or len(points) != len(costs):
        return []
    nan = float("nan")
    return [
        {
            "iteration": i,
            "evaluations": i,
            "cost": float(cost),
            "mu": nan,
            "step": nan,
            "x": point.tolist(),
        }
        for i, (cost, point) in enumerate(zip(costs, points, strict=True))
    ]


def _quality(models_sequences: Sequence[ModelSequences]) -> dict[str, QualityReport]:
    return {
        name: check_quality(trajectory.sensordata)
        for models in models_sequences
        for name, trajectory in zip(models.sequence_name, models.measured_rollout, strict=True)
        if trajectory.sensordata.signal_mapping
    }


def _videos(
    problem: GrayBoxProblem | HookedProblem,
    models_sequences: Sequence[ModelSequences],
    build_model: Callable[..., Any] | None,
    parameters: ParameterDict,
    start: np.ndarray,
    x: np.ndarray,
) -> list[reports.Content]:
    if not isinstance(problem, GrayBoxProblem):
        if build_model is None:
            return [reports.Note("The overlay video was skipped: build_model is None.")]
        own = None if build_model is apply_param_modifiers else build_model
        try:
            problem = GrayBoxProblem(parameters, models_sequences, build_model=own)
        except TrueupError as error:
            return [reports.Note(f"The overlay video was skipped: {error}")]
    return motion_videos(problem, models_sequences, start, x)
