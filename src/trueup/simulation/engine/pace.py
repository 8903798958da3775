"""Steps that a batch may simulate before the clock is looked at."""

_PIECE = 0.5  # [s] between two looks at the clock
_UNKNOWN = 2000  # simulated steps, those of all simulations, by which the speed is first found


class Pace:
    """Speed of a batch so far, and from it the length of its next piece.

    Pieces follow each other within a rollout, and change nothing of what is simulated.
    """

    def __init__(self) -> None:
        self._speed = 0.0  # steps a second, all simulations together

    def steps(self, simulations: int, wanted: int) -> int:
        """Steps of the next piece, out of those wanted."""
        allowed = self._speed * _PIECE if self._speed else _UNKNOWN
        # a rest that is no longer than half a piece goes with it
        if wanted * simulations <= 1.5 * allowed:
            return wanted
        return min(max(int(allowed / simulations), 1), wanted)

    def took(self, simulations: int, steps: int, seconds: float) -> None:
        """Note the duration of a piece."""
        self._speed = simulations * steps / max(seconds, 1e-9)
