"""Parameter distributions of finished runs, and joint draws from them.

:func:`identified_run` reads a finished identification; :class:`Draws` are joint draws of parameters
with names, units and targets in a model.
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
