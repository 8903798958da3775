"""Number of steps of a batch between two checks of the time limit."""

_PIECE = 0.5  # wall-clock time between two checks of the limit [s]
_UNKNOWN = 2000  # steps of all simulations together, for the first estimate of the speed


class Pace:
    """Measured speed of a batch, which sets the length of its next chunk.

    Chunks continue each other within a rollout and do not change its result.
    """

    def __init__(self) -> None:
        self._speed = 0.0  # steps per second, all simulations together

    def steps(self, simulations: int, wanted: int) -> int:
        """Steps of the next chunk, at most those requested."""
        allowed = self._speed * _PIECE if self._speed else _UNKNOWN
        # a remainder of up to half a chunk is included
        if wanted * simulations <= 1.5 * allowed:
            return wanted
        return min(max(int(allowed / simulations), 1), wanted)

    def took(self, simulations: int, steps: int, seconds: float) -> None:
        """Record the duration of a chunk."""
        self._speed = simulations * steps / max(seconds, 1e-9)
