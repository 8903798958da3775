"""Parameter estimation: problems, searches, uncertainty, identifiability, scores.

A :class:`Problem` evaluates a batch of candidates; a search such as :class:`LeastSquares` finds
its :class:`Solution`::

    import numpy as np
    from trueup import fitting
    from trueup.parameters import Parameter, ParameterDict

    times = np.linspace(0.0, 3.0, 40)
    decay = ParameterDict({"rate": Parameter("rate", 0.5, 0.01, 5.0)})
    problem = fitting.Vectorised(lambda X: np.exp(-X * times) - np.exp(-1.3 * times), decay.space())
    solution = fitting.minimise(problem, fitting.LeastSquares(problem.space))
"""

from typing import TYPE_CHECKING

from trueup._lazy import lazy_exports
from trueup.fitting._minimise import Search, minimise
from trueup.fitting.cma_es import CmaEs, CmaEsSettings
from trueup.fitting.cma_es.options import parse_cma_options
from trueup.fitting.judgement import baselines
from trueup.fitting.judgement._whiteness import heteroscedasticity, ljung_box, whiteness
from trueup.fitting.judgement.identifiability import Identifiability, analyse
from trueup.fitting.judgement.rules import Estimates, SearchEnd, judge, judge_search
from trueup.fitting.judgement.verdict import Comparison, Criterion, Grade, Reason, Verdict
from trueup.fitting.linearisation import final_jacobian
from trueup.fitting.losses import LOSSES, Loss
from trueup.fitting.problem import (
    LARGE_COST,
    LARGE_RESIDUAL,
    Failures,
    PerCandidate,
    Problem,
    Vectorised,
    VectorisedCosts,
)
from trueup.fitting.searches._make_search import make_search
from trueup.fitting.searches.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.searches.methods import SEARCH_METHODS, SearchMethod
from trueup.fitting.searches.nsga2 import NSGA2, NSGA2Settings
from trueup.fitting.searches.pareto import compromise, dominates, hypervolume, pareto_front
from trueup.fitting.searches.random import RandomSearch
from trueup.fitting.solution import ParetoFront, Solution, Status
from trueup.fitting.uncertainty import METHODS, SequenceFit, estimate_covariance

if TYPE_CHECKING:
    from trueup.fitting import test_problems, uncertainty

__all__ = [
    "LARGE_COST",
    "LARGE_RESIDUAL",
    "LOSSES",
    "METHODS",
    "NSGA2",
    "SEARCH_METHODS",
    "CmaEs",
    "CmaEsSettings",
    "Comparison",
    "Criterion",
    "Estimates",
    "Failures",
    "Grade",
    "Identifiability",
    "LeastSquares",
    "LeastSquaresSettings",
    "Loss",
    "NSGA2Settings",
    "ParetoFront",
    "PerCandidate",
    "Problem",
    "RandomSearch",
    "Reason",
    "Search",
    "SearchEnd",
    "SearchMethod",
    "SequenceFit",
    "Solution",
    "Status",
    "Vectorised",
    "VectorisedCosts",
    "Verdict",
    "analyse",
    "baselines",
    "compromise",
    "dominates",
    "estimate_covariance",
    "final_jacobian",
    "heteroscedasticity",
    "hypervolume",
    "judge",
    "judge_search",
    "ljung_box",
    "make_search",
    "minimise",
    "pareto_front",
    "parse_cma_options",
    "test_problems",
    "uncertainty",
    "whiteness",
]

_PACKAGES = {
    "cma_es": "trueup.fitting.cma_es",
    "test_problems": "trueup.fitting.test_problems",
    "uncertainty": "trueup.fitting.uncertainty",
}

__getattr__, __dir__ = lazy_exports(__name__, globals(), _PACKAGES)
