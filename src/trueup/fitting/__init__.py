"""Searches and what they say: problems, least squares, uncertainty, identifiability, scores.

A :class:`Problem` evaluates a batch of candidates; a search such as :class:`LeastSquares` takes it
to a :class:`Solution`::

    import numpy as np
    from trueup import fitting
    from trueup.parameters import Parameter, ParameterDict

    times = np.linspace(0.0, 3.0, 40)
    decay = ParameterDict({"rate": Parameter("rate", 0.5, 0.01, 5.0)})
    problem = fitting.Vectorised(lambda X: np.exp(-X * times) - np.exp(-1.3 * times), decay.space())
    solution = fitting.minimise(problem, fitting.LeastSquares(problem.space))
"""

from trueup.fitting._cma_options import parse_cma_options
from trueup.fitting._final_jacobian import final_jacobian
from trueup.fitting._minimise import Search, minimise
from trueup.fitting._whiteness import (
    HeteroscedasticityTest,
    WhitenessTest,
    heteroscedasticity,
    ljung_box,
    whiteness,
)
from trueup.fitting.cma_es import CmaEs
from trueup.fitting.cma_es_settings import CmaEsSettings
from trueup.fitting.identifiability import (
    CollinearPair,
    Identifiability,
    UnidentifiableDirection,
    WeakDirection,
    analyse,
)
from trueup.fitting.least_squares import LeastSquares, LeastSquaresSettings
from trueup.fitting.losses import LOSSES, Loss
from trueup.fitting.multi_start import MultiStart
from trueup.fitting.problem import (
    LARGE_COST,
    LARGE_RESIDUAL,
    Failures,
    PerCandidate,
    Problem,
    ResidualGroup,
    Vectorised,
    VectorisedCosts,
)
from trueup.fitting.scores import (
    ChannelScore,
    ScoredSequence,
    ScoreRow,
    ScoreTable,
    channel_scores,
    compare_predictors,
)
from trueup.fitting.solution import ParetoFront, Solution, Status
from trueup.fitting.uncertainty import (
    METHODS,
    ChannelNoise,
    CovarianceEstimate,
    ProfileInterval,
    SequenceFit,
    estimate_covariance,
    profile_likelihood,
)

__all__ = [
    "LARGE_COST",
    "LARGE_RESIDUAL",
    "LOSSES",
    "METHODS",
    "ChannelNoise",
    "ChannelScore",
    "CmaEs",
    "CmaEsSettings",
    "CollinearPair",
    "CovarianceEstimate",
    "Failures",
    "HeteroscedasticityTest",
    "Identifiability",
    "LeastSquares",
    "LeastSquaresSettings",
    "Loss",
    "MultiStart",
    "ParetoFront",
    "PerCandidate",
    "Problem",
    "ProfileInterval",
    "ResidualGroup",
    "ScoreRow",
    "ScoreTable",
    "ScoredSequence",
    "Search",
    "SequenceFit",
    "Solution",
    "Status",
    "UnidentifiableDirection",
    "Vectorised",
    "VectorisedCosts",
    "WeakDirection",
    "WhitenessTest",
    "analyse",
    "channel_scores",
    "compare_predictors",
    "estimate_covariance",
    "final_jacobian",
    "heteroscedasticity",
    "ljung_box",
    "minimise",
    "parse_cma_options",
    "profile_likelihood",
    "whiteness",
]
