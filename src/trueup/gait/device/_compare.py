"""Comparison of walks with and without a device, in a folder of runs."""

import csv
import io
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from trueup._marks import marked
from trueup.errors import RunDirectoryError, TrueupError
from trueup.gait._optimize import optimize, plan_optimize
from trueup.gait.device.comparison import (
    PERCENT,
    QUANTITIES,
    ConditionResult,
    DeviceComparison,
    compared,
    condition_result,
)
from trueup.gait.device.conditions import CONDITION_NAMES, CONDITIONS
from trueup.gait.device.report import device_page
from trueup.gait.device.settings import DeviceSettings
from trueup.gait.search.shipped_walk import start_path
from trueup.runs import RunInterrupted
from trueup.runs.store import atomic
from trueup.runs.store.input_check import mark_of_file
from trueup.runs.store.run_directory import RunDirectory

SETTINGS, RESULT = "comparison.json", "result.json"
"""Files of a comparison: settings and result."""

TABLES = ("results.csv", "torque.csv", "report.html")
"""Additional files."""


def compare_device(
    directory: str | os.PathLike[str],
    settings: DeviceSettings | None = None,
    *,
    threads: int = 0,
    resume: bool = False,
    overwrite: bool = False,
    anyway: bool = False,
    verbose: bool = True,
) -> DeviceComparison:
    """Optimise a walk with a device, with the device off, and without it, and compare them.

    All searches have the same length, the same initial state and the same free gains. Effort and
    metabolic rate are compared at equal speed, on the last candidates of each search; the standard
    error is between pairs of seeds. The folder contains a run of each search, and
    ``result.json``, ``results.csv``, ``torque.csv`` and ``report.html``, which are rewritten after
    each seed.

    Args:
      directory: folder of the comparison.
      settings: settings.
      threads: number of simulation threads; 0 uses all cores.
      resume: resume the comparison in the folder.
      overwrite: replace the comparison in the folder.
      anyway: also start from the walk of a run with changed inputs; every file records this.
      verbose: show progress on the error stream.

    Raises:
      GaitError: the initial walk falls, or has other parameters.
      RunDirectoryError: the folder has other content, or a comparison with other settings.
      RunInterrupted: Ctrl-C; the message contains the option that resumes the comparison.
    """
    settings = DeviceSettings() if settings is None else settings
    folder = Path(directory)
    mark = _start_mark(settings, anyway)
    with marked(mark):
        _prepare(folder, settings, resume, overwrite)
    results: list[ConditionResult] = []
    for seed in range(settings.seeds):
        for condition in CONDITIONS:
            run = folder / f"{condition}-{seed}"
            if verbose:
                print(f"Seed {seed}, {CONDITION_NAMES[condition]}: {run}", file=sys.stderr)
            try:
                if not (run / "report.html").is_file():  # the last file of a run
                    optimize(
                        settings.configuration(condition, seed),
                        run,
                        threads=threads,
                        resume=(run / "run.json").is_file(),
                        anyway=anyway,
                        verbose=verbose,
                    )
            except TrueupError:
                if not results and not (run / "run.json").is_file():  # nothing was started
                    (folder / SETTINGS).unlink()
                    folder.rmdir()
                raise
            except RunInterrupted as error:
                words = f"Stopped. Resume the comparison in {folder} with --resume."
                raise RunInterrupted(words, folder, error.solution) from error
            results.append(condition_result(condition, RunDirectory.open(run)))
        found = compared(settings, results)
        with marked(mark):
            write_comparison(folder, found)
    return found


def _start_mark(settings: DeviceSettings, anyway: bool) -> str | None:
    """Warning of a comparison that starts from a run with changed inputs."""
    return mark_of_file(start_path(settings.start), anyway=anyway)


