"""``trueup study work``: a process that evaluates candidates for a study of another one."""

from pathlib import Path
from typing import Any

from trueup.cli.output import Output
from trueup.cli.study_commands import StudyWork
from trueup.cli.study_files import read_experiment
from trueup.cli.study_problems import named_problem
from trueup.cli.study_run import problem_of_run
from trueup.errors import ExperimentError
from trueup.studies import RunDirectory
from trueup.studies.progress import Progress


def run_study_work(command: StudyWork, output: Output) -> int:
    """Run the command; returns the exit code."""
    from trueup.studies.optuna_storage import work

    problem, storage, study = _job(command)
    with Progress(not (command.quiet or output.json)) as progress:
        count = work(
            problem,
            storage,
            study,
            patience=command.patience,
            on_answer=lambda done: progress.update(f"{done} candidates evaluated"),
        )
    output.result({"study": study, "evaluations": count})
    output.text(f"The study {study!r} has ended; {count} of its candidates were evaluated here.")
    return 0


def _job(command: StudyWork) -> tuple[Any, str, str]:
    """Problem, storage and study that a worker is for."""
    if not (Path(command.target) / "run.json").is_file():
        if command.storage is None or command.study is None:
            raise ExperimentError(
                f"{command.target} is no run directory; to work on a study of this problem name "
                "its --storage and its --study"
            )
        problem = named_problem(command.target, command.dimension).problem
        return problem, command.storage, command.study
    from trueup.studies.optuna_storage.ownership import default_storage

    directory = RunDirectory.open(command.target)
    execution = read_experiment(directory).get("execution") or {}
    if not execution.get("share") and command.storage is None:
        raise ExperimentError(
            f"{directory.path} is not shared: it was started without --share. Stop it, and "
            f"continue it with  trueup study resume {directory.path} --share"
        )
    storage = command.storage or execution.get("storage") or default_storage(directory)
    study = command.study or execution.get("load_study") or directory.path.name
    return problem_of_run(directory).problem, storage, study
