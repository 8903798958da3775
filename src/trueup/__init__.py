"""trueup makes simulators match reality.

A MuJoCo model and recordings go in; the parameters that make the simulation reproduce the
recordings come out, with an interval for each number. The capabilities are subpackages, loaded on
first use so that ``import trueup`` stays light::

    from trueup import sysid
"""

import importlib
from types import ModuleType

from trueup._version import __version__

_SUBPACKAGES = (
    "errors",
    "fitting",
    "parameters",
    "reports",
    "signals",
    "simulation",
    "studies",
    "sysid",
)

__all__ = ["__version__", *_SUBPACKAGES]


def __getattr__(name: str) -> ModuleType:
    if name in _SUBPACKAGES:
        return importlib.import_module(f"trueup.{name}")
    raise AttributeError(f"module 'trueup' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
