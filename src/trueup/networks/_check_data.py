"""Checks of recordings before a network is trained on them."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueup.errors import RecordingError, TrueupError, listing
from trueup.networks._clock_repair import usable
from trueup.networks._raw_signals import COMMANDS, RawSignals, read_raw, recording_files
from trueup.networks._read_series import RATE_TOLERANCE, read_series, recorded_rate
from trueup.networks.data_settings import TORQUE, DataSettings
from trueup.networks.features import ANGLE, INERTIA, TARGET_ANGLE, VELOCITY
from trueup.signals import Finding, QualityReport, check_quality

# a wheel turns far, a free joint has no command: both can be learnt from
_ACCEPTED = ("units", "excitation")
_REPAIRED = ("time order", "duplicate times", "finite")


@dataclass(frozen=True)
class FileCheck:
    """What was found in one recording.

    Attributes:
        name: name of the file.
        group: group that it belongs to.
        samples: number of rows.
        rate: recorded rate [Hz]; NaN where the clock stands still.
        duration: [s].
        quality: findings, the gravest first.
    """

    name: str
    group: str
    samples: int
    rate: float
    duration: float
    quality: QualityReport


@dataclass(frozen=True)
class DataCheck:
    """What was found in all recordings.

    Attributes:
        files: of each recording.
        findings: about the recordings together: rates, groups, whether they can be read as set.
    """

    files: tuple[FileCheck, ...]
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether a network can be trained on them."""
        together = all(finding.severity != "refuse" for finding in self.findings)
        return together and all(file.quality.usable for file in self.files)

    def raise_if_unusable(self) -> None:
        """Refuse the recordings if a finding says so.

        Raises:
            RecordingError: the reasons, one a line.
        """
        reasons = [f.sentence for f in self.findings if f.severity == "refuse"]
        for file in self.files:
            refused = file.quality.of_severity("refuse")
            reasons += [f"{file.name}: {finding.sentence}" for finding in refused]
        if reasons:
            raise RecordingError(
                "the recordings cannot be trained on:\n" + "\n".join(f"  - {r}" for r in reasons)
            )

    def to_dict(self) -> dict[str, Any]:
        """The findings as JSON values."""
        return {
            "usable": self.usable,
            "findings": [
                {"check": f.check, "severity": f.severity, "sentence": f.sentence}
                for f in self.findings
            ],
            "files": [
                {
                    "name": file.name,
                    "group": file.group,
                    "samples": file.samples,
                    "rate": file.rate,
                    "duration": file.duration,
                    **file.quality.as_dict(),
                }
                for file in self.files
            ],
        }


def check_data(settings: DataSettings) -> DataCheck:
    """Check recordings as they were recorded: clock, values, signs, clipping, groups and rates.

    With ``repair`` of the settings, what it mends is a warning.

    Raises:
        RecordingError: a folder or file is missing or cannot be read.
        ColumnError: a column does not exist.
        UnitError: a unit does not fit its quantity.
    """
    raws = [read_raw(file, settings) for file in recording_files(settings)]
    files = tuple(_check_file(raw, settings) for raw in raws)
    findings = [*_check_rates(files, settings), *_check_groups(raws)]
    if all(file.quality.usable for file in files):
        findings += _check_reading(settings)
    return DataCheck(files, tuple(findings))


def _check_file(raw: RawSignals, settings: DataSettings) -> FileCheck:
    quality = _quality(raw)
    if settings.repair:
        quality = _quality_with_repair(raw, quality)
    steps = np.diff(raw.times)
    moving = len(steps) > 0 and np.median(steps) > 0
    return FileCheck(
        raw.file.path.name,
        raw.file.group,
        len(raw.times),
        recorded_rate(raw.times) if moving else float("nan"),
        float(raw.times[-1] - raw.times[0]),
        quality,
    )


def _quality(raw: RawSignals) -> QualityReport:
    channels = {name: values for name, values in raw.signals.items() if name != INERTIA}
    roles = dict.fromkeys(channels, "other")
    roles |= {name: "control" for name in COMMANDS if name in channels}
    roles |= {ANGLE: "position", VELOCITY: "velocity"}
    return check_quality(
        raw.times,
        channels,
        roles={name: role for name, role in roles.items() if name in channels},
        pairs=[(ANGLE, VELOCITY)] if {ANGLE, VELOCITY} <= set(channels) else [],
        responses={TARGET_ANGLE: ANGLE} if {TARGET_ANGLE, ANGLE} <= set(channels) else {},
        accept=_ACCEPTED,
    )


def _quality_with_repair(raw: RawSignals, quality: QualityReport) -> QualityReport:
    """Findings of the repaired signals, and as warnings what was repaired."""
    try:
        repaired = _quality(usable(raw, repair=True))
    except RecordingError:
        return quality
    mended = [
        replace(f, severity="warning", sentence=f"{f.sentence} It is repaired.")
        for f in quality.findings
        if f.check in _REPAIRED and f.severity == "refuse"
    ]
    refused = repaired.of_severity("refuse")
    rest = [f for f in repaired.findings if f.severity != "refuse"]
    return QualityReport((*refused, *mended, *rest), repaired.trim)


def _check_rates(files: tuple[FileCheck, ...], settings: DataSettings) -> list[Finding]:
    rates = np.array([file.rate for file in files])
    rates = rates[np.isfinite(rates)]
    if rates.size == 0 or np.ptp(rates) <= RATE_TOLERANCE * rates.min():
        return []
    figures = {"lowest": float(rates.min()), "highest": float(rates.max())}
    sentence = f"The recordings have rates from {rates.min():.6g} to {rates.max():.6g} Hz"
    if settings.rate is not None:
        sentence += f"; all are put on {settings.rate:g} Hz."
        return [Finding("rates", "info", "", sentence, figures)]
    sentence += ": set data.rate to the rate that the network is to run at."
    return [Finding("rates", "refuse", "", sentence, figures)]


def _check_groups(raws: list[RawSignals]) -> list[Finding]:
    groups = list(dict.fromkeys(raw.file.group for raw in raws))
    count = {"groups": float(len(groups)), "files": float(len(raws))}
    if len(groups) < 2:
        sentence = f"All recordings are of one group, {groups[0]!r}: none can be left out."
        return [Finding("groups", "info", "", sentence, count)]
    names = listing(groups)
    sentence = f"{len(raws)} recordings of {len(groups)} groups: {names}."
    return [Finding("groups", "info", "", sentence, count)]


def _check_reading(settings: DataSettings) -> list[Finding]:
    """What reading the data as set says: how the torque comes about, what was done to samples."""
    try:
        series = read_series(settings)
    except TrueupError as error:
        return [Finding("reading", "refuse", "", str(error))]
    notes = dict.fromkeys(note for each in series for note in each.notes)
    findings = [Finding("reading", "info", "", note[0].upper() + note[1:] + ".") for note in notes]
    for each in series:
        if np.ptp(each.torque) == 0:
            sentence = f"{each.name}: the torque never changes: nothing can be learnt."
            findings.append(Finding("reading", "refuse", TORQUE, sentence))
    return findings
