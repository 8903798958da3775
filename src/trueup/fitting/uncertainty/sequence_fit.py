"""Input of an uncertainty estimate for one fitted sequence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from trueup.errors import FitError

BLOCK_VALUES = 8_000_000
"""Maximum Jacobian values in memory: a block of time of any Jacobian is at most 64 MB."""


@dataclass(frozen=True)
class SequenceFit:
    """Residuals and Jacobian of one sequence at the optimum.

    Args:
        residuals: ``(T, C)``, time along the rows, as the search minimised them (weighted).
        jacobian: ``(T, C, p)``, derivative of the residuals with respect to the free parameters.
            Any object with that ``shape`` that returns an array for a slice of rows: an array,
            a memory map, an HDF5 data set. It is read in blocks of time, never as a whole.
        name: Name of the sequence, for messages.
        channels: Names of the channels; numbered where empty.

    Raises:
        FitError: Shapes do not match, or a residual is not finite.
    """

    residuals: np.ndarray
    jacobian: np.ndarray
    name: str = ""
    channels: tuple[str, ...] = ()

    def __post_init__(self):
        residuals = np.asarray(self.residuals, dtype=float)
        where = f"sequence {self.name!r}"
        if residuals.ndim != 2:
            raise FitError(
                f"{where}: residuals have shape {residuals.shape}; give (time, channels)."
            )
        if not hasattr(self.jacobian, "shape"):
            object.__setattr__(self, "jacobian", np.asarray(self.jacobian, dtype=float))
        shape = tuple(self.jacobian.shape)
        if len(shape) != 3 or shape[:2] != residuals.shape:
            raise FitError(
                f"{where}: the Jacobian has shape {shape}, the residuals {residuals.shape}; "
                "give (time, channels, parameters) and (time, channels)."
            )
        if not np.isfinite(residuals).all():
            bad = int(np.count_nonzero(~np.isfinite(residuals)))
            raise FitError(
                f"{where}: {bad} of {residuals.size} residuals are not finite; an uncertainty "
                "estimate requires a fit without diverged simulations."
            )
        channels = tuple(self.channels) or tuple(f"channel {i}" for i in range(shape[1]))
        if len(channels) != shape[1]:
            raise FitError(
                f"{where}: {len(channels)} channel names for {shape[1]} channels of residuals."
            )
        object.__setattr__(self, "residuals", residuals)
        object.__setattr__(self, "channels", channels)

    @property
    def length(self) -> int:
        """Number of time samples."""
        return self.residuals.shape[0]

    @property
    def parameters(self) -> int:
        """Number of free parameters."""
        return int(self.jacobian.shape[2])

    def blocks(
        self, columns: np.ndarray, backward: bool = False
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield ``(rows, Jacobian of these rows and columns)``, forwards or backwards in time."""
        step = max(1, BLOCK_VALUES // max(1, self.residuals.shape[1] * self.parameters))
        starts = range(0, self.length, step)
        everything = np.array_equal(columns, np.arange(self.parameters))
        for start in reversed(starts) if backward else starts:
            rows = slice(start, min(start + step, self.length))
            block = np.asarray(self.jacobian[rows], dtype=float)
            block = block if everything else block[:, :, columns]
            if not np.isfinite(block).all():
                raise FitError(
                    f"sequence {self.name!r}: the Jacobian is not finite between samples "
                    f"{rows.start} and {rows.stop}; a perturbed simulation diverged there."
                )
            yield rows, block


def checked_sequences(sequences: Sequence[SequenceFit]) -> tuple[int, int]:
    """Return the number of parameters and of residuals, after checking that sequences agree."""
    if not sequences:
        raise FitError("an uncertainty estimate requires at least one sequence, found none.")
    counts = {sequence.parameters for sequence in sequences}
    if len(counts) > 1:
        raise FitError(
            f"the Jacobians of the sequences have {sorted(counts)} parameters; all sequences "
            "must share one parameter vector."
        )
    parameters = counts.pop()
    residuals = sum(sequence.residuals.size for sequence in sequences)
    if parameters == 0:
        raise FitError(
            "the Jacobian has no columns: an uncertainty estimate requires a free parameter."
        )
    if residuals <= parameters:
        raise FitError(
            f"{residuals} residuals are too few to estimate the uncertainty of {parameters} "
            "parameters; record more samples or free fewer parameters."
        )
    return parameters, residuals
