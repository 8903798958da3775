"""trueup makes simulators match reality.

A MuJoCo model and recordings go in; the parameters that make the simulation reproduce the
recordings come out, with an interval for each number. The capabilities are subpackages, loaded on
first use so that ``import trueup`` stays light::

    from trueup import sysid
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports
from trueup._version import __version__

if TYPE_CHECKING:
    from trueup import (
        errors,
        fitting,
        parameters,
        reports,
        runs,
        signals,
        simulation,
        studies,
        sysid,
    )

_EXPORTS = {
    "errors": "trueup.errors",
    "fitting": "trueup.fitting",
    "parameters": "trueup.parameters",
    "reports": "trueup.reports",
    "runs": "trueup.runs",
    "signals": "trueup.signals",
    "simulation": "trueup.simulation",
    "studies": "trueup.studies",
    "sysid": "trueup.sysid",
}

__all__ = [
    "__version__",
    "errors",
    "fitting",
    "parameters",
    "reports",
    "runs",
    "signals",
    "simulation",
    "studies",
    "sysid",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
