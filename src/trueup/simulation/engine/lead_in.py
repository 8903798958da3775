"""Recording of a run before a sequence of it begins."""

from dataclasses import dataclass

import numpy as np

from trueup.signals.time_series import TimeSeries


@dataclass(frozen=True)
class LeadIn:
    """Recording of a run before a sequence of it begins.

    Activations and delay buffers at the start of the sequence result from the commands before
    it, and unmeasured joints from the motion before it.
    """

    control: TimeSeries
    """Controls up to the start of the sequence."""
    state: np.ndarray
    """State ``mjSTATE_FULLPHYSICS`` at the first of these times; where ``measured`` is None, that
    at the beginning of the sequence."""
    measured: TimeSeries | None = None
    """Signals over the same time; None where only commands were recorded."""
    name: str = ""
    """Sequence that this part belongs to, which parameters of initial states name."""
