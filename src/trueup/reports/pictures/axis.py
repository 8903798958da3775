"""Axis of a static picture: limits, ticks and places, linear or logarithmic."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueup.reports.numbers import format_number

_SPACE = {True: 90.0, False: 30.0}  # distance of ticks that are not given, across and upright
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MARGIN = 0.04  # of the range of values, where no limits are given


@dataclass(frozen=True)
class Axis:
    """Axis between two places of a picture.

    Attributes:
        low: value at its start, as an exponent of 10 if logarithmic.
        high: value at its end.
        start: place of its start [units of the picture].
        end: place of its end.
        log: whether it is logarithmic.
        given: plain data of the axis, in the format of plotly.js.
        across: whether it is horizontal.
    """

    low: float
    high: float
    start: float
    end: float
    log: bool
    given: Mapping[str, Any]
    across: bool

    @classmethod
    def of(
        cls,
        given: Mapping[str, Any],
        values: np.ndarray,
        start: float,
        end: float,
        *,
        across: bool,
    ) -> "Axis":
        """Axis of some values.

        Args:
            given: plain data of the axis; a range or type in it holds.
            values: the values that it shows, finite.
            start: place of its start.
            end: place of its end.
            across: whether it is horizontal.
        """
        log = given.get("type") == "log"
        if given.get("range"):
            low, high = map(float, given["range"])  # exponents if logarithmic
        else:
            shown = np.log10(values[values > 0]) if log else values
            low, high = (float(shown.min()), float(shown.max())) if shown.size else (0.0, 1.0)
            if high - low < 1e-12 * max(abs(high), 1e-300):
                low, high = low - max(abs(low), 1.0) / 2, high + max(abs(high), 1.0) / 2
            # curves over time fill the width
            margin = 0.0 if across and not log else _MARGIN * (high - low)
            low, high = low - margin, high + margin
            if given.get("rangemode") == "tozero" and not log:
                low, high = min(low + margin, 0.0), max(high, 0.0)
        return cls(low, high, float(start), float(end), log, given, across)

    @property
    def visible(self) -> bool:
        """Whether ticks and title are drawn."""
        return self.given.get("visible", True) is not False

    @property
    def grid(self) -> bool:
        """Whether its ticks have lines across the picture."""
        return self.given.get("showgrid", True) is not False

    @property
    def side(self) -> str:
        """Side of the ticks: ``"top"``, or empty for the usual one."""
        return str(self.given.get("side", ""))

    @property
    def title(self) -> str:
        """Text of its title."""
        title = self.given.get("title", "")
        return str(title.get("text", "") if isinstance(title, Mapping) else title)

    @property
    def ends(self) -> tuple[float, float]:
        """Places of its ends, the smaller one first."""
        return min(self.start, self.end), max(self.start, self.end)

    def places(self, values: np.ndarray) -> np.ndarray:
        """Places of values; NaN for those that a logarithmic axis does not have."""
        shown = np.asarray(values, float)
        if self.log:
            shown = np.log10(np.where(shown > 0, shown, np.nan))
        share = (shown - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)

    def place(self, value: float) -> float:
        """Place of a value."""
        return float(self.places(np.array([value]))[0])

    def ticks(self) -> list[tuple[float, str]]:
        """Values of the ticks with their texts."""
        low, high = min(self.low, self.high), max(self.low, self.high)
        if "tickvals" in self.given:
            texts = self.given.get("ticktext") or map(format_number, self.given["tickvals"])
            return list(zip(map(float, self.given["tickvals"]), map(str, texts)))
        wanted = abs(self.end - self.start) / _SPACE[self.across]
        wanted = max(2.0, min(wanted, float(self.given.get("nticks", wanted))))
        if self.log:
            every = max(1, math.ceil((high - low) / wanted))
            powers = range(math.ceil(low), math.floor(high) + 1, every)
            return [(10.0**p, format_number(10.0**p, 3)) for p in powers]
        rough = (high - low) / wanted
        power = 10.0 ** math.floor(math.log10(rough)) if rough > 0 else 1.0
        step = power * next(s for s in _STEPS if s * power >= 0.999 * rough)
        numbers = np.arange(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
        return [(float(n * step), format_number(float(n * step), 4)) for n in numbers]
