"""A parameter of a servo or friction model: its name in files, start value, bounds and unit."""

import math
from dataclasses import dataclass, replace

from trueup.errors import ParameterError


@dataclass(frozen=True)
class ModelParameter:
    """A named number of a servo model that a fit may determine."""

    name: str
    """Name in parameter files."""
    initial: float
    """Start value, and the value where a file does not give one."""
    lower: float
    """Lower bound of a fit."""
    upper: float
    """Upper bound of a fit."""
    unit: str = ""
    """Unit of the value and its bounds."""
    description: str = ""
    """What it is."""
    log: bool = False
    """Whether a search moves in its logarithm."""

    def __post_init__(self) -> None:
        numbers = (self.initial, self.lower, self.upper)
        if any(math.isnan(n) for n in numbers) or not self.lower <= self.initial <= self.upper:
            raise ParameterError(
                f"parameter {self.name!r}: start value {self.initial} does not lie within the "
                f"bounds {self.lower} to {self.upper}"
            )
        if self.log and not self.lower > 0:
            raise ParameterError(
                f"parameter {self.name!r}: a logarithmic scale needs a positive lower bound, "
                f"got {self.lower}"
            )

    def within(self, lower: float, upper: float) -> "ModelParameter":
        """The same parameter within other bounds, its start value clipped to them."""
        initial = min(max(self.initial, lower), upper)
        return replace(self, initial=initial, lower=lower, upper=upper)

    def outside(self, value: float) -> bool:
        """Whether a value lies beyond the bounds."""
        return not self.lower <= value <= self.upper
