"""Evaluators of the candidates of a study.

An evaluator wraps a problem into one that gives the same answers and computes them elsewhere, so
that every search works with every evaluator.
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports

if TYPE_CHECKING:
    from trueup.studies.evaluators._make import make_evaluator
    from trueup.studies.evaluators.dask_cluster import DaskCluster
    from trueup.studies.evaluators.evaluator import Evaluator
    from trueup.studies.evaluators.local import LocalEvaluator
    from trueup.studies.evaluators.process_pool import ProcessPool

_EXPORTS = {
    "DaskCluster": "trueup.studies.evaluators.dask_cluster",
    "Evaluator": "trueup.studies.evaluators.evaluator",
    "LocalEvaluator": "trueup.studies.evaluators.local",
    "ProcessPool": "trueup.studies.evaluators.process_pool",
    "make_evaluator": "trueup.studies.evaluators._make",
}

__all__ = ["DaskCluster", "Evaluator", "LocalEvaluator", "ProcessPool", "make_evaluator"]

__getattr__, __dir__ = lazy_exports(__name__, globals(), _EXPORTS)
