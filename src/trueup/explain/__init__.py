"""Causes of the gap between a log and a simulation.

:func:`explain` attributes the gap between simulated and recorded motion to causes, such as a delay,
friction or a payload, and reports the change that reduces it most.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.explain._explain import explain
    from trueup.explain.causes import CAUSES, Cause, Unknown

_EXPORTS = {
    "CAUSES": "trueup.explain.causes",
    "Cause": "trueup.explain.causes",
    "Unknown": "trueup.explain.causes",
    "explain": "trueup.explain._explain",
}

__all__ = [
    "CAUSES",
    "Cause",
    "Unknown",
    "explain",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
