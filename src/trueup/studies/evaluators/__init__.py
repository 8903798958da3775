"""Where the candidates of a study are evaluated.

An evaluator wraps a problem into one that gives the same answers and computes them elsewhere, so
that every search works with every evaluator.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.studies.evaluators.evaluator import Evaluator
    from trueup.studies.evaluators.local import LocalEvaluator

_EXPORTS = {
    "Evaluator": "trueup.studies.evaluators.evaluator",
    "LocalEvaluator": "trueup.studies.evaluators.local",
}

__all__ = ["Evaluator", "LocalEvaluator"]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
