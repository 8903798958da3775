"""Quality checks of a recording before a fit."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import RecordingError, SignalError, did_you_mean, listing
from trueup.signals._samples import Array, is_time_series
from trueup.signals.checks import clock, copies, lags, limits, motion, spikes, stale, units, values
from trueup.signals.checks.finding import Finding, Found, Severity
from trueup.signals.checks.recorded import Channel, Limit, Recorded
from trueup.signals.recording import Recording

__all__ = ["QUALITY_CHECKS", "Finding", "QualityReport", "Role", "check_quality"]

Role = Literal["control", "position", "velocity", "other"]

_ROLES = ("control", "position", "velocity", "other")
_ROLE_OF_SIGNAL_TYPE = {"MjCtrl": "control", "MjStateQPos": "position", "MjStateQVel": "velocity"}
_ORDER: dict[Severity, int] = {"refuse": 0, "warning": 1, "info": 2}


class Check(NamedTuple):
    """One quality check."""

    name: str
    find: Callable[[Recorded], Iterator[Found]]
    needs_clock: bool = False
    """Runs only where the times increase."""
    fewest: int = 0
    """Minimum number of samples."""
    can_be_accepted: bool = True
    """Whether the user may accept its refusals, because a fit is still possible."""


CHECKS = (
    Check("samples", clock.length, can_be_accepted=False),
    Check("time order", clock.order, can_be_accepted=False),
    Check("duplicate times", clock.duplicates, can_be_accepted=False),
    Check("clock", clock.description, needs_clock=True),
    Check("gaps", clock.gaps, needs_clock=True),
    Check("jitter", clock.jitter, needs_clock=True),
    Check("finite", values.finite, can_be_accepted=False),
    Check("units", units.units),
    Check("position-velocity", units.position_velocity, True, clock.FEWEST_SAMPLES),
    Check("lag", lags.lags, True, clock.FEWEST_SAMPLES),
    Check("wrapping", units.wrapping),
    Check("copy", copies.copies),
    Check("spikes", spikes.spikes),
    Check("limits", limits.limits),
    Check("excitation", motion.excitation, fewest=2),
    Check("constant", values.constant),
    Check("saturation", values.saturation),
    Check("quantisation", values.quantisation),
    Check("stale", stale.stale, needs_clock=True),
    Check("stuck", stale.stuck, needs_clock=True),
    Check("rest", motion.rest, True, clock.FEWEST_SAMPLES),
    Check("delay", motion.delay, True, clock.FEWEST_SAMPLES),
)
"""All checks, in the order of the report."""

_OF_THE_CLOCK = ("samples", "time order", "duplicate times")

#: The checks by name, in the order of the report.
QUALITY_CHECKS = tuple(check.name for check in CHECKS)


@dataclass(frozen=True)
class QualityReport:
    """Findings of the checks of one recording, most severe first.

    Attributes:
        findings: All findings.
        trim: Interval (start, end) [s] of the motion, or the whole recording; None for an
            invalid clock.
    """

    findings: tuple[Finding, ...]
    trim: tuple[float, float] | None

    @property
    def usable(self) -> bool:
        """Whether a fit may use the recording: no finding of severity ``refuse``."""
        return not self.of_severity("refuse")

    def of_severity(self, severity: Severity) -> tuple[Finding, ...]:
        """Return the findings of one severity."""
        return tuple(f for f in self.findings if f.severity == severity)

    def of_check(self, check: str) -> tuple[Finding, ...]:
        """Return the findings of one check.

        Raises:
            SignalError: No check has this name.
        """
        _check_names([check])
        return tuple(f for f in self.findings if f.check == check)

    def raise_if_unusable(self, name: str) -> None:
        """Raise an error for the recording ``name`` if it is not usable.

        Raises:
            RecordingError: The reasons, one per line.
        """
        refusals = self.of_severity("refuse")
        if refusals:
            reasons = "\n".join(f"  - {finding.sentence}" for finding in refusals)
            raise RecordingError(f"recording {name!r} cannot be used:\n{reasons}")

    def to_dict(self) -> dict[str, object]:
        """Return the report as plain data for JSON."""
        return {
            "usable": self.usable,
            "trim": None if self.trim is None else list(self.trim),
            "findings": [finding.to_dict() for finding in self.findings],
        }


def check_quality(
    times: Any,
    channels: Mapping[str, ArrayLike] | None = None,
    *,
    roles: Mapping[str, str] | None = None,
    pairs: Iterable[tuple[str, str]] | None = None,
    units: Mapping[str, str] | None = None,
    responses: Mapping[str, str] | None = None,
    limits: Mapping[str, Limit] | None = None,
    targets: Mapping[str, str] | None = None,
    first_line: int | None = None,
    accept: Collection[str] = (),
) -> QualityReport:
    """Check a recording before a fit: its clock, its values, its units and its motion.

    Args:
        times: Sample times (n,) [s] as recorded, or a TimeSeries with a signal mapping; its
            controls, positions and velocities then have their roles, and ``<joint>_qpos`` is
            paired with ``<joint>_qvel``.
        channels: Values (n,) or (n, k) by name; a wide channel is checked as ``name[0]`` and so on.
            None with a TimeSeries.
        roles: Role of a channel, by name: ``control``, ``position``, ``velocity`` or ``other``
            (the default).
        pairs: Pairs (position, velocity) of the same joint.
        units: Unit in which a channel is given, by name. Without one, SI is assumed.
        responses: Which channel responds to which control, for the delay. Without it, controls
            and positions are paired in order where there are equally many; otherwise the position
            most strongly related to a control counts.
        limits: Range of a channel in a model, by name.
        targets: Which position a control commands, by name; a copy of it is refused.
        first_line: Line of the file with the first sample, so that findings name lines;
            without it they name rows, counted from 1.
        accept: Names of checks whose refusals the user accepts, such as
            ``excitation`` for a free swing or ``units`` for a wheel: they become warnings. The
            checks of the clock and of NaN cannot be accepted.

    Raises:
        SignalError: Inconsistent arguments: lengths, unknown names, roles or checks.
    """
    if is_time_series(times):
        times, channels, roles, pairs = _from_time_series(times, channels, roles, pairs)
    elif channels is None:
        raise SignalError("channels are missing: pass their values by name")
    samples = np.asarray(times, dtype=np.float64)
    if samples.ndim != 1:
        raise SignalError(f"times have shape {samples.shape}: expected (n,)")
    columns = _columns(samples, channels, roles or {}, units or {})
    names = [column.name for column in columns]
    if responses is not None:
        _known([*responses, *responses.values()], names, "responses")
    joint_pairs = tuple(_pair(pair, names) for pair in pairs or ())
    _check_acceptable(accept)
    recorded = Recorded(
        samples, columns, joint_pairs, responses, first_line, limits or {}, targets or {}
    )
    findings = []
    for check in CHECKS:
        if samples.size < check.fewest or (check.needs_clock and not recorded.clock_increases):
            continue
        findings += [found.of(check.name) for found in check.find(recorded)]
    trim = (float(samples[0]), float(samples[-1])) if recorded.clock_increases else None
    for finding in findings:
        if finding.check == "rest":
            trim = (finding.figures["trim_start"], finding.figures["trim_end"])
    accepted = [
        replace(f, severity="warning") if f.check in accept and f.severity == "refuse" else f
        for f in findings
    ]
    return QualityReport(tuple(sorted(accepted, key=lambda f: _ORDER[f.severity])), trim)


def check_clocks(recording: Recording) -> None:
    """Check that every clock of a recording is long enough and strictly increasing.

    Raises:
        RecordingError: A clock is too short, runs backwards or repeats a time.
    """
    for stream in recording.streams:
        found = check_quality(stream.times, {}).of_severity("refuse")
        broken = [finding.sentence for finding in found if finding.check in _OF_THE_CLOCK]
        if broken:
            of = f" ({listing(stream.columns)})" if len(recording.streams) > 1 else ""
            raise RecordingError(
                f"recording {recording.name!r}{of} cannot be used: {' '.join(broken)}"
            )


def _from_time_series(
    series: Any,
    channels: Mapping[str, ArrayLike] | None,
    roles: Mapping[str, str] | None,
    pairs: Iterable[tuple[str, str]] | None,
) -> tuple[Array, dict[str, ArrayLike], dict[str, str], list[tuple[str, str]]]:
    """Take channels, roles and pairs from a TimeSeries; explicit arguments take precedence."""
    if channels is not None:
        raise SignalError(
            "a TimeSeries contains its channels: pass a TimeSeries or channels, not both"
        )
    if not series.signal_mapping:
        raise SignalError(
            "the TimeSeries has no signal mapping, so its channels have no names: pass times and "
            "channels by name"
        )
    data = np.asarray(series.data)
    named: dict[str, ArrayLike] = {}
    found_roles: dict[str, str] = {}
    for name, (kind, indices) in series.signal_mapping.items():
        selected = data[:, np.atleast_1d(indices)]
        named[name] = selected[:, 0] if selected.shape[1] == 1 else selected
        found_roles[name] = _ROLE_OF_SIGNAL_TYPE.get(getattr(kind, "name", ""), "other")
    found_pairs = [
        (name, partner)
        for name in named
        if name.endswith("_qpos")
        and (partner := name.removesuffix("_qpos") + "_qvel") in named
        and np.ndim(named[name]) == np.ndim(named[partner]) == 1
    ]
    chosen = list(pairs) if pairs is not None else found_pairs
    return np.asarray(series.times), named, {**found_roles, **(roles or {})}, chosen


def _columns(
    times: Array,
    channels: Mapping[str, ArrayLike],
    roles: Mapping[str, str],
    units: Mapping[str, str],
) -> tuple[Channel, ...]:
    """Split wide channels into columns, each with its role and unit."""
    _known(roles, channels, "roles")
    for name, role in roles.items():
        if role not in _ROLES:
            raise SignalError(
                f"unknown role {role!r} of {name!r}.{did_you_mean(str(role), _ROLES)} "
                f"Available: {listing(_ROLES)}."
            )
    columns: list[Channel] = []
    for name, given in channels.items():
        values = np.asarray(given, dtype=np.float64)
        if values.ndim not in (1, 2) or values.shape[0] != times.size:
            raise SignalError(
                f"channel {name!r} has shape {values.shape}, the clock has {times.size} times: "
                "values are (n,) or (n, k)"
            )
        wide = values.ndim == 2 and values.shape[1] != 1
        for index, column in enumerate(values.T if values.ndim == 2 else [values]):
            label = f"{name}[{index}]" if wide else name
            unit = units.get(label, units.get(name))
            columns.append(Channel(label, column, roles.get(name, "other"), unit))
    _known(units, {*channels, *(column.name for column in columns)}, "units")
    return tuple(columns)


def _pair(pair: tuple[str, str], columns: Collection[str]) -> tuple[str, str]:
    if isinstance(pair, str) or len(pair) != 2:
        raise SignalError(f"a pair must be (position, velocity), found {pair!r}")
    _known(pair, columns, "pairs")
    return pair[0], pair[1]


def _known(names: Iterable[str], channels: Collection[str], what: str) -> None:
    for name in names:
        if name not in channels:
            raise SignalError(
                f"unknown channel {name!r} in {what}."
                f"{did_you_mean(name, channels)} Available: {listing(channels)}."
            )


def _check_names(names: Iterable[str]) -> None:
    for name in [names] if isinstance(names, str) else names:
        if name not in QUALITY_CHECKS:
            raise SignalError(
                f"unknown check {name!r}.{did_you_mean(name, QUALITY_CHECKS)} "
                f"Available: {listing(QUALITY_CHECKS, limit=len(QUALITY_CHECKS))}."
            )


def _check_acceptable(names: Collection[str]) -> None:
    _check_names(names)
    refused = {check.name for check in CHECKS if not check.can_be_accepted}.intersection(names)
    if refused:
        raise SignalError(
            f"{listing(sorted(refused))} cannot be accepted: such a recording cannot be fitted"
        )
