"""Export of what is known of a model as randomisation for a simulator."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._version import __version__
from trueup.errors import FitError, RunDirectoryError
from trueup.posterior.belief import Belief
from trueup.posterior.draws import Draws
from trueup.posterior.fleet import fleet_run
from trueup.posterior.held_out_check import HeldOutCheck, check_on_held_out
from trueup.posterior.identified import IdentifiedRun, identified_run
from trueup.posterior.model_fields import model_fields
from trueup.posterior.reconciled import ReconciledRuns
from trueup.posterior.signals import command_delays, signal_draws
from trueup.posterior.simulators.forms import SimulatorForm, simulator_form
from trueup.studies import atomic

DRAWS_FILE, DESCRIPTION, PAGE = "posterior.npz", "dr.json", "report.html"
_FEWEST = 32


@dataclass(frozen=True)
class Randomisation:
    """Draws of a model, what they were checked against, and the files that hold them."""

    draws: Draws
    check: HeldOutCheck | None
    """Check on held-out recordings; None where nothing was held out."""
    narrower: float
    """Median over elements of how much wider independent draws would let one be, given the
    others: 1 where nothing is correlated."""
    description: dict[str, Any]
    """Content of ``dr.json``."""
    directory: Path
    files: tuple[Path, ...]


def export_randomisation(
    run: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    simulator: str = "json",
    *,
    draws: int = 4096,
    seed: int = 0,
    anyway: bool = False,
    overwrite: bool = False,
    folder: str | os.PathLike[str] | None = None,
    progress: Callable[[float], None] | None = None,
) -> Randomisation:
    """Draw what an identification leaves open, and write it for a simulator.

    Rows come from the joint distribution that the training data leave, within the bounds; values
    that the data do not determine come from their bounds or priors. Where held-out data would move
    a value further than noise explains, its spread is widened by that. Each row is simulated over
    the first two thirds of each held-out recording, and left out where that excludes it; the last
    third scores the band of those that remain.

    Of several runs, rows are robots of the fleet: the common values with the spread between runs,
    see :func:`trueup.posterior.reconcile`. No recording of one robot rejects them.

    Args:
      run: run directory of a finished identification, or three or more of a fleet.
      output: folder for the files: ``posterior.npz``, ``dr.json``, ``report.html`` and the module.
      simulator: ``"mjlab"``, ``"isaaclab"``, ``"playground"`` or ``"json"`` for no module.
      draws: rows.
      seed: seed of the draws.
      anyway: take a run whose verdict is "do not use" too; the files say so.
      overwrite: replace files of an export that the folder holds.
      folder: where the run's inputs are, if they have moved.
      progress: called with the share that is done.

    Raises:
      RunDirectoryError: the run cannot be drawn from, or the folder holds files already.
      FitError: too few draws reproduce the held-out recording, or nothing limits a parameter.
      TrueupError: there is no export for the simulator.
    """
    form = simulator_form(simulator)
    _check_count(draws)
    target = Path(output)
    _check_free(target, overwrite)
    known, fleet = _known_of(run, anyway, folder)
    check, values = _drawn(known, draws, seed, progress, of_fleet=fleet is not None)
    made, skipped = _draws(known, values)
    lost = [*form.lost(made.fields, made.signals), *skipped]
    narrower = _gain_of_correlation(known.belief)
    description = _description(known, made, check, narrower, lost, simulator, seed, anyway)
    if fleet is not None:
        content = fleet.content()
        description["fleet"] = {key: content[key] for key in ("runs", "outlying")}
    files = _write(target, form, known, made, check, description)
    return Randomisation(made, check, narrower, description, target, files)


def plan_randomisation(
    run: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    simulator: str = "json",
    *,
    draws: int = 4096,
    anyway: bool = False,
    overwrite: bool = False,
    folder: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Plan of :func:`export_randomisation`, with the seconds that it takes.

    One draw and 16 are simulated to know the time; nothing is written.

    Raises:
      RunDirectoryError, FitError, TrueupError: as :func:`export_randomisation`.
    """
    form = simulator_form(simulator)
    _check_count(draws)
    _check_free(Path(output), overwrite)
    known, fleet = _known_of(run, anyway, folder)
    problem = None if fleet is not None else known.held_out_problem()
    seconds = 0.0
    if problem is not None:
        space = known.parameters.space()
        few = space.from_search(known.belief.draw(16, np.random.default_rng(0)))
        problem.predictions(few[:1])
        started = time.perf_counter()
        problem.predictions(few)
        seconds = (time.perf_counter() - started) * draws / len(few)
    names = [DRAWS_FILE, DESCRIPTION, PAGE, *([form.file] if form.file else [])]
    return {
        "draws": draws,
        "parameters": list(known.known.names),
        "held_out": [] if problem is None else list(problem.sequence_names),
        "seconds": round(seconds, 1),
        "directory": str(output),
        "files": names,
    }


