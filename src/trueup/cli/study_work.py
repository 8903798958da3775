"""``trueup study work``: a process that evaluates candidates for a study of another one."""

from pathlib import Path
from typing import Any

from trueup.cli.output import Output
from trueup.errors import ExperimentError
from trueup.runs import read_job
from trueup.runs.named_problem import named_problem
from trueup.studies import RunDirectory
from trueup.studies.progress import Progress


def run_study_work(
    target: str,
    storage: str | None,
    study: str | None,
    dimension: int | None,
    patience: float,
    verbose: bool,
    output: Output,
) -> int:
    """Run the command; returns the exit code."""
    from trueup.studies.optuna_storage import work

    problem, storage, study = _job(target, storage, study, dimension)
    with Progress(verbose) as progress:
        count = work(
            problem,
            storage,
            study,
            patience=patience,
            on_answer=lambda done: progress.update(f"{done} candidates evaluated"),
        )
    output.result({"study": study, "evaluations": count})
    output.text(f"The study {study!r} has ended; {count} of its candidates were evaluated here.")
    return 0


def _job(
    target: str, storage: str | None, study: str | None, dimension: int | None
) -> tuple[Any, str, str]:
    """Problem, storage and study that a worker is for."""
    if not (Path(target) / "run.json").is_file():
        if storage is None or study is None:
            raise ExperimentError(
                f"{target} is no run directory; to work on a study of this problem name "
                "its --storage and its --study"
            )
        return named_problem(target, dimension).problem, storage, study
    from trueup.studies.optuna_storage.ownership import default_storage

    directory = RunDirectory.open(target)
    job = read_job(directory)
    execution = job.execution
    if not execution.share and storage is None:
        raise ExperimentError(
            f"{directory.path} is not shared: it was started without --share. Stop it, and "
            f"continue it with  trueup study resume {directory.path} --share"
        )
    storage = storage or execution.storage or default_storage(directory)
    return job.problem, storage, study or execution.load_study or directory.path.name
