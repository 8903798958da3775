"""Explanation of a gap in a run directory, from experiment to report."""

import time
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import KEY
from trueup.errors import RunDirectoryError, listing
from trueup.explain.attribution import Attribution, attribute
from trueup.explain.explanation import Explanation, summarise
from trueup.explain.log import ExplainedLog, explained_log, prepare_log
from trueup.explain.recorded_torques import log_of_torques
from trueup.explain.report import report_of_run
from trueup.explain.spec import ExplanationSpec
from trueup.runs.execution import Execution
from trueup.runs.loop.progress import Progress
from trueup.runs.outcome import Outcome
from trueup.runs.session import Run, Session
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory
from trueup.sysid.causes.freed import ITERATIONS, FreedFit
from trueup.sysid.experiment.run_inputs import mark_of_models

FITS = "fits.json"
"""File of the finished fits."""

_IN_PROVENANCE = {"name", "causes", "level", "anyway", "experiment"}


def run_explanation(spec: ExplanationSpec, session: Session) -> Outcome:
    """Explain a gap; raises the errors of :func:`trueup.runs.start`."""
    log, mark = read_and_check(spec)
    with session.begin(
        spec,
        log.prepared.inputs,
        settings=spec.model_dump(mode="json", include=_IN_PROVENANCE),
        folder=spec.folder,
        mark=mark,
        has_progress=lambda directory: directory.inside(FITS).is_file(),
        saved=saved_fits,
    ) as run:
        run.describe()
        found = make_fits(spec, log, run)

        def bare(found: Attribution) -> dict[str, Any]:
            return {
                "kind": spec.kind,
                "name": spec.name,
                "status": "finished",
                "cost": None,
                "parameters": [],
                "chosen": found.chosen,
                "stats": {"evaluations": sum(f.evaluations for f in found.fits.values())},
                "notes": log.all_notes,
            }

        def judge(found: Attribution) -> Outcome:
            summary = summarise(spec.name, found, spec.seed or 0)
            summary["provenance"] = run.origin
            return Outcome(Explanation(found, summary, run.directory.path), summary)

        return run.finish(
            found, bare=bare, judge=judge, page=lambda outcome: report_of_run(run.directory)
        )


def read_and_check(spec: ExplanationSpec) -> tuple[ExplainedLog, str | None]:
    """Log with the unknowns of the causes, and the mark of all outputs about the model.

    Raises:
      TrueupError: invalid input.
    """
    prepared = prepare_log(spec.experiment, spec.folder)
    mark = mark_of_models(spec.experiment, spec.folder, anyway=spec.anyway)
    return explained_log(prepared, spec.causes), mark


def make_fits(spec: ExplanationSpec, log: ExplainedLog, run: Run) -> Attribution:
    """Run the missing fits, saving each one, and select causes.

    Raises:
      KeyboardInterrupt: Ctrl-C.
    """
    file = run.directory.inside(FITS)
    made = read_fits(file) if run.resume and file.is_file() else {}
    with Progress(run.verbose) as shown:
        torques = log_of_torques(log)
        return attribute(
            log, spec.level, made, lambda fits: write_fits(file, fits), shown.update, torques
        )


def write_fits(file: Path, fits: dict[str, FreedFit]) -> None:
    """Write the finished fits, by their causes."""
    atomic.write_json(file, {name: fit.to_dict() for name, fit in fits.items()})


def read_fits(file: Path) -> dict[str, FreedFit]:
    """Finished fits of a run.

    Raises:
      RunDirectoryError: the file is damaged.
    """
    try:
        found = atomic.read_json(file)
        return {name: FreedFit.from_dict(fit) for name, fit in found.items() if name != KEY}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RunDirectoryError(f"{file} is damaged: {error}") from error


def saved_fits(directory: RunDirectory) -> str:
    """Sentence on the saved fits of an interrupted run."""
    file = directory.inside(FITS)
    if not file.is_file():
        return "stopped before the first fit was complete"
    made = list(read_fits(file))
    return f"stopped; {len(made)} fits are saved ({listing(made, 12)})"


def plan_explanation(spec: ExplanationSpec, execution: Execution) -> dict[str, Any]:
    """Causes that an explanation would free, and its usual time [s]."""
    log, _ = read_and_check(spec)
    problem, count = log.training, 8
    began = time.perf_counter()
    problem.costs(np.tile(log.start, (count, 1)))
    seconds = (time.perf_counter() - began) / count
    sizes = {cause: len(log.variants_of(cause)[0].columns) for cause in log.columns}
    # a linearisation with the unknowns of all, and the motion at steps of each cause
    leading = sum(len(v.leading) for cause in sizes for v in log.variants_of(cause))
    usual = leading + sum(len(guesses) + 1 for guesses in log.guesses if guesses)
    usual += 3 * sum(len(log.variants_of(cause)) for cause in sizes)
    # six fits of half the iterations, and as many for alternatives
    freed = sum(sizes.values()) / len(sizes) + len(log.always) + 3
    usual += 12 * 0.5 * ITERATIONS * freed
    # every fit searches for its best start states on the held-out data
    judged = log.held_out.residual_size / max(problem.residual_size, 1)
    usual += 2 * (len(sizes) + 6) * (100 * log.touches + 3 * len(log.states)) * judged
    return {
        "causes": sizes,
        "absent": log.absent,
        "training": problem.sequence_names,
        "held_out": log.held_out.sequence_names,
        "residuals": problem.residual_size,
        "iterations": ITERATIONS,
        "seconds": seconds * usual,
        "notes": log.all_notes,
    }