def plan_device(
    directory: str | os.PathLike[str],
    settings: DeviceSettings | None = None,
    *,
    threads: int = 0,
    anyway: bool = False,
) -> dict[str, Any]:
    """Plan of :func:`compare_device`: searches and the longest time; nothing is written.

    Returns:
      ``directory``, ``searches``, ``seconds_at_most``, and the plan of the search ``with`` the
      device.

    Raises:
      GaitError: the initial walk falls, or has other parameters.
    """
    settings = DeviceSettings() if settings is None else settings
    folder = Path(directory)
    # the searches of all conditions have the same length
    own = settings.configuration("with", 0)
    plan = plan_optimize(own, folder / "with-0", threads=threads, overwrite=True, anyway=anyway)
    searches = settings.seeds * len(CONDITIONS)
    return {
        "directory": str(folder),
        "searches": searches,
        "seconds_at_most": searches * plan["seconds_at_most"],
        "with": plan,
    }


def write_comparison(folder: Path, found: DeviceComparison) -> None:
    """Write ``result.json``, the tables and the report of a comparison."""
    atomic.write_json(folder / RESULT, found.to_dict())
    atomic.write_text(folder / "results.csv", _results_table(found))
    atomic.write_text(folder / "torque.csv", _torque_table(found))
    device_page(found).save(folder / "report.html")


def _prepare(folder: Path, settings: DeviceSettings, resume: bool, overwrite: bool) -> None:
    """Create the folder with the settings of the comparison; raises RunDirectoryError."""
    if resume and overwrite:
        raise RunDirectoryError(
            "--resume continues a comparison and --overwrite replaces it: give one of them"
        )
    file = folder / SETTINGS
    plain = settings.to_dict()
    if file.is_file() and overwrite:
        for condition in CONDITIONS:
            for run in folder.glob(f"{condition}-*"):
                shutil.rmtree(run)
        for name in (SETTINGS, RESULT, *TABLES):
            (folder / name).unlink(missing_ok=True)
    if file.is_file():
        if not resume:
            raise RunDirectoryError(
                f"{folder} contains a comparison: resume it with --resume, replace it with "
                "--overwrite, or choose another --output"
            )
        former = atomic.read_json(file)
        # the number of seeds may increase
        if {**former, "seeds": 0} != {**plain, "seeds": 0}:
            changed = [key for key, value in plain.items() if former.get(key) != value]
            raise RunDirectoryError(
                f"{folder} contains a comparison with another {', '.join(changed)}: resume it with "
                "the same options, or choose another --output"
            )
    elif resume:
        raise RunDirectoryError(
            f"{folder} contains no comparison to resume: remove --resume to start one there, or "
            "give the folder of the comparison with --output"
        )
    elif folder.is_dir() and any(folder.iterdir()):
        raise RunDirectoryError(
            f"{folder} is not empty and contains no comparison: choose another folder"
        )
    settings.configuration("with", 0)
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_json(file, plain)


def _results_table(found: DeviceComparison) -> str:
    """Quantities of each search, per kg of total mass and per kg of body mass."""
    rows: list[list[object]] = [
        ["arm", "seed", "quantity", "unit", "per_carried_mass", "per_body_mass", "standard_error",
         "walks_that_last", "walks"]
    ]  # fmt: skip
    body = found.masses["without"]
    for one in found.results:
        for name, unit in QUANTITIES.items():
            value = one.quantities[name]
            heavier = found.masses[one.condition] / body
            rows.append(
                [one.condition, one.seed, name, unit, value.value, value.value * heavier,
                 value.error,
                 value.lasted, value.walked]
            )  # fmt: skip
    return _csv(rows)


def _torque_table(found: DeviceComparison) -> str:
    """Torque over stance of each seed and its mean, with peak, rise and fall times."""
    torques = [(one.seed, one.torque) for one in found.of("with") if one.torque is not None]
    curves = np.array([torque.torque for _, torque in torques])
    head = [f"torque_Nm_seed_{seed}" for seed, _ in torques]
    rows: list[list[object]] = [["percent_of_stance", "torque_Nm_mean", *head]]
    rows += [
        [f"{at:g}", float(values.mean()), *map(float, values)]
        for at, values in zip(PERCENT, curves.T, strict=True)
    ]
    comments = [
        f"# seed {seed}: peak {one.peak:.4g} N m at {one.peak_at:.3g} % of stance, rise "
        f"{0.01 * one.rise * one.stance:.3g} s, fall {0.01 * one.fall * one.stance:.3g} s, stance "
        f"{one.stance:.3g} s\n"
        for seed, one in torques
    ]
    return "".join(comments) + _csv(rows)


def _csv(rows: list[list[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
