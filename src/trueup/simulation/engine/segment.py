"""Segments of recordings, simulated from a known state: windows, or lead-ins to windows."""

from dataclasses import dataclass

import mujoco
import numpy as np

FULL_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS
INTEGRATION = mujoco.mjtState.mjSTATE_INTEGRATION


@dataclass(frozen=True)
class Segment:
    """Interval of a recording that is simulated from a known state.

    One that predicts rows of its sequence is a window of it.
    """

    start_time: float
    """Time of the initial state on the recording's clock [s]."""
    initial_state: np.ndarray
    """State vector ``mjSTATE_FULLPHYSICS``; its clock is set to ``clock``. NaN entries
    are set to the steady state under the first control, see
    :mod:`trueup.simulation.engine.held_start`."""
    controls: np.ndarray
    """Control of each step ``(steps, nu)``."""
    sequence: str = ""
    """Name that state targets address: the sequence for its first window, ``sequence#k`` for the
    k-th later one."""
    clock: float = 0.0
    """Start time of the simulation [s], relative to the start of the sequence, so that a clock of
    1e9 s does not reduce the resolution of the delay buffers."""
    carried: np.ndarray | None = None
    """Entries of the initial state that continue from the previous segment, ``(state
    size,)`` of bool; None if none do."""
    first: int = 0
    """First predicted row of the observed sequence."""
    end: int = 0
    """One past the last predicted row; equal to ``first`` for a segment that only leads to a later
    one."""
    following: tuple[int, ...] = ()
    """Degrees of freedom that follow others by closed loops, in the initial state of any candidate;
    see :mod:`trueup.simulation.engine.closed_starts`."""

    @property
    def rows(self) -> slice:
        """Predicted rows of the arrays of the observed sequence."""
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
        """Whether it is the start of a sequence, which common initial states apply to."""
        return bool(self.sequence) and self.clock == 0.0
