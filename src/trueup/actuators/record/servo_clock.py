"""Time of a measurement by the servo's own clock, on the clock of this computer."""

TICK = 1e-3
"""Resolution of the servo's clock [s]: it is the time rounded down to a count."""
PERIOD = 32.768
"""Time after which the servo's clock begins at 0 again [s]."""
_DRIFT = 5e-4
"""Most that the two clocks differ in speed; crystals and the resonators of servos reach 100 ppm."""
_TOLERANCE = 2e-3
"""Contradiction at which the servo's clock is not used any more [s]."""


class ServoClock:
    """Times of measurements from the tick of the servo and the exchange that read it.

    A servo measures at an unknown time between question and answer. On a busy computer these may
    be tens of milliseconds apart, while the servo's own clock is exact to a millisecond. Each
    exchange bounds the difference of the two clocks; the shortest ones bound it to the resolution
    of the tick.
    """

    def __init__(self) -> None:
        self.contradicted = False
        """Whether the ticks are not those of a clock: the middle of the exchange is the time."""
        self._unwrapped: float | None = None
        self._low = self._high = self._at = 0.0  # bounds of the difference of the clocks, at a time

    def time_of(self, tick: float | None, before: float, after: float) -> float:
        """Time of a measurement [s], between question and answer.

        Args:
            tick: clock of the servo [s]; None if it has none.
            before, after: times of question and answer [s].
        """
        middle = 0.5 * (before + after)
        if tick is None or self.contradicted:
            return middle
        if self._unwrapped is None:
            self._unwrapped = tick
            self._low, self._high = before - tick - TICK, after - tick
        else:
            # by the time between the exchanges, so that a gap of several periods is counted
            expected = self._unwrapped + middle - self._at
            self._unwrapped = tick + PERIOD * round((expected - tick) / PERIOD)
            drift = _DRIFT * (middle - self._at)
            self._low = max(self._low - drift, before - self._unwrapped - TICK)
            self._high = min(self._high + drift, after - self._unwrapped)
        self._at = middle
        self.contradicted = self._low > self._high + _TOLERANCE
        if self.contradicted:
            return middle
        estimate = self._unwrapped + 0.5 * (self._low + self._high) + 0.5 * TICK
        return min(max(estimate, before), after)
