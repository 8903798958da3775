"""What is wrong with a recording, said before a fit spends time on it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from trueup.errors import RecordingError, SignalError, did_you_mean, listing
from trueup.signals import _checks_clock, _checks_motion, _checks_units, _checks_values
from trueup.signals._checks_motion import Channel
from trueup.signals._finding import Finding, Severity
from trueup.signals._samples import Array, is_time_series
from trueup.signals._signal_statistics import resolution

__all__ = ["QUALITY_CHECKS", "Finding", "QualityReport", "Role", "check_quality"]

Role = Literal["control", "position", "velocity", "other"]

_ROLES = ("control", "position", "velocity", "other")
_ROLE_OF_SIGNAL_TYPE = {"MjCtrl": "control", "MjStateQPos": "position", "MjStateQVel": "velocity"}
_ORDER: dict[Severity, int] = {"refuse": 0, "warning": 1, "info": 2}

#: The checks by name, in the order in which a reader wants them.
QUALITY_CHECKS = (
    "samples",
    "time order",
    "duplicate times",
    "clock",
    "gaps",
    "jitter",
    "finite",
    "units",
    "position-velocity",
    "wrapping",
    "excitation",
    "constant",
    "saturation",
    "quantisation",
    "rest",
    "delay",
)


@dataclass(frozen=True)
class QualityReport:
    """What the checks found in one recording, the gravest first.

    Attributes:
        findings: All findings.
        trim: Interval (start, end) [s] in which something moves, or the whole recording; None
            where the clock does not allow to say.
    """

    findings: tuple[Finding, ...]
    trim: tuple[float, float] | None

    @property
    def usable(self) -> bool:
        """Whether a fit may use the recording: no finding refuses it."""
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
        """Refuse the recording ``name`` if a finding says so.

        Raises:
            RecordingError: The reasons, one a line.
        """
        refusals = self.of_severity("refuse")
        if refusals:
            reasons = "\n".join(f"  - {finding.sentence}" for finding in refusals)
            raise RecordingError(f"recording {name!r} cannot be used:\n{reasons}")

    def as_dict(self) -> dict[str, object]:
        """Return the report as plain data for JSON."""
        return {
            "usable": self.usable,
            "trim": None if self.trim is None else list(self.trim),
            "findings": [
                {
                    "check": f.check,
                    "severity": f.severity,
                    "channel": f.channel,
                    "sentence": f.sentence,
                    "figures": dict(f.figures),
                }
                for f in self.findings
            ],
        }


def check_quality(
    times: Any,
    channels: Mapping[str, ArrayLike] | None = None,
    *,
    roles: Mapping[str, str] | None = None,
    pairs: Iterable[tuple[str, str]] | None = None,
    units: Mapping[str, str] | None = None,
    responses: Mapping[str, str] | None = None,
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
        roles: What a channel is, by name: ``control``, ``position``, ``velocity`` or ``other``
            (which is what channels without a role are).
        pairs: Pairs (position, velocity) of the same joint.
        units: Unit in which a channel is given, by name. Without one, SI is assumed.
        responses: Which channel responds to which control, for the delay. Without it, controls
            and positions are paired in order where there are equally many; otherwise the position
            most strongly related to a control counts.
        first_line: Line of the file that holds the first sample, so that findings can name lines;
            without it they name rows, counted from 1.
        accept: Names of checks whose refusals were looked at and are accepted, such as
            ``excitation`` for a free swing or ``units`` for a wheel: they become warnings. The
            checks of the clock and of NaN cannot be accepted.

    Raises:
        SignalError: The arguments do not fit each other: lengths, unknown names, roles or checks.
    """
    if is_time_series(times):
        times, channels, roles, pairs = _from_time_series(times, channels, roles, pairs)
    elif channels is None:
        raise SignalError("channels are missing: pass their values by name")
    clock = np.asarray(times, dtype=np.float64)
    if clock.ndim != 1:
        raise SignalError(f"times have shape {clock.shape}: they are one-dimensional, (n,)")
    columns, column_roles = _columns(clock, channels, roles or {})
    given_units = _for_columns(units or {}, columns, "units")
    joint_pairs = [_pair(pair, columns) for pair in pairs or ()]
    if responses is not None:
        _known([*responses, *responses.values()], columns, "responses")
    _check_names(accept)
    unacceptable = {"samples", "time order", "duplicate times", "finite"}.intersection(accept)
    if unacceptable:
        raise SignalError(
            f"{listing(sorted(unacceptable))} cannot be accepted: no fit can use such a recording"
        )

    findings = _checks_clock.check_length(clock) + _checks_clock.check_order(clock, first_line)
    usable: dict[str, Channel] = {}
    for name, values in columns.items():
        broken = _checks_values.check_finite(name, values, clock)
        findings += broken
        if not broken and values.size:
            usable[name] = Channel(name, values, column_roles[name], resolution(values))
    for channel in usable.values():
        findings += _check_values(channel, given_units)
    findings += _checks_motion.check_excitation(list(usable.values())) if clock.size >= 2 else []

    trim = None
    if _checks_clock.clock_is_usable(clock):
        trim = (float(clock[0]), float(clock[-1]))
        findings += _checks_clock.check_steps(clock)
        if clock.size >= 10:
            more, trim = _check_over_time(clock, usable, joint_pairs, given_units, responses)
            findings += more
    accepted = [
        replace(f, severity="warning") if f.check in accept and f.severity == "refuse" else f
        for f in findings
    ]
    ranked = sorted(accepted, key=lambda f: (_ORDER[f.severity], QUALITY_CHECKS.index(f.check)))
    return QualityReport(tuple(ranked), trim)


