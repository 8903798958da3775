"""A stretch of a recording that is simulated from a known state: a window, or what leads to one."""

from dataclasses import dataclass

import mujoco
import numpy as np

FULL_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS
INTEGRATION = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass(frozen=True)
class Segment:
    """A stretch of a recording that is simulated from a known state.

    One that predicts rows of its sequence is a window of it.
    """

    start_time: float
    """Time of the initial state on the recording's clock [s]."""
    initial_state: np.ndarray
    """State vector ``mjSTATE_FULLPHYSICS``; its clock is set to ``clock``. Entries that are NaN
    begin with what holding the first control implies, see
    :mod:`trueup.simulation.engine.held_start`."""
    controls: np.ndarray
    """Control of each step ``(steps, nu)``."""
    sequence: str = ""
    """Name that state targets address: the sequence for its first window, ``sequence#k`` for the
    k-th later one."""
    clock: float = 0.0
    """Time that the simulation starts at [s]: since the beginning of the sequence, so that a
    recording with a clock of 1e9 s does not cost the delay buffers their resolution."""
    carried: np.ndarray | None = None
    """Entries of the initial state that continue from the simulation before, ``(state
    size,)`` of bool; None where the initial state holds as it is."""
    first: int = 0
    """First row of the observed sequence that it predicts."""
    end: int = 0
    """One past the last of these rows; ``first`` where it predicts none and only leads to a later
    segment."""

    @property
    def rows(self) -> slice:
        """Rows that it predicts, in the arrays of the observed sequence."""
        return slice(self.first, self.end)

    @property
    def steps(self) -> int:
        """Number of simulation steps."""
        return len(self.controls)

    @property
    def first_control(self) -> np.ndarray:
        """Control of the first step ``(nu,)``; zero without steps."""
        return self.controls[0] if self.steps else np.zeros(self.controls.shape[1])

    @property
    def begins(self) -> bool:
        """Whether it is the beginning of a sequence, for which common initial states hold."""
        return bool(self.sequence) and self.clock == 0.0
