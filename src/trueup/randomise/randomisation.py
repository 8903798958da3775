"""Export of the uncertainty of a model as domain randomisation for a simulator."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import KEY, joined, marked
from trueup._seeds import check_count, check_seed
from trueup._version import __version__
from trueup.deploy.draws import DrawsExport, DrawsRequest, drawn_thing
from trueup.deploy.forms import NETWORK_DRAWS, Form, find_form
from trueup.errors import FitError, RunDirectoryError
from trueup.knowledge.drawn_run import drawn_run
from trueup.knowledge.draws import Draws
from trueup.knowledge.gaussian_run import FEWEST, DrawnRun
from trueup.knowledge.held_out_check import HeldOutCheck
from trueup.randomise.fleet import fleet_run
from trueup.reconcile.reconciled import ReconciledRuns
from trueup.runs.store import atomic

MOST = 2**20
"""Greatest number of rows: more than the environments of a simulator."""
MOST_JOINTS = 1000
"""Greatest number of joints of an environment."""
DRAWS_FILE, DESCRIPTION, PAGE = "posterior.npz", "dr.json", "report.html"


@dataclass(frozen=True)
class Randomisation:
    """Draws of a model, their check, and their files."""

    draws: Draws
    check: HeldOutCheck | None
    """Check on held-out recordings; None without held-out data."""
    narrower: float
    """Median over elements of the ratio of marginal to conditional standard deviation given the
        others: 1 without correlation."""
    description: dict[str, Any]
    """Content of ``dr.json``."""
    directory: Path
    files: tuple[Path, ...]


def export_randomisation(
    run: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    form: str = "json",
    *,
    draws: int = 4096,
    seed: int = 0,
    anyway: bool = False,
    overwrite: bool = False,
    folder: str | os.PathLike[str] | None = None,
    joints: int | None = None,
    device: str | None = None,
    progress: Callable[[float], None] | None = None,
) -> Randomisation:
    """Draw from the uncertainty of a run, and write the draws for a simulator.

    Rows come from the joint distribution after the training data, within the bounds; values
    that the data do not determine come from their bounds or priors. If held-out data shift
    a value by more than noise explains, its spread is widened accordingly. Each row is simulated
    over the first two thirds of each held-out recording, and excluded if that contradicts it; the
    last third scores the band of the remaining rows.

    Of several runs, rows are robots of the fleet: the common values with the spread between runs,
    see :func:`trueup.reconcile.reconcile`. They are not checked on recordings of single robots.

    Args:
      run: run directory of a finished identification of a model, a servo fit or an ensemble of
        networks; or three or more identifications of a fleet.
      output: folder for the files: ``posterior.npz``, ``dr.json``, ``report.html`` and the module.
      form: name of a form that supports the draws, see :func:`trueup.deploy.find_form`; ``"json"``:
        no module.
      draws: number of rows.
      seed: seed of the draws.
      anyway: continue if the verdict on the run is "do not use", its inputs have changed, or the
        draws miss the held-out data; every output records this.
      overwrite: replace the files of an export in the folder.
      folder: folder of the run's inputs, if they have moved.
      joints: joints of an environment that the networks of an ensemble drive.
      device: device that simulates the draws of a model (``auto``, ``cpu``, ``cuda``,
        ``warp-cpu``); None: that of its experiment.
      progress: called with the fraction done.

    Raises:
      RunDirectoryError: the run cannot be drawn from, its inputs have changed, it is not simulated
        on a device, or the folder contains files.
      SimulationError: the requested device cannot simulate the draws.
      FitError: too few draws reproduce the held-out recording, their band misses it, a parameter
        has no limits, or the number of draws, seed or number of joints is out of range.
      FitError: the form is unknown, or does not support these draws.
    """
    _check_numbers(draws, seed, joints)
    target = Path(output)
    _check_free(target, overwrite)
    source, fleet = _run_of(run, anyway, folder, joints, device)
    chosen = _form_for(source, form, joints)
    check, values = source.draw(draws, seed, progress)
    mark = joined(source.mark, _band_mark(check, anyway))
    made, skipped = source.rows(values)
    with marked(mark):
        request = DrawsRequest(made, source.solution["name"], source.drawn, joints or 1)
        written: DrawsExport = chosen.write(request)
    lost = [*written.lost, *skipped]
    description = _description(source, made, check, lost, chosen.name, seed, anyway)
    if mark is not None:
        description[KEY] = mark
    if fleet is not None:
        content = fleet.to_dict()
        description["fleet"] = {key: content[key] for key in ("runs", "outlying")}
    with marked(mark):
        files = _write(target, chosen, written, made, check, description)
    return Randomisation(made, check, source.narrower, description, target, files)


def plan_randomisation(
    run: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    form: str = "json",
    *,
    draws: int = 4096,
    seed: int = 0,
    anyway: bool = False,
    overwrite: bool = False,
    folder: str | os.PathLike[str] | None = None,
    joints: int | None = None,
    device: str | None = None,
) -> dict[str, Any]:
    """Plan of :func:`export_randomisation`, with its estimated time [s].

    One draw and 16 draws are simulated to measure the time; nothing is written.

    Raises:
      RunDirectoryError, FitError, TrueupError: as :func:`export_randomisation`.
    """
    _check_numbers(draws, seed, joints)
    _check_free(Path(output), overwrite)
    source, _ = _run_of(run, anyway, folder, joints, device)
    chosen = _form_for(source, form, joints)
    held_out, seconds = source.cost(draws)
    names = [DRAWS_FILE, DESCRIPTION, PAGE, *chosen.files]
    return {
        "draws": draws,
        "parameters": list(source.names),
        "held_out": list(held_out),
        "seconds": round(seconds, 1),
        "directory": str(output),
        "files": names,
    }


def _run_of(
    run: Any,
    anyway: bool,
    folder: str | os.PathLike[str] | None,
    joints: int | None,
    device: str | None,
) -> tuple[DrawnRun, ReconciledRuns | None]:
    """One run, or the runs of a fleet together."""
    runs = [run] if isinstance(run, str | os.PathLike) else list(run)
    if not runs:
        raise RunDirectoryError("no run to draw from: pass a run directory")
    if len(runs) > 1:
        if device not in (None, "auto", "cpu"):
            raise RunDirectoryError(
                "draws of a fleet are not simulated: remove the device, which is for the draws of "
                "one run"
            )
        return fleet_run(runs, anyway, folder)
    given = None if folder is None else Path(folder)
    return drawn_run(runs[0], anyway=anyway, folder=given, joints=joints, device=device), None


def _form_for(source: DrawnRun, name: str, joints: int | None) -> Form:
    """Form for the draws of a run, by name.

    Raises:
      FitError: the form is unknown or does not support the draws, or the number of joints that an
        ensemble drives is missing.
    """
    thing = drawn_thing(source.drawn)
    form = find_form(name, thing)
    if thing == NETWORK_DRAWS and form.files and joints is None:
        raise FitError(
            "the rows of an ensemble are divided among environments: set the number of joints "
            "per environment with joints="
        )
    return form


def _check_numbers(draws: int, seed: int, joints: int | None) -> None:
    """Raise FitError for numbers out of range, before a run is read."""
    check_seed(seed)
    if draws < FEWEST:
        raise FitError(
            f"{draws} draws are too few to describe a distribution: use at least {FEWEST}"
        )
    if draws > MOST:
        raise FitError(f"{draws} draws exceed the environments of a simulator: use at most {MOST}")
    if joints is not None:
        check_count("the number of joints that the networks drive", joints, 1, MOST_JOINTS)


def _band_mark(check: HeldOutCheck | None, anyway: bool) -> str | None:
    """Mark of draws that miss the held-out data; None if they do not.

    Raises:
      FitError: they miss it, and ``anyway`` is not set.
    """
    missed = [] if check is None else check.missed
    if not missed:
        return None
    words = f"less than half of the held-out {', '.join(missed[:4])} is within their 90 % band"
    if not anyway:
        raise FitError(
            f"the draws do not describe this robot: {words}, including noise. Check the report of "
            "the run for effects that the model lacks; --anyway writes the draws with a mark"
        )
    return f"made although {words}"


def _check_free(target: Path, overwrite: bool) -> None:
    if target.exists() and not target.is_dir():
        raise RunDirectoryError(f"{target} is a file; --output must be a folder")
    if target.is_dir() and any(target.iterdir()):
        if not overwrite:
            raise RunDirectoryError(
                f"{target} already contains files: replace an export with --overwrite, or choose "
                "another folder"
            )
        if not (target / DESCRIPTION).is_file():
            raise RunDirectoryError(
                f"{target} contains no export, so --overwrite does not replace it: choose another "
                "folder"
            )


def _description(
    source: DrawnRun,
    made: Draws,
    check: HeldOutCheck | None,
    lost: list[str],
    form: str,
    seed: int,
    anyway: bool,
) -> dict[str, Any]:
    """Content of ``dr.json``."""
    bands = [] if check is None else check.bands
    return {
        "format_version": 1,
        "trueup": __version__,
        "run": source.solution["name"],
        "verdict": source.verdict.to_dict(),
        "anyway": anyway,
        "form": form,
        "seed": seed,
        "draws": len(made.values),
        "drawn": len(made.values) if check is None else check.drawn,
        "excluded": 0 if check is None else check.excluded,
        "failed": 0 if check is None else check.failed,
        "checked": check is not None,
        "widened": source.widened,
        "parameters": made.marginals(),
        "correlation": made.correlation(),
        "correlation_factor": source.narrower,
        "fields": [
            {**f.to_dict(), "array": f"field_{i}", "low": low, "high": high}
            for i, f in enumerate(made.fields)
            for low, high in [np.quantile(f.values, [0.05, 0.95], axis=0).tolist()]
        ],
        "signals": [{**s.to_dict(), "array": f"signal_{i}"} for i, s in enumerate(made.signals)],
        "band": [
            {
                "recording": b.name,
                "inside": dict(zip(b.channels, map(float, b.inside()), strict=True)),
            }
            for b in bands
        ],
        "not_taken": lost,
        "notes": [] if check is None else list(check.notes),
        "ranges": "ranges of single parameters ignore the correlation: see correlation_factor",
        "provenance": source.solution.get("provenance"),
    }


def _write(
    target: Path,
    form: Form,
    written: DrawsExport,
    made: Draws,
    check: HeldOutCheck | None,
    description: dict[str, Any],
) -> tuple[Path, ...]:
    from trueup.randomise.report import randomisation_report

    page = randomisation_report(description, made, check).html()
    target.mkdir(parents=True, exist_ok=True)
    files = [target / DRAWS_FILE, target / DESCRIPTION, target / PAGE]
    made.write(files[0])
    for name, content in zip(form.files, written.contents, strict=True):
        files.append(target / name)
        if isinstance(content, str):
            atomic.write_text(files[-1], content)
        else:
            atomic.write_bytes(files[-1], content)
    atomic.write_text(files[2], page)
    atomic.write_json(files[1], description)
    return tuple(files)
