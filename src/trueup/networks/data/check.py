"""Checks of recordings before a network is trained on them."""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from trueup.errors import RecordingError, TrueupError, listing
from trueup.networks.data.actuator_series import ActuatorSeries
from trueup.networks.data.command_checks import (
    check_command_signs,
    check_commands,
    check_gains,
    check_magnitude,
    follows_an_angle,
    look_like_degrees,
)
from trueup.networks.data.copied_rows import copied_rows
from trueup.networks.data.features import ANGLE, INERTIA, TARGET_ANGLE, VELOCITY
from trueup.networks.data.odd_torques import OddTorque, odd_torques
from trueup.networks.data.reading import RATE_TOLERANCE, read_recorded, series_of, usable
from trueup.networks.data.recordings import COMMANDS, load_group, name_of_joint
from trueup.networks.data.settings import ACCEPTABLE, COPIES, SIGNS, TORQUE, UNITS, DataSettings
from trueup.signals import Finding, QualityReport, Recording, check_quality
from trueup.signals.clocks.even import sampling_rate

# a recording with a constant command is useful together with others
_ACCEPTED = ("excitation",)
FEWEST_SAMPLES = 50
"""Smallest number of samples of a recording."""

_PART = re.compile(r"_part\d+$")

AGREEMENT = "agreement"
"""Check of the torques against their inputs, and of the recordings against each other."""

_REPAIRED = ("time order", "duplicate times", "finite")


@dataclass(frozen=True)
class FileCheck:
    """Findings about one recording.

    Attributes:
        name: name of the file, with its group where two files share one.
        group: group that it belongs to.
        samples: number of rows.
        rate: recorded rate [Hz]; NaN where all times are equal.
        duration: from the first to the last sample [s].
        quality: findings, the most severe first.
    """

    name: str
    group: str
    samples: int
    rate: float
    duration: float
    quality: QualityReport


