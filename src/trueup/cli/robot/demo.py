"""``trueup demo``."""

import time
from pathlib import Path

from trueup.cli.output import Output
from trueup.errors import RunDirectoryError
from trueup.fitting.judgement.verdict import Verdict
from trueup.sysid import identify
from trueup.sysid.demo import TRUE, write_demo
from trueup.sysid.experiment.file import load_experiment
from trueup.sysid.results.parameter_sections import estimate


def run_demo(folder: Path, overwrite: bool, seed: int, output: Output) -> int:
    """Run the command; returns the exit code."""
    start = time.perf_counter()
    if folder.exists() and not folder.is_dir():
        raise RunDirectoryError(f"{folder} is a file; give a folder with --output")
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise RunDirectoryError(
            f"{folder} is not empty; replace the demonstration with --overwrite, or give another "
            "--output"
        )
    output.text(f"Recording a simulated arm with known parameters into {folder} ...")
    files = write_demo(folder, seed)
    output.text(f"Identifying it from {len(files.recordings)} noisy recordings ...")
    result = identify(
        load_experiment(files.experiment),
        folder,
        overwrite=overwrite,
        verbose=not output.json,
    )
    rows, records = [], []
    for r in result.summary["parameters"]:
        true = TRUE[r["name"]]
        inside = r["low"] <= true <= r["high"]
        rows.append(
            [
                r["name"],
                r["unit"],
                f"{r['start']:.4g}",
                f"{true:.4g}",
                estimate(r),
                "inside" if inside else "outside",
            ]
        )
        records.append({**r, "true": true, "inside": inside})
    seconds = time.perf_counter() - start
    output.result(
        {
            "verdict": result.summary["verdict"],
            "parameters": records,
            "seconds": seconds,
            "report": str(result.report),
            "directory": str(result.directory),
        }
    )
    output.text("", *Verdict.from_dict(result.summary["verdict"]).lines(), "")
    output.table(
        ["parameter", "unit", "start", "true", "estimate, 95 % interval", "true value"], rows
    )
    output.text(
        f"Done in {seconds:.1f} s. Report: {result.report}",
        f"To repeat the fit: trueup identify {files.experiment} --overwrite",
    )
    return 0 if result.solution.success else 3
