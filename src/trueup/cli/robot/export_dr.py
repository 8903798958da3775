"""``trueup export dr``: draws of an identified model for a simulator."""

from collections.abc import Sequence
from pathlib import Path

from trueup.cli.output import Output
from trueup.errors import RunDirectoryError
from trueup.randomise.settings import DrawSettings
from trueup.reports.numbers import format_number
from trueup.runs.loop.progress import Progress


def run_export_dr(
    directories: Sequence[Path],
    form: str,
    settings: DrawSettings,
    target: Path | None,
    folder: Path | None,
    anyway: bool,
    overwrite: bool,
    dry_run: bool,
    verbose: bool,
    output: Output,
) -> int:
    """Export, or print the plan; returns the exit code."""
    from trueup.knowledge.drawn_run import run_directory_of
    from trueup.randomise.randomisation import export_randomisation, plan_randomisation

    if not directories:
        raise RunDirectoryError("the run directory is missing: give one to draw from")
    if target is None and len(directories) > 1:
        raise RunDirectoryError("draws of a fleet require a folder: give it with --output")
    target = target or run_directory_of(directories[0]) / f"randomisation_{form}"
    if dry_run:
        plan = plan_randomisation(
            directories,
            target,
            form,
            **vars(settings),
            anyway=anyway,
            overwrite=overwrite,
            folder=folder,
        )
        output.result(plan)
        output.text(*(f"{name}: {value}" for name, value in plan.items()))
        return 0
    with Progress(verbose) as shown:
        made = export_randomisation(
            directories,
            target,
            form,
            **vars(settings),
            anyway=anyway,
            overwrite=overwrite,
            folder=folder,
            progress=lambda share: shown.update("drawing and simulating", share),
        )
    description = made.description
    output.result({**description, "files": [str(file) for file in made.files]})
    rows = [
        [r["name"], *(format_number(r[k]) for k in ("low", "median", "high")), r["unit"]]
        for r in description["parameters"]
    ]
    output.table(["parameter", "5 %", "median", "95 %", "unit"], rows)
    if description["checked"]:
        output.text(
            f"{description['drawn']} draws simulated over the held-out recordings: "
            f"{description['excluded']} excluded, {description['failed']} failed, "
            f"{description['draws']} kept."
        )
    elif "fleet" in description:
        outlying = description["fleet"]["outlying"]
        output.text(f"Draws of a fleet of {len(directories) - len(outlying)} robots.")
        output.text(*(f"{o['run']} is excluded: {o['reason']}." for o in outlying))
    else:
        output.text("No data was held out: the draws are not checked by simulation.")
    for band in description["band"]:
        shares = band["inside"].values()
        output.text(
            f"{band['recording']}: {100 * sum(shares) / len(shares):.0f} % of its last third is "
            "within the 90 % band, noise included."
        )
    output.text(
        f"Given the others, a parameter is {description['correlation_factor']:.2g} times narrower "
        "(median), by correlation.",
        *description["not_taken"],
        *description["notes"],
        "",
        *map(str, made.files),
    )
    return 0
