"""A parameter of a servo or friction model: its name in files, start value, bounds and unit."""

import math
from dataclasses import dataclass, replace

from trueup.errors import ParameterError


@dataclass(frozen=True)
class ModelParameter:
    """Parameter of a servo model that a fit can estimate."""

    name: str
    """Name in parameter files."""
    initial: float
    """Start value, and default for files without the parameter."""
    lower: float
    """Lower bound of a fit."""
    upper: float
    """Upper bound of a fit."""
    unit: str = ""
    """Unit of the value and its bounds."""
    description: str = ""
    """Description."""
    log: bool = False
    """Whether the search uses its logarithm."""

    def __post_init__(self) -> None:
        numbers = (self.initial, self.lower, self.upper)
        if any(math.isnan(n) for n in numbers) or not self.lower <= self.initial <= self.upper:
            raise ParameterError(
                f"parameter {self.name!r}: start value {self.initial} is outside the "
                f"bounds {self.lower} to {self.upper}"
            )
        if self.log and not self.lower > 0:
            raise ParameterError(
                f"parameter {self.name!r}: a logarithmic scale requires a positive lower bound, "
                f"got {self.lower}"
            )

    def within(self, lower: float, upper: float) -> "ModelParameter":
        """Copy with other bounds, and the start value clipped to them."""
        initial = min(max(self.initial, lower), upper)
        return replace(self, initial=initial, lower=lower, upper=upper)

    def outside(self, value: float) -> bool:
        """Whether a value is outside the bounds."""
        return not self.lower <= value <= self.upper
