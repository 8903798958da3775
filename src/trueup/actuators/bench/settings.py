"""Settings of the bench."""

from dataclasses import dataclass
from typing import Annotated, Literal, TypeAlias

from trueup._finite_numbers import check_finite
from trueup._options import Option
from trueup.errors import FitError

Scheme: TypeAlias = Literal["semi-implicit", "bam"]


@dataclass(frozen=True, kw_only=True)
class SimulationSettings:
    """Settings of a simulation of a servo model on a log."""

    scheme: Scheme = "semi-implicit"
    """Integration: semi-implicit, steps of at most 1 ms as in MuJoCo; bam, one explicit step per
    sample as in Better Actuator Models."""
    reset_period: Annotated[float | None, Option("S")] = None
    """Time between resets of position and speed to those of the log [s]; by default no reset."""
    vin: float | None = None
    """Nominal bus voltage [V]; by default that of each log."""

    def __post_init__(self) -> None:
        check_finite(self, FitError)
        for name, limits in (("reset_period", "above 0"), ("vin", "above 0 and at most 1e6 V")):
            if (value := getattr(self, name)) is not None and not value > 0:
                raise FitError(f"{name} is {value}; it must be {limits}")
