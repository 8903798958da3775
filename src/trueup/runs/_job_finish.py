"""What follows a search: assessment, verdict, files and report, in an order that loses nothing."""

from collections.abc import Callable
from typing import Any

from trueup._marks import KEY, current_mark
from trueup.errors import TrueupError, UnfinishedRunError
from trueup.runs.job import Job, JobRun
from trueup.runs.loop.progress import Progress
from trueup.runs.outcome import Outcome
from trueup.runs.store import atomic


def finish(run: JobRun, solution: Any) -> Outcome:
    """Assess a solution and write every result.

    Raises:
      UnfinishedRunError: a stage failed; what the others gave is written.
    """
    job, directory = run.job, run.directory
    if hasattr(solution, "provenance"):
        solution.provenance = run.origin
    failed: dict[str, str] = {}
    causes: list[Exception] = []

    def attempt(stage: str, function: Callable[[], Any]) -> Any:
        try:
            return function()
        except Exception as error:
            failed[stage] = _sentence(error)
            causes.append(error)
            return None

    with Progress(run.verbose) as progress:
        progress.update("assessment, files, report")
        attempt("the model", lambda: job.keep(run, solution))
        # a result is on disk before the time that the assessment takes
        waiting = {"the assessment": "it had not ended when this file was written"}
        _write_summary(run, job.bare_summary(solution), waiting)
        outcome = attempt("the assessment", lambda: job.finish(run, solution))
        if outcome is None:
            summary = job.bare_summary(solution)
        else:
            if (mark := current_mark()) is not None:
                outcome.summary = {**outcome.summary, KEY: mark}
            summary = outcome.summary
            outcome.kind, outcome.directory = job.kind, directory.path
            attempt("the files", lambda: job.write(run, outcome))
        _write_summary(run, summary, failed)
        if outcome is not None:
            attempt("the report", lambda: _write_page(job, run, outcome))
    if failed:
        if "the report" in failed:
            _write_summary(run, summary, failed)
        raise _unfinished(run, failed) from causes[0]
    assert outcome is not None  # or its stage would have failed
    return outcome


def _write_summary(run: JobRun, summary: dict[str, Any], failed: dict[str, str]) -> None:
    if failed:
        summary = {**summary, "failed": failed}
    atomic.write_json(run.directory.solution, summary)


def _write_page(job: Job, run: JobRun, outcome: Outcome) -> None:
    page = job.page(run, outcome)
    if page is not None:
        page.save(run.directory.report)


def _unfinished(run: JobRun, failed: dict[str, str]) -> UnfinishedRunError:
    stages = "; ".join(f"{stage} failed: {reason}" for stage, reason in failed.items())
    return UnfinishedRunError(
        f"the search is done and its result is in {run.directory.solution}, but {stages}. Once "
        f"that is mended, trueup study resume {run.directory.path}  does the rest"
    )


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, TrueupError) else f"{type(error).__name__}: {text}"
