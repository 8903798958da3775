"""Choice between compiling candidates of a model with callbacks and writing their fields."""

import warnings

from trueup.errors import TrueupWarning
from trueup.simulation.targets.callback_fields import TRIALS, CallbackFields


class CallbackUse:
    """State of the callbacks of one model: not yet probed, written as fields, or compiled.

    Callbacks are probed once more candidates have been requested than probing compiles: a single
    residual costs one compilation.
    """

    def __init__(self):
        self.fields: CallbackFields | None = None
        """Fields that the callbacks write, once detected and verified."""
        self.reason = "too few candidates to detect the fields that the callbacks write"
        """Reason for compiling candidates."""
        self._compiled = 0
        self._probed = False
        self._batches = 0

    def is_due(self, candidates: int) -> bool:
        """Count candidates to compile; return whether to probe instead."""
        if self._probed:
            return False
        self._compiled += candidates
        return self._compiled > TRIALS

    def is_check_due(self) -> bool:
        """Count a batch with written fields; return whether to compile one for comparison.

        Batches 8, 16, 32 and so on are checked: a callback may behave differently away from the
        probed values.
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
            f"{model}: callbacks are not affine away from the probed values "
            f"({reason}): the model is compiled for each candidate from now on",
            TrueupWarning,
            stacklevel=2,
        )

    def sentence(self) -> str:
        """Summary for a log or a report."""
        if self.fields is not None:
            return self.fields.sentence()
        return f"callbacks are run and the model compiled for each candidate: {self.reason}"
