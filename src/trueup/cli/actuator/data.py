"""``trueup actuator process`` and ``trueup actuator jitter``: raw logs of a servo."""

import dataclasses
from pathlib import Path
from typing import Any, Literal

from trueup.actuators import jitter, jitter_figure, process, read_logs
from trueup.actuators.logs.findings import findings_in_words
from trueup.cli.output import Output


def run_process(
    raw: Path,
    logdir: Path,
    dt: float,
    output: Output,
    *,
    compat: Literal["bam"] | None,
    catalogue: Path | None,
    skip_bad_logs: bool,
) -> int:
    """Resample the raw logs of a folder; returns the exit code."""
    skipped: list[str] = []
    done = process(
        raw,
        logdir,
        dt,
        compat=compat,
        catalogue=catalogue,
        skip_bad=skip_bad_logs,
        on_skip=skipped.append,
    )
    others = sorted(set(logdir.glob("*.json")) - {log.path for log in done})
    output.table(
        ["log", "samples", "seconds", "failed reads"],
        [
            [log.path.name, str(log.samples), f"{log.duration:.2f}", str(log.failed_reads or "")]
            for log in done
        ],
    )
    findings = findings_in_words((log.path.stem, log.findings) for log in done)
    for message in (*skipped, *findings):
        output.text(f"  ! {message}")
    if others:
        output.text(
            f"  - {logdir} contains {len(others)} other logs, not written by this command: "
            f"{others[0].name} ..."
        )
    output.text(f"{len(done)} logs every {dt * 1e3:g} ms in {logdir}")
    output.result(
        {
            "logdir": str(logdir),
            "dt": dt,
            "compat": compat,
            "logs": [
                {**dataclasses.asdict(log), "source": str(log.source), "path": str(log.path)}
                for log in done
            ],
            "skipped": skipped,
            "findings": findings,
            "others": [str(path) for path in others],
        }
    )
    return 0


def run_jitter(logdir: Path, report: Path | None, skip_bad_logs: bool, output: Output) -> int:
    """Print the jitter of raw logs; returns the exit code."""
    skipped: list[str] = []
    logs = read_logs(logdir, check_motion=False, skip_bad=skip_bad_logs, on_skip=skipped.append)
    measured = jitter(logs)
    columns = ["log", "samples", "rate Hz", "mean ms", "std ms", "99 % ms", "longest ms", "late"]
    output.table(
        columns,
        [
            [
                each.name,
                str(each.intervals + 1),
                f"{each.rate:.1f}",
                *(
                    f"{seconds * 1e3:.3f}"
                    for seconds in (each.mean, each.std, each.percentile_99, each.longest)
                ),
                str(each.late),
            ]
            for each in (*measured.logs, measured.total)
        ],
    )
    for message in skipped:
        output.text(f"  ! {message}")
    result: dict[str, Any] = {
        "logs": [dataclasses.asdict(each) for each in measured.logs],
        "total": dataclasses.asdict(measured.total),
        "histogram": {"counts": measured.counts, "edges": measured.edges},
        "skipped": skipped,
    }
    if report is not None:
        from trueup.reports import Page, Section

        page = Page("Time between samples", subtitle=str(logdir))
        page.add(Section("Histogram", content=[jitter_figure(measured)]))
        result["report"] = str(page.save(report))
        output.text(f"Report: {result['report']}")
    output.result(result)
    return 0
