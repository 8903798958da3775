"""Knowledge that finished runs hold: distributions of their parameters, and draws from them.

:func:`identified_run` reads a finished identification; ``Belief`` is a Gaussian within bounds,
:class:`Draws` are joint draws of parameters with names, units and places in a model.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.knowledge.draws import Draws
    from trueup.knowledge.identified import identified_run

_EXPORTS = {
    "Draws": "trueup.knowledge.draws",
    "identified_run": "trueup.knowledge.identified",
}

__all__ = [
    "Draws",
    "identified_run",
]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