@dataclass(frozen=True)
class DataCheck:
    """Findings about all recordings.

    Attributes:
      files: findings of each recording.
      findings: about the recordings together: rates, groups, whether they can be read with the
        settings.
    """

    files: tuple[FileCheck, ...]
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether a network can be trained on them."""
        return all(finding.severity != "refuse" for finding in self.all_findings)

    @property
    def all_findings(self) -> tuple[Finding, ...]:
        """Findings about the recordings together, then of each recording, preceded by its name."""
        named = [
            replace(finding, sentence=f"{file.name}: {finding.sentence}")
            for file in self.files
            for finding in file.quality.findings
        ]
        return (*self.findings, *named)

    @property
    def doubtful(self) -> tuple[Finding, ...]:
        """Warnings and refusals among all findings."""
        return tuple(finding for finding in self.all_findings if finding.severity != "info")

    def raise_if_unusable(self) -> None:
        """Raise an error if a finding refuses the recordings.

        Raises:
            RecordingError: the reasons, one per line, and the setting that accepts them.
        """
        refused = [f for f in self.all_findings if f.severity == "refuse"]
        if not refused:
            return
        reasons = "\n".join(f"  - {finding.sentence}" for finding in refused)
        hint = f"\n{self.how_to_accept}" if self.how_to_accept else ""
        raise RecordingError(f"the recordings cannot be trained on:\n{reasons}{hint}")

    @property
    def how_to_accept(self) -> str:
        """Advice on accepting the refused findings; empty where none can be accepted."""
        refused = {finding.check for finding in self.all_findings if finding.severity == "refuse"}
        kinds = ",".join(kind for kind in ACCEPTABLE if kind in refused)
        return f"To train on them nevertheless, set data.accept=[{kinds}]." if kinds else ""

    def to_dict(self) -> dict[str, Any]:
        """The findings as JSON values."""
        return {
            "usable": self.usable,
            "findings": [finding.to_dict() for finding in self.findings],
            "files": [
                {
                    "name": file.name,
                    "group": file.group,
                    "samples": file.samples,
                    "rate": file.rate,
                    "duration": file.duration,
                    **file.quality.to_dict(),
                }
                for file in self.files
            ],
        }


def check_data(settings: DataSettings) -> DataCheck:
    """Check raw recordings: clock, values, signs, clipping, groups and rates.

    Defects that the setting ``repair`` removes, and those that ``accept`` names, are warnings.

    Raises:
        RecordingError: a folder or file is missing or cannot be read.
        ColumnError: a column does not exist.
        UnitError: a unit does not fit its quantity.
    """
    recorded = read_recorded(settings)
    found = _check_recorded(recorded, settings)
    if not all(file.quality.usable for file in found.files):
        return found
    try:
        series = series_of(recorded, settings)
    except TrueupError as error:
        if any(finding.severity == "refuse" for finding in found.findings):
            return found  # different rates, which are reported already
        refused = Finding("reading", "refuse", "", str(error))
        return replace(found, findings=(*found.findings, refused))
    return _with_reading(found, series, settings)


def read_checked(
    settings: DataSettings, *, refuse: bool = True
) -> tuple[list[ActuatorSeries], DataCheck]:
    """Recordings as `read_series` returns them, and the findings of `check_data`.

    Args:
        settings: location and reading of the recordings.
        refuse: whether unusable recordings raise an error.

    Raises:
        RecordingError: a finding refuses the recordings.
        TrueupError: they cannot be read, as `read_series`.
    """
    recorded = read_recorded(settings)
    found = _check_recorded(recorded, settings)
    if refuse:
        found.raise_if_unusable()
    series = series_of(recorded, settings)
    found = _with_reading(found, series, settings)
    if refuse:
        found.raise_if_unusable()
    return series, found


def _check_recorded(recorded: list[Recording], settings: DataSettings) -> DataCheck:
    names = ["/".join(filter(None, _file_and_joint(each))) for each in recorded]
    if len(set(names)) < len(names):
        names = [f"{load_group(each)}/{name}" for each, name in zip(recorded, names, strict=True)]
    files = tuple(_check_file(r, name, settings) for r, name in zip(recorded, names, strict=True))
    together = (
        *_check_rates(files, settings),
        *check_commands(recorded, settings),
        *check_command_signs(recorded, names, settings),
        *check_magnitude(recorded, names, settings),
        *_check_copies(recorded, names, settings),
        *check_gains(recorded, settings),
        *_check_groups(recorded),
    )
    return DataCheck(files, together)


def _file_and_joint(recording: Recording) -> tuple[str, str]:
    return Path(recording.source).name, name_of_joint(recording)


def _check_file(recording: Recording, name: str, settings: DataSettings) -> FileCheck:
    times = recording.stream.times
    if len(times) < FEWEST_SAMPLES:
        sentence = (
            f"It has {len(times)} samples, of which a network learns nothing: record at least "
            f"{FEWEST_SAMPLES}, or remove the file."
        )
        quality = QualityReport((Finding("samples", "refuse", "", sentence),), None)
    else:
        quality = _quality(recording, settings)
        if settings.repair:
            quality = _quality_with_repair(recording, quality, settings)
    steps = np.diff(times)
    moving = len(steps) > 0 and np.median(steps) > 0
    return FileCheck(
        name,
        load_group(recording),
        len(times),
        sampling_rate(times) if moving else float("nan"),
        float(times[-1] - times[0]),
        quality,
    )


def _quality(recording: Recording, settings: DataSettings) -> QualityReport:
    stream = recording.stream
    channels = {name: values for name, values in stream.columns.items() if name != INERTIA}
    roles = dict.fromkeys(channels, "other")
    roles |= {name: "control" for name in COMMANDS if name in channels}
    roles |= {ANGLE: "position", VELOCITY: "velocity"}
    accepted = {*_ACCEPTED, *({SIGNS, UNITS} & set(settings.accept))}
    if not follows_an_angle(recording):
        accepted.add(UNITS)
    found = check_quality(
        stream.times,
        channels,
        roles={name: role for name, role in roles.items() if name in channels},
        pairs=[(ANGLE, VELOCITY)] if {ANGLE, VELOCITY} <= set(channels) else [],
        responses={TARGET_ANGLE: ANGLE} if {TARGET_ANGLE, ANGLE} <= set(channels) else {},
        accept=accepted,
    )
    degrees = look_like_degrees(recording, settings)
    reported = {finding.channel for finding in degrees}
    rest = [f for f in found.findings if f.check != UNITS or f.channel not in reported]
    refused = [f for f in degrees if f.severity == "refuse"]
    others = [f for f in degrees if f.severity != "refuse"]
    return replace(found, findings=(*refused, *rest, *others))


def _quality_with_repair(
    recording: Recording, quality: QualityReport, settings: DataSettings
) -> QualityReport:
    """Findings about the repaired signals, and the repaired defects as warnings."""
    try:
        repaired = _quality(usable(recording, repair=True), settings)
    except RecordingError as error:
        beyond = Finding("finite", "refuse", "", f"It cannot be repaired: {error}.")
        return QualityReport((beyond, *quality.findings), quality.trim)
    mended = [
        replace(f, severity="warning", sentence=f"{f.sentence} Repaired by data.repair.")
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
    sentence = (
        f"The recordings have different rates, from {rates.min():.6g} to {rates.max():.6g} Hz"
    )
    if settings.rate is not None:
        sentence += f"; all are resampled to {settings.rate:g} Hz."
        return [Finding("rates", "info", "", sentence, figures)]
    sentence += ": set data.rate to the rate that the network is to run at."
    return [Finding("rates", "refuse", "", sentence, figures)]


def _check_copies(
    recorded: list[Recording], names: list[str], settings: DataSettings
) -> list[Finding]:
    """Find recordings that hold the same samples."""
    columns = sorted(set.intersection(*(set(each.stream.columns) for each in recorded)) - {INERTIA})
    if len(columns) < 2:
        return []
    rows = [np.stack([each.stream.columns[name] for name in columns], axis=1) for each in recorded]
    severity = "warning" if COPIES in settings.accept else "refuse"
    return [
        Finding(
            COPIES,
            severity,
            "",
            f"{second} is a copy of {first}: {count} samples, {100 * share:.3g} % of the shorter "
            "one, are in both, and what is trained on one is judged on the other. Remove one of "
            "them.",
        )
        for first, second, count, share in copied_rows(names, rows)
    ]


def _check_groups(recorded: list[Recording]) -> list[Finding]:
    groups = list(dict.fromkeys(load_group(each) for each in recorded))
    count = {"groups": float(len(groups)), "files": float(len(recorded))}
    if len(groups) < 2:
        sentence = f"All recordings belong to one group, {groups[0]!r}: no group can be held out."
        return [Finding("groups", "info", "", sentence, count)]
    names = listing(groups)
    sentence = f"{len(recorded)} recordings of {len(groups)} groups: {names}."
    return [Finding("groups", "info", "", sentence, count)]


def _with_reading(
    found: DataCheck, series: list[ActuatorSeries], settings: DataSettings
) -> DataCheck:
    """The findings with those of reading: source of the torque, processing of the samples."""
    notes = dict.fromkeys(note for each in series for note in each.notes)
    findings = [Finding("reading", "info", "", note[0].upper() + note[1:] + ".") for note in notes]
    # parts of one recording between gaps count together, joints of one file do not
    whole = {each.name: (each.source, _PART.sub("", each.name)) for each in series}
    moving = {whole[each.name] for each in series if np.ptp(each.torque) > 0}
    for source, name in dict.fromkeys(whole.values()):
        if (source, name) not in moving:
            sentence = f"{name}: the torque is constant: nothing can be learned from it."
            severity = "warning" if TORQUE in settings.accept else "refuse"
            findings.append(Finding(TORQUE, severity, TORQUE, sentence))
    findings += [
        Finding(AGREEMENT, "warning", TORQUE, each.sentence, _figures(each))
        for each in odd_torques(series, settings.features)
    ]
    return replace(found, findings=(*found.findings, *findings))


def _figures(found: OddTorque) -> dict[str, float]:
    return {name: float(v) for name, v in found.to_dict().items() if isinstance(v, float)}
