"""Options of commands that simulate servo models on logs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from tyro.conf import UseAppendAction, arg

from trueup.cli.study.options import OfRuns

ParameterFiles = UseAppendAction[tuple[tuple[Path, ...], ...]]
"""``--params A --params B`` and ``--params A B``."""

Catalogue = Annotated[Path | None, arg(metavar="FILE")]


@dataclass(frozen=True, kw_only=True)
class SimulationOptions(OfRuns):
    """How logs are read and simulated."""

    scheme: Literal["semi-implicit", "bam"] = "semi-implicit"
    """How the bench steps; bam reproduces Better Actuator Models, one explicit step a sample."""
    reset_period: Annotated[float | None, arg(metavar="S")] = None
    """Take position and speed from the log again after this time [s]."""
    vin: Annotated[float | None, arg(metavar="V")] = None
    """Nominal bus voltage [V] in place of the logs' own."""
    catalogue: Catalogue = None
    """YAML file with further servos."""
    skip_bad_logs: bool = False
    """Leave logs out that cannot be used, rather than refusing them all."""

    @property
    def simulation(self) -> dict[str, Any]:
        """How the bench steps, by the names of the library."""
        return {"scheme": self.scheme, "reset_period": self.reset_period, "vin": self.vin}


def names_in(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())
