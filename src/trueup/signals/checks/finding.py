"""Findings of the quality checks."""

from dataclasses import dataclass, field, replace
from typing import Any, Literal

Severity = Literal["info", "warning", "refuse"]


@dataclass(frozen=True)
class Finding:
    """One thing that a quality check found in a recording.

    Attributes:
        check: Which check found it, one of :data:`trueup.signals.QUALITY_CHECKS`.
        severity: ``info``: information. ``warning``: inspect before the fit. ``refuse``: do not fit
            the recording as it is.
        channel: Name of the channel, or of two separated by a slash; empty for the clock.
        sentence: The finding in one sentence, with its numbers.
        figures: The numbers by name, SI units, for a report or a program.
        cause: What it is as a cause of the error of a fit, as a noun phrase; empty for none.
    """

    check: str
    severity: Severity
    channel: str
    sentence: str
    figures: dict[str, float] = field(default_factory=dict)
    cause: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "check": self.check,
            "severity": self.severity,
            "channel": self.channel,
            "sentence": self.sentence,
            "figures": dict(self.figures),
        }


@dataclass(frozen=True)
class Found:
    """A finding before the table of checks adds the name of its check."""

    severity: Severity
    sentence: str
    channel: str
    figures: dict[str, float]
    cause: str = ""

    def because(self, cause: str) -> "Found":
        """The same finding as a cause of the error of a fit, named by a noun phrase."""
        return replace(self, cause=cause)

    def of(self, check: str) -> Finding:
        """The finding of a check."""
        return Finding(check, self.severity, self.channel, self.sentence, self.figures, self.cause)


def found(severity: Severity, sentence: str, channel: str = "", **figures: float) -> Found:
    """A finding of a severity that the check decides."""
    return Found(severity, sentence, channel, {name: float(v) for name, v in figures.items()})


def refuse(sentence: str, channel: str = "", **figures: float) -> Found:
    """A finding that makes the recording unsuitable for a fit."""
    return found("refuse", sentence, channel, **figures)


def warn(sentence: str, channel: str = "", **figures: float) -> Found:
    """A finding to inspect."""
    return found("warning", sentence, channel, **figures)


def note(sentence: str, channel: str = "", **figures: float) -> Found:
    """A finding for information."""
    return found("info", sentence, channel, **figures)
