"""Evaluators of the candidates of a study.

An evaluator wraps a problem in one with the same answers computed elsewhere, so that every search
works with every evaluator.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.runs.evaluators._make import make_evaluator
    from trueup.runs.evaluators.dask_cluster import DaskCluster
    from trueup.runs.evaluators.evaluator import Evaluator
    from trueup.runs.evaluators.local import LocalEvaluator
    from trueup.runs.evaluators.process_pool import ProcessPool

_EXPORTS = {
    "DaskCluster": "trueup.runs.evaluators.dask_cluster",
    "Evaluator": "trueup.runs.evaluators.evaluator",
    "LocalEvaluator": "trueup.runs.evaluators.local",
    "ProcessPool": "trueup.runs.evaluators.process_pool",
    "make_evaluator": "trueup.runs.evaluators._make",
}

__all__ = ["DaskCluster", "Evaluator", "LocalEvaluator", "ProcessPool", "make_evaluator"]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
