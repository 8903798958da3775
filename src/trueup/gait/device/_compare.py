"""Compares walks with a device and without, in a folder of runs."""

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
    ArmResult,
    DeviceComparison,
    compared,
    measured_arm,
)
from trueup.gait.device.conditions import ARM_WORDS, ARMS, DeviceSettings
from trueup.gait.device.report import device_page
from trueup.gait.search.shipped_walk import start_path
from trueup.runs import RunInterrupted
from trueup.runs.store import atomic
from trueup.runs.store.input_check import mark_of_file
from trueup.runs.store.run_directory import RunDirectory

SETTINGS, RESULT = "comparison.json", "result.json"
"""Files of a comparison: what is compared, and what it came to."""

TABLES = ("results.csv", "torque.csv", "report.html")
"""Further files."""


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
    """Search a walk with a device, with the device off, and without it, and compare them.

    All searches have the same length, start in the same moment of the same walk, and move the same
    gains. Effort and metabolic rate are compared at equal speed, by the last candidates of each
    search; the error is that between pairs of seeds. The folder holds a run of each search,
    ``result.json``, ``results.csv``, ``torque.csv`` and ``report.html``, which are written anew
    after each seed.

    Args:
      directory: folder of the comparison.
      settings: settings.
      threads: threads that simulate; 0 for all cores.
      resume: go on with the comparison that the folder holds.
      overwrite: replace it.
      anyway: start from the walk of a run whose inputs have changed too; every file says so.
      verbose: show progress on the error stream.

    Raises:
      GaitError: the walk that it starts from falls, or takes other entries.
      RunDirectoryError: the folder holds something else, or a comparison with other settings.
      RunInterrupted: Ctrl-C; the message says how to continue.
    """
    settings = DeviceSettings() if settings is None else settings
    folder = Path(directory)
    mark = _start_mark(settings, anyway)
    with marked(mark):
        _prepare(folder, settings, resume, overwrite)
    results: list[ArmResult] = []
    for seed in range(settings.seeds):
        for arm in ARMS:
            run = folder / f"{arm}-{seed}"
            if verbose:
                print(f"Seed {seed}, {ARM_WORDS[arm]}: {run}", file=sys.stderr)
            try:
                if not (run / "report.html").is_file():  # the last file of a run
                    optimize(
                        settings.configuration(arm, seed),
                        run,
                        threads=threads,
                        resume=(run / "run.json").is_file(),
                        anyway=anyway,
                        verbose=verbose,
                    )
            except TrueupError:
                if not results and not (run / "run.json").is_file():  # nothing was begun
                    (folder / SETTINGS).unlink()
                    folder.rmdir()
                raise
            except RunInterrupted as error:
                words = f"Stopped. The comparison in {folder} continues with --resume."
                raise RunInterrupted(words, folder, error.solution) from error
            results.append(measured_arm(arm, RunDirectory.open(run)))
        found = compared(settings, results)
        with marked(mark):
            write_comparison(folder, found)
    return found


def _start_mark(settings: DeviceSettings, anyway: bool) -> str | None:
    """Mark of a comparison that starts from a run whose inputs have changed."""
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
      GaitError: the walk that it starts from falls, or takes other entries.
    """
    settings = DeviceSettings() if settings is None else settings
    folder = Path(directory)
    # the searches of all arms have the same length
    own = settings.configuration("with", 0)
    plan = plan_optimize(own, folder / "with-0", threads=threads, overwrite=True, anyway=anyway)
    searches = settings.seeds * len(ARMS)
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
    """The folder with the settings of the comparison; raises RunDirectoryError."""
    file = folder / SETTINGS
    plain = settings.to_dict()
    if file.is_file() and overwrite:
        for arm in ARMS:
            for run in folder.glob(f"{arm}-*"):
                shutil.rmtree(run)
        for name in (SETTINGS, RESULT, *TABLES):
            (folder / name).unlink(missing_ok=True)
    if file.is_file():
        if not resume:
            raise RunDirectoryError(
                f"{folder} holds a comparison: go on with --resume, replace it with --overwrite, "
                "or choose another --save-path"
            )
        former = atomic.read_json(file)
        # more seeds may follow
        if {**former, "seeds": 0} != {**plain, "seeds": 0}:
            changed = [key for key, value in plain.items() if former.get(key) != value]
            raise RunDirectoryError(
                f"{folder} holds a comparison with another {', '.join(changed)}: go on with the "
                "same options, or choose another --save-path"
            )
    elif folder.is_dir() and any(folder.iterdir()):
        raise RunDirectoryError(f"{folder} is not empty and holds no comparison: choose another")
    settings.configuration("with", 0)
    folder.mkdir(parents=True, exist_ok=True)
    atomic.write_json(file, plain)


def _results_table(found: DeviceComparison) -> str:
    """Quantities of each search, per kg that is carried and per kg of the body."""
    rows: list[list[object]] = [
        ["arm", "seed", "quantity", "unit", "per_carried_mass", "per_body_mass", "standard_error",
         "walks_that_last", "walks"]
    ]  # fmt: skip
    body = found.masses["without"]
    for one in found.results:
        for name, unit in QUANTITIES.items():
            value = one.quantities[name]
            heavier = found.masses[one.arm] / body
            rows.append(
                [one.arm, one.seed, name, unit, value.value, value.value * heavier, value.error,
                 value.lasted, value.walked]
            )  # fmt: skip
    return _csv(rows)


def _torque_table(found: DeviceComparison) -> str:
    """Torque over stance of each seed, their mean, and its peak, rise and fall times."""
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
