"""Optimisation of a gait in a run directory."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trueup import runs
from trueup.errors import GaitError
from trueup.gait.plan import plan_gait
from trueup.gait.result import GaitResult
from trueup.gait.run import run_gait
from trueup.gait.search.configuration import GaitConfiguration
from trueup.gait.search.configuration_files import check_paths, load_configuration
from trueup.gait.search.earlier_runs import experiment_content
from trueup.gait.spec import GaitSpec, fingerprint
from trueup.gait.walk.settings import WalkSettings
from trueup.runs import Outcome
from trueup.runs.loop.budget import Budget


def optimize(
    configuration: GaitConfiguration | str | os.PathLike[str],
    directory: str | os.PathLike[str] | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    limits: Budget | None = None,
    threads: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    anyway: bool = False,
    verbose: bool = True,
) -> GaitResult:
    """Optimise the gains, pose and exoskeleton torque of a walk for a low cost.

    The run directory contains the resolved configuration, every evaluation with its terms, the
    vectors ``*_Best.txt`` and ``*_BestLast.txt``, ``solution.json`` with the verdict, and
    ``report.html``. ``trueup study resume`` and ``trueup report`` also accept this run, and
    ``resume`` accepts a run of ``trueup gait optimize``.

    Args:
      configuration: configuration; or its name, a YAML file, a ``.bat`` or ``.sh`` file of
        MyoAssist, or the ``experiment.yaml`` of a run, which is repeated from its initial state.
      directory: run directory; by default ``runs/NAME``.
      changes: other values of the configuration, by key.
      limits: limits of the search; ``maxiter`` of the configuration is one of them.
      threads: number of simulation threads; 0 uses all cores. The result does not depend on it.
      resume: resume the run in the directory.
      overwrite: replace the run in the directory.
      anyway: also start from the walk of a run with changed inputs; every file records this.
      verbose: show progress on the error stream.

    Returns:
      The result; its verdict states whether the walk is steady and natural.

    Raises:
      GaitError: the configuration is invalid, or the initial walk cannot start.
      RunDirectoryError: the directory contains another run.
      ModelError: the model is missing or does not compile.
      RunInterrupted: Ctrl-C; the message contains the command that resumes the run.
    """
    outcome = start_run(
        configuration,
        directory,
        changes=changes,
        limits=limits,
        threads=threads,
        resume=resume,
        overwrite=overwrite,
        anyway=anyway,
        verbose=verbose,
    )
    return outcome.result


def plan_optimize(
    configuration: GaitConfiguration | str | os.PathLike[str],
    directory: str | os.PathLike[str] | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    limits: Budget | None = None,
    threads: int = 0,
    overwrite: bool = False,
    anyway: bool = False,
) -> dict[str, Any]:
    """Plan of :func:`optimize`: stages, walks and the longest time; nothing is written.

    Returns:
      ``directory``, ``unknowns``, ``stages`` with generations, candidates and walks,
      ``seconds_at_most`` (None where the search has no limit), and ``notes`` on the start.

    Raises:
      TrueupError: errors that :func:`optimize` would raise.
    """
    spec, target = _spec(configuration, directory, changes, limits, threads, False, anyway)
    return runs.plan(plan_gait, spec, target, overwrite=overwrite)


def start_run(
    configuration: GaitConfiguration | str | os.PathLike[str],
    directory: str | os.PathLike[str] | None = None,
    *,
    changes: Mapping[str, Any] | None = None,
    limits: Budget | None = None,
    threads: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    anyway: bool = False,
    verbose: bool = True,
) -> Outcome:
    """The outcome of :func:`optimize`, with the content of ``solution.json``."""
    spec, target = _spec(configuration, directory, changes, limits, threads, resume, anyway)
    return runs.start(run_gait, spec, target, resume=resume, overwrite=overwrite, verbose=verbose)


def _spec(
    configuration: GaitConfiguration | str | os.PathLike[str],
    directory: str | os.PathLike[str] | None,
    changes: Mapping[str, Any] | None,
    limits: Budget | None,
    threads: int,
    resume: bool,
    anyway: bool,
) -> tuple[GaitSpec, Path]:
    """The spec of a search, and its run directory."""
    changes = dict(changes or {})
    if isinstance(configuration, GaitConfiguration):
        source, stem, loaded, repeated = "the configuration", "gait", configuration, None
    else:
        source, stem = str(configuration), Path(configuration).stem
        loaded = load_configuration(source)
        repeated = experiment_content(source)
        if not resume:
            check_paths(source, changes)
    full = loaded.with_changes(changes)
    if full.optim_mode == "evaluate":
        raise GaitError(
            "the mode evaluate has no search: evaluate the vector with  trueup gait evaluate FILE, "
            "or gait.evaluate_walk"
        )
    target = Path(directory) if directory is not None else Path("runs") / stem
    spec = GaitSpec(
        name=target.name or target.resolve().name,
        seed=full.seed,
        limits=limits or Budget(),
        configuration=full,
        begun_with=fingerprint(loaded),
        loaded=loaded,
        changes=changes,
        source=source,
        threads=WalkSettings(threads=threads).threads,  # checked before any simulation
        repeated=repeated,
        anyway=anyway,
    )
    return spec, target
