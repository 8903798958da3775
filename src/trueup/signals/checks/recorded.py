"""Input of the quality checks: a clock, its channels, and their roles and units."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from trueup.signals._samples import Array
from trueup.signals.checks.statistics import noise_level, resolution
from trueup.signals.clocks.steps import unusable_steps


@dataclass(frozen=True, eq=False)
class Channel:
    """One column of numbers; its statistics are computed once, at their first use.

    Attributes:
        name: Its name.
        values: Samples (n,).
        role: ``control``, ``position``, ``velocity`` or ``other``.
        unit: Unit in which it is given; empty for an unknown one, None for SI.
    """

    name: str
    values: Array
    role: str = "other"
    unit: str | None = None

    @cached_property
    def is_finite(self) -> bool:
        """Whether no value is NaN or infinite."""
        return bool(np.all(np.isfinite(self.values)))

    @cached_property
    def is_constant(self) -> bool:
        """Whether all values are equal, up to rounding."""
        return self.range <= 1e-12 * float(np.max(np.abs(self.values)))

    @cached_property
    def range(self) -> float:
        """Largest value less the smallest."""
        return float(np.ptp(self.values))

    @cached_property
    def resolution(self) -> float:
        """Step of which all values are multiples, 0 where there is none."""
        return resolution(self.values)

    @cached_property
    def noise(self) -> float:
        """Standard deviation of white noise on it."""
        return noise_level(self.values)

    @cached_property
    def moves(self) -> bool:
        """Whether its range exceeds its resolution and its noise."""
        # White noise stays within 10 standard deviations, whatever the length of a recording.
        flicker = max(3.5 * self.resolution, 10.0 * self.noise)
        return not self.is_constant and self.range > flicker


@dataclass(frozen=True)
class Limit:
    """Range of a channel in a model.

    Attributes:
        low: Smallest value.
        high: Largest value.
        what: The range in words, such as ``the ctrlrange of the actuator knee``.
        consequence: What a simulation does beyond it, as a clause.
        target: Attribute of the model that holds it; empty for none with the same unit.
        cause: What a value beyond it is as a cause of the error of a fit, as a noun phrase; empty
            for none.
    """

    low: float
    high: float
    what: str
    consequence: str = ""
    target: str = ""
    cause: str = ""


@dataclass(frozen=True, eq=False)
class Recorded:
    """A recording as the checks see it.

    Attributes:
        times: Sample times (n,) [s] as recorded.
        columns: All channels.
        pairs: Pairs (position, velocity) of the same joint, by name.
        responses: Which channel responds to which control, by name; None to detect it.
        first_line: Line of the file that holds the first sample, None to count rows from 1.
        limits: Range of a channel in the model, by name.
        targets: Control and the position that it commands, by name.
    """

    times: Array
    columns: tuple[Channel, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    responses: Mapping[str, str] | None = None
    first_line: int | None = None
    limits: Mapping[str, Limit] = field(default_factory=dict)
    targets: Mapping[str, str] = field(default_factory=dict)
    _named: dict[str, Channel] = field(init=False, repr=False)

    def __post_init__(self):
        usable = {c.name: c for c in self.columns if c.is_finite and c.values.size}
        object.__setattr__(self, "_named", usable)

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Channels with finite values only."""
        return tuple(self._named.values())

    def channel(self, name: str) -> Channel | None:
        """The finite channel of this name, if there is one."""
        return self._named.get(name)

    def of_role(self, *roles: str) -> list[Channel]:
        """Finite channels of some roles."""
        return [c for c in self.channels if c.role in roles]

    @cached_property
    def clock_increases(self) -> bool:
        """Whether the times are finite and strictly increasing, so that slopes are defined."""
        times = self.times
        return bool(
            times.size >= 2
            and np.all(np.isfinite(times))
            and np.all(np.diff(times) > 0)
            and not unusable_steps(times)
        )

    @cached_property
    def typical_step(self) -> float:
        """Median step of a clock that increases [s]."""
        return float(np.median(np.diff(self.times)))

    def place(self, index: int) -> str:
        """Location of a sample for a message: ``line 17`` of the file, or ``row 16``."""
        if self.first_line is None:
            return f"row {index + 1}"
        return f"line {index + self.first_line}"
