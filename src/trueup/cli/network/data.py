"""``trueup network synthesize`` and ``trueup network check``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from trueup.cli.network.options import data_settings
from trueup.cli.output import Output
from trueup.networks import DataCheck, SyntheticSettings, check_data, synthesize

_MARK = {"refuse": "x", "warning": "!", "info": "-"}


def run_synthesize(folder: Path, settings: SyntheticSettings, seed: int, output: Output) -> int:
    """Write synthetic recordings; returns the exit code."""
    data = synthesize(settings, folder, seed)
    output.table(
        ["recording", "inertia kg m2", "torque noise N m"],
        [
            [str(file.path.relative_to(folder)), f"{file.inertia:g}", f"{file.noise_floor:.4f}"]
            for file in data.files
        ],
    )
    for group, floor in data.noise_floors.items():
        output.text(f"{group}: the minimum RMSE of any network is {floor:.4f} N m")
    output.text(f"{len(data.files)} recordings in {folder}")
    output.result(
        {
            "folder": str(folder),
            "seed": seed,
            "noise_floor": data.noise_floors,
            "files": [
                {
                    "path": str(file.path),
                    "group": file.group,
                    "inertia": file.inertia,
                    "noise_floor": file.noise_floor,
                }
                for file in data.files
            ],
        }
    )
    return 0


def run_check(data: Path | None, overrides: Sequence[str], output: Output) -> int:
    """Check recordings; returns the exit code."""
    checked = check_data(data_settings(data, overrides))
    output.table(
        ["recording", "group", "samples", "rate Hz", "seconds", "verdict"],
        [
            [
                file.name,
                file.group,
                str(file.samples),
                f"{file.rate:.6g}",
                f"{file.duration:.4g}",
                "usable" if file.quality.usable else "refused",
            ]
            for file in checked.files
        ],
    )
    for finding in checked.findings:
        output.text(f"  {_MARK[finding.severity]} {finding.sentence}")
    for file in checked.files:
        serious = [f for f in file.quality.findings if f.severity != "info"]
        if serious:
            output.text(f"{file.name}:")
        for finding in serious:
            output.text(f"  {_MARK[finding.severity]} {finding.sentence}")
    verdict = "can" if checked.usable else "cannot"
    output.text(f"A network {verdict} be trained on these {len(checked.files)} recordings.")
    if checked.how_to_accept:
        output.text(checked.how_to_accept)
    output.result(checked.to_dict())
    return 0 if checked.usable else 2


def print_warnings(checked: DataCheck, output: Output) -> list[dict[str, str]]:
    """Print the doubtful findings of a check of recordings; returns them as JSON values."""
    found = [
        {"check": each.check, "severity": each.severity, "sentence": each.sentence}
        for each in checked.doubtful
    ]
    print_findings(found, output)
    return found


def print_findings(findings: Sequence[Mapping[str, str]], output: Output) -> None:
    """Print findings of the checks of recordings, given as JSON values."""
    if findings:
        output.text("Findings of the checks of the recordings:")
    for finding in findings:
        output.text(f"  {_MARK[finding['severity']]} {finding['sentence']}")