def _known_of(
    run: Any, anyway: bool, folder: str | os.PathLike[str] | None
) -> tuple[IdentifiedRun, ReconciledRuns | None]:
    """Knowledge of one run, or of the runs of a fleet together."""
    if isinstance(run, str | os.PathLike):
        given = None if folder is None else Path(folder)
        return identified_run(run, anyway=anyway, folder=given), None
    runs = list(run)
    return _known_of(runs[0], anyway, folder) if len(runs) == 1 else fleet_run(runs, anyway, folder)


def _check_count(draws: int) -> None:
    if draws < _FEWEST:
        raise FitError(f"{draws} draws are too few to describe a distribution: at least {_FEWEST}")


def _check_free(target: Path, overwrite: bool) -> None:
    if target.exists() and not target.is_dir():
        raise RunDirectoryError(f"{target} is a file; --output names a folder")
    if target.is_dir() and any(target.iterdir()):
        if not overwrite:
            raise RunDirectoryError(
                f"{target} holds files already: replace an export with --overwrite, or name "
                "another folder"
            )
        if not (target / DESCRIPTION).is_file():
            raise RunDirectoryError(f"{target} holds no export: --overwrite does not replace it")


def _drawn(
    known: IdentifiedRun,
    count: int,
    seed: int,
    progress: Callable[[float], None] | None,
    of_fleet: bool = False,
) -> tuple[HeldOutCheck | None, np.ndarray]:
    """Draws ``(n, p)`` in units of the parameters, checked where something is held out."""
    rng = np.random.default_rng(seed)
    belief, space = known.belief, known.parameters.space()
    problem = None if of_fleet else known.held_out_problem()
    if problem is None:
        return None, space.from_search(belief.draw(count, rng))
    training = known.job.prepared.motion_problem(known.parameters)
    check = check_on_held_out(
        problem,
        known.fit,
        lambda n: space.from_search(belief.draw(n, rng)),
        count,
        belief.determined_steps(4000, rng),
        training_error=2.0 * float(known.solution["cost"]) / training.data_rows,
        inflation=known.known.inflation,
        widening=float(np.mean(known.widening**2)),
        progress=progress,
    )
    if len(check.accepted) < max(_FEWEST, 0.01 * check.drawn):
        raise FitError(
            f"{len(check.accepted)} of {check.drawn} draws reproduce the held-out recording as the "
            f"identified model does ({check.failed} do not simulate): what is known of the "
            "parameters does not describe this robot. Look at the report of the run: undetermined "
            "parameters need narrower bounds or a prior"
        )
    return check, check.accepted


