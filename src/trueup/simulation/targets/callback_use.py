"""Whether candidates of a model with callbacks are compiled, or their fields written."""

import warnings

from trueup.errors import TrueupWarning
from trueup.simulation.targets.callback_fields import TRIALS, CallbackFields


class CallbackUse:
    """State of the callbacks of one model: not yet probed, written as fields, or compiled.

    Callbacks are probed as soon as more candidates are asked for than probing compiles itself: a
    single residual costs one compilation.
    """

    def __init__(self):
        self.fields: CallbackFields | None = None
        """What the callbacks write, once it is known and verified."""
        self.reason = "too few candidates to find out what the callbacks write"
        """Why candidates are compiled."""
        self._compiled = 0
        self._probed = False
        self._batches = 0

    def is_due(self, candidates: int) -> bool:
        """Count candidates about to be compiled; whether to probe instead."""
        if self._probed:
            return False
        self._compiled += candidates
        return self._compiled > TRIALS

    def is_check_due(self) -> bool:
        """Count a batch with fields written; whether one candidate is to be compiled beside it.

        Batches 8, 16, 32 and so on are checked: a callback may do something else where no probe
        came.
        """
        self._batches += 1
        return self._batches >= 8 and self._batches & (self._batches - 1) == 0

    def accept(self, fields: CallbackFields) -> None:
        """Write these fields from now on."""
        self.fields, self.reason, self._probed = fields, "", True

    def refuse(self, reason: str) -> None:
        """Compile from now on."""
        self.fields, self.reason, self._probed = None, reason, True

    def drop(self, model: str, reason: str) -> None:
        """Compile from now on, although fields were written before."""
        self.refuse(reason)
        warnings.warn(
            f"{model}: callbacks do something else at values where they were not tried "
            f"({reason}): the model is compiled for each candidate from here on",
            TrueupWarning,
            stacklevel=2,
        )

    def sentence(self) -> str:
        """Summary for a log or a report."""
        if self.fields is not None:
            return self.fields.sentence()
        return f"callbacks are run and the model compiled for each candidate: {self.reason}"
