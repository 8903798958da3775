"""Make simulators match reality: system identification with MuJoCo.

From a MuJoCo model and recordings, estimate the parameters with which the simulation reproduces the
recordings, with a confidence interval for each. The subpackages are attributes that are imported on
first use, so that ``import trueup`` is fast::

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
        deploy,
        design,
        errors,
        explain,
        fitting,
        gait,
        knowledge,
        networks,
        parameters,
        randomise,
        reconcile,
        reports,
        runs,
        signals,
        simulation,
        sysid,
    )

_EXPORTS = {
    "actuators": "trueup.actuators",
    "cli": "trueup.cli",
    "deploy": "trueup.deploy",
    "design": "trueup.design",
    "errors": "trueup.errors",
    "explain": "trueup.explain",
    "fitting": "trueup.fitting",
    "gait": "trueup.gait",
    "knowledge": "trueup.knowledge",
    "networks": "trueup.networks",
    "parameters": "trueup.parameters",
    "randomise": "trueup.randomise",
    "reconcile": "trueup.reconcile",
    "reports": "trueup.reports",
    "runs": "trueup.runs",
    "signals": "trueup.signals",
    "simulation": "trueup.simulation",
    "sysid": "trueup.sysid",
}

__all__ = [
    "__version__",
    "actuators",
    "cli",
    "deploy",
    "design",
    "errors",
    "explain",
    "fitting",
    "gait",
    "knowledge",
    "networks",
    "parameters",
    "randomise",
    "reconcile",
    "reports",
    "runs",
    "signals",
    "simulation",
    "sysid",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