def _check_values(channel: Channel, units: Mapping[str, str]) -> list[Finding]:
    """Run the checks that need one channel and no clock."""
    name, values = channel.name, channel.values
    return [
        *_checks_values.check_constant(name, values, channel.role),
        *_checks_values.check_saturation(name, values, channel.resolution),
        *_checks_values.check_quantisation(name, values, channel.resolution, channel.role),
        *_checks_units.check_range(channel, units),
        *_checks_units.check_wrapping(channel, units),
    ]


def _check_over_time(
    times: Array,
    channels: Mapping[str, Channel],
    pairs: list[tuple[str, str]],
    units: Mapping[str, str],
    responses: Mapping[str, str] | None,
) -> tuple[list[Finding], tuple[float, float]]:
    """Run the checks that need a clock that increases."""
    findings: list[Finding] = []
    ratios: list[float] = []
    for position, velocity in pairs:
        if position in channels and velocity in channels:
            more, ratio = _checks_units.check_position_velocity(
                times, channels[position], channels[velocity], units
            )
            findings += more
            if ratio is not None:
                ratios.append(ratio)
    findings += _checks_units.check_time_unit(times, ratios)
    rest, trim = _checks_motion.check_rest(times, list(channels.values()))
    findings += rest
    findings += _checks_motion.check_delay(times, list(channels.values()), responses)
    return findings, trim


def _from_time_series(
    series: Any,
    channels: Mapping[str, ArrayLike] | None,
    roles: Mapping[str, str] | None,
    pairs: Iterable[tuple[str, str]] | None,
) -> tuple[Array, dict[str, ArrayLike], dict[str, str], list[tuple[str, str]]]:
    """Take channels, roles and pairs from a TimeSeries; what the caller gives has precedence."""
    if channels is not None:
        raise SignalError("a TimeSeries brings its own channels: pass one or the other")
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
    times: Array, channels: Mapping[str, ArrayLike], roles: Mapping[str, str]
) -> tuple[dict[str, Array], dict[str, str]]:
    """Split wide channels into columns, and give each its role."""
    _known(roles, channels, "roles")
    for name, role in roles.items():
        if role not in _ROLES:
            raise SignalError(
                f"role {role!r} of {name!r} does not exist; there is {listing(_ROLES)}."
                f"{did_you_mean(str(role), _ROLES)}"
            )
    columns: dict[str, Array] = {}
    column_roles: dict[str, str] = {}
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
            columns[label] = column
            column_roles[label] = roles.get(name, "other")
    return columns, column_roles


def _for_columns(
    by_name: Mapping[str, str], columns: Mapping[str, Array], what: str
) -> dict[str, str]:
    """Spread a setting of a wide channel over its columns."""
    spread: dict[str, str] = {}
    for name, value in by_name.items():
        parts = [name] if name in columns else [c for c in columns if c.startswith(f"{name}[")]
        if not parts:
            _known([name], columns, what)
        spread.update(dict.fromkeys(parts, value))
    return spread


def _pair(pair: tuple[str, str], columns: Mapping[str, Array]) -> tuple[str, str]:
    if isinstance(pair, str) or len(pair) != 2:
        raise SignalError(f"a pair is (position, velocity), not {pair!r}")
    _known(pair, columns, "pairs")
    return pair[0], pair[1]


def _known(names: Iterable[str], channels: Collection[str], what: str) -> None:
    for name in names:
        if name not in channels:
            raise SignalError(
                f"{what} names a channel {name!r} that does not exist."
                f"{did_you_mean(name, channels)} There is {listing(channels)}."
            )


def _check_names(names: Iterable[str]) -> None:
    for name in [names] if isinstance(names, str) else names:
        if name not in QUALITY_CHECKS:
            raise SignalError(
                f"check {name!r} does not exist.{did_you_mean(name, QUALITY_CHECKS)} "
                f"There is {listing(QUALITY_CHECKS, limit=len(QUALITY_CHECKS))}."
            )