def _draws(known: IdentifiedRun, values: np.ndarray) -> tuple[Draws, list[str]]:
    """Draws with what they write, and sentences on what no environment can have of its own."""
    prepared, parameters = known.job.prepared, known.parameters
    problem = prepared.motion_problem(parameters)
    variant = problem.variants[0]
    if variant.compiles:
        raise RunDirectoryError(
            f"{known.directory.path} compiles a model for each candidate: its parameters are no "
            "fields that an environment could take"
        )
    fields, others = model_fields(variant.model, variant.field_writes(values))
    fields, delays = command_delays(fields, variant.model)
    signals = list(dict.fromkeys(s for q in problem.sequences for s in q.signal_names))
    table = parameters.value_table(values)
    sensors = signal_draws(prepared.rules, signals, variant.model, table)
    space = parameters.space()
    owners = [p for p in parameters.free for _ in range(p.size)]
    kept = [
        i
        for i, p in enumerate(owners)
        if not (p.targets and all(t.startswith("state/") for t in p.targets))
    ]
    made = Draws(
        tuple(space.names[i] for i in kept),
        tuple(space.units[i] if space.units else "" for i in kept),
        tuple(", ".join(owners[i].targets) for i in kept),
        values[:, kept],
        tuple(_varying(fields)),
        tuple(s for s in (*delays, *sensors)),
    )
    shared = [name for name in others if name.startswith("opt.")]
    return made, [
        f"{name} is one number for all environments: set it to the identified value"
        for name in shared
    ]


def _varying(fields: list[Any]) -> list[Any]:
    """Fields that draws change; a frozen parameter's value is part of the model."""
    return [f for f in fields if len(f.values) and np.ptp(f.values, axis=0).any()]


def _gain_of_correlation(belief: Belief) -> float:
    """Median ratio of each element's own spread to that given all others."""
    covariance = np.linalg.pinv(belief.precision, hermitian=True, rcond=1e-12)
    inside = np.diag(belief.precision)
    determined = inside > 0.0
    if not determined.any():
        return 1.0
    ratio = np.sqrt(np.maximum(np.diag(covariance)[determined] * inside[determined], 1.0))
    return float(np.median(ratio))


def _description(
    known: IdentifiedRun,
    made: Draws,
    check: HeldOutCheck | None,
    narrower: float,
    lost: list[str],
    simulator: str,
    seed: int,
    anyway: bool,
) -> dict[str, Any]:
    """Content of ``dr.json``."""
    bands = [] if check is None else check.bands
    return {
        "format_version": 1,
        "trueup": __version__,
        "run": known.solution["name"],
        "verdict": known.verdict.plain(),
        "anyway": anyway,
        "simulator": simulator,
        "seed": seed,
        "draws": len(made.values),
        "drawn": len(made.values) if check is None else check.drawn,
        "excluded": 0 if check is None else check.excluded,
        "failed": 0 if check is None else check.failed,
        "checked": check is not None,
        "widened": {
            name: float(f)
            for name, f in zip(known.known.names, known.widening, strict=True)
            if f > 1
        },
        "parameters": made.marginals(),
        "correlation": made.correlation(),
        "correlation_factor": narrower,
        "fields": [
            {**f.plain(), "array": f"field_{i}", "low": low, "high": high}
            for i, f in enumerate(made.fields)
            for low, high in [np.quantile(f.values, [0.05, 0.95], axis=0).tolist()]
        ],
        "signals": [{**s.plain(), "array": f"signal_{i}"} for i, s in enumerate(made.signals)],
        "band": [
            {
                "recording": b.name,
                "inside": dict(zip(b.channels, map(float, b.inside()), strict=True)),
            }
            for b in bands
        ],
        "not_taken": lost,
        "ranges": "ranges of single parameters lose the correlation: see correlation_factor",
        "provenance": known.solution.get("provenance"),
    }


def _write(
    target: Path,
    form: SimulatorForm,
    known: IdentifiedRun,
    made: Draws,
    check: HeldOutCheck | None,
    description: dict[str, Any],
) -> tuple[Path, ...]:
    from trueup.posterior.report import randomisation_report

    page = randomisation_report(description, made, check).html()
    text = None if form.source is None else form.source(made.fields, made.signals, known.job.name)
    target.mkdir(parents=True, exist_ok=True)
    files = [target / DRAWS_FILE, target / DESCRIPTION, target / PAGE]
    made.write(files[0])
    if text is not None:
        files.append(target / form.file)
        atomic.write_text(files[-1], text)
    atomic.write_text(files[2], page)
    atomic.write_json(files[1], description)
    return tuple(files)
