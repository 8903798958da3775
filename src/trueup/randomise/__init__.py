"""Draws from the uncertainty of a run, as domain randomisation for simulators.

:func:`export_randomisation` draws from the joint distribution of an identification, checks
each draw by simulation, and writes it for mjlab, Isaac Lab or MuJoCo Playground.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.randomise.randomisation import Randomisation, export_randomisation

_EXPORTS = {
    "Randomisation": "trueup.randomise.randomisation",
    "export_randomisation": "trueup.randomise.randomisation",
}

__all__ = [
    "Randomisation",
    "export_randomisation",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
