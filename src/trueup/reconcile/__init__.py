"""Comparison of runs of one robot, or of a fleet.

:func:`reconcile` reports the common values of all runs, the spread of the others, and runs that
do not fit; :func:`fit_jointly` fits consistent runs together.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.reconcile.joint_fit import fit_jointly
    from trueup.reconcile.reconciled import reconcile

_EXPORTS = {
    "fit_jointly": "trueup.reconcile.joint_fit",
    "reconcile": "trueup.reconcile.reconciled",
}

__all__ = [
    "fit_jointly",
    "reconcile",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
