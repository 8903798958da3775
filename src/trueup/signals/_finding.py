"""One thing that a quality check found."""

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["info", "warning", "refuse"]


@dataclass(frozen=True)
class Finding:
    """One thing that a quality check found in a recording.

    Attributes:
        check: Which check found it, one of :data:`trueup.signals.QUALITY_CHECKS`.
        severity: ``info``: good to know. ``warning``: a fit goes on, look at it. ``refuse``: no fit
            should use the recording as it is.
        channel: Name of the channel, or of two joined by a slash; empty for the clock.
        sentence: The finding in one plain sentence, with its numbers.
        figures: The numbers by name, SI units, for a report or a program.
    """

    check: str
    severity: Severity
    channel: str
    sentence: str
    figures: dict[str, float] = field(default_factory=dict)
