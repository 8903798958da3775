"""Steps after a search: assessment, files and report, ordered so that no result is lost."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueup._marks import KEY, current_mark
from trueup.errors import TrueupError, UnfinishedRunError
from trueup.runs.loop.progress import Progress
from trueup.runs.outcome import Outcome
from trueup.runs.store import atomic
from trueup.runs.store.run_directory import RunDirectory

if TYPE_CHECKING:
    from trueup.reports import Page


@dataclass(frozen=True)
class Finish:
    """Steps that follow a search; see :meth:`trueup.runs.Run.finish`."""

    bare: Callable[[Any], dict[str, Any]]
    judge: Callable[[Any], Outcome]
    keep: Callable[[Any], None] | None = None
    write: Callable[[Outcome], None] | None = None
    page: "Callable[[Outcome], Page | None] | None" = None


def finish_run(
    directory: RunDirectory, kind: str, solution: Any, steps: Finish, verbose: bool
) -> Outcome:
    """Assess a solution and write all results.

    Raises:
      UnfinishedRunError: a step failed; the results of the others are written.
    """
    failed: dict[str, str] = {}
    causes: list[Exception] = []

    def attempt(stage: str, function: Callable[..., Any] | None, *arguments: Any) -> Any:
        if function is None:
            return None
        try:
            return function(*arguments)
        except Exception as error:  # reported below; the other steps are still executed
            failed[stage] = _sentence(error)
            causes.append(error)
            return None

    def write_page(outcome: Outcome) -> None:
        page = None if steps.page is None else steps.page(outcome)
        if page is not None:
            page.save(directory.report)

    with Progress(verbose) as progress:
        progress.update("assessment, files, report")
        attempt("the model", steps.keep, solution)
        # write the result before the assessment, which takes time
        waiting = {"the assessment": "it was not finished when this file was written"}
        _write_summary(directory, steps.bare(solution), waiting)
        outcome = attempt("the assessment", steps.judge, solution)
        if outcome is None:
            summary = steps.bare(solution)
        else:
            if (mark := current_mark()) is not None:
                outcome.summary = {**outcome.summary, KEY: mark}
            summary = outcome.summary
            outcome.kind, outcome.directory = kind, directory.path
            attempt("the files", steps.write, outcome)
        _write_summary(directory, summary, failed)
        if outcome is not None:
            attempt("the report", write_page, outcome)
    if failed:
        if "the report" in failed:
            _write_summary(directory, summary, failed)
        raise _unfinished(directory, failed) from causes[0]
    assert outcome is not None  # or its step would have failed
    return outcome


def _write_summary(
    directory: RunDirectory, summary: dict[str, Any], failed: dict[str, str]
) -> None:
    if failed:
        summary = {**summary, "failed": failed}
    atomic.write_json(directory.solution, summary)


def _unfinished(directory: RunDirectory, failed: dict[str, str]) -> UnfinishedRunError:
    stages = "; ".join(f"{stage} failed: {reason}" for stage, reason in failed.items())
    return UnfinishedRunError(
        f"the search is finished and its result is in {directory.solution}, but {stages}. "
        f"Correct this, then run  trueup study resume {directory.path}"
    )


def _sentence(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if isinstance(error, TrueupError) else f"{type(error).__name__}: {text}"
