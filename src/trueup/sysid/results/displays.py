"""Displays of parts of an identification in notebooks."""

from trueup._rich_display import Display
from trueup.sysid.assess.assessment import SequenceSignals
from trueup.sysid.results.recording_sections import signal_section


def of_signals(signals: SequenceSignals) -> Display:
    """Measured and predicted signals of a recording."""
    line = f"SequenceSignals: {signals.name}, {', '.join(signals.channels)}"
    return Display(line, (signal_section([signals]),))
