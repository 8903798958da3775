"""trueup makes simulators match reality.

A MuJoCo model and recordings go in; the parameters that make the simulation reproduce the
recordings come out, with an interval for each number. The subpackages are attributes that load on
first use, so that ``import trueup`` stays light::

    import trueup

    trueup.sysid.identify
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports
from trueup._version import __version__

if TYPE_CHECKING:
    from trueup import (
        actuators,
        cli,
        errors,
        fitting,
        gait,
        networks,
        parameters,
        posterior,
        reports,
        runs,
        signals,
        simulation,
        studies,
        sysid,
    )

_EXPORTS = {
    "actuators": "trueup.actuators",
    "cli": "trueup.cli",
    "errors": "trueup.errors",
    "fitting": "trueup.fitting",
    "gait": "trueup.gait",
    "networks": "trueup.networks",
    "parameters": "trueup.parameters",
    "posterior": "trueup.posterior",
    "reports": "trueup.reports",
    "runs": "trueup.runs",
    "signals": "trueup.signals",
    "simulation": "trueup.simulation",
    "studies": "trueup.studies",
    "sysid": "trueup.sysid",
}

__all__ = [
    "__version__",
    "actuators",
    "cli",
    "errors",
    "fitting",
    "gait",
    "networks",
    "parameters",
    "posterior",
    "reports",
    "runs",
    "signals",
    "simulation",
    "studies",
    "sysid",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
