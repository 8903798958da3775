"""Uncertainty of a fit: covariance, intervals, profile likelihood."""

from trueup.fitting.uncertainty._estimate import estimate_covariance
from trueup.fitting.uncertainty._methods import METHODS
from trueup.fitting.uncertainty._profile import profile_likelihood
from trueup.fitting.uncertainty.contradiction import contradiction_ratio
from trueup.fitting.uncertainty.covariance import CovarianceEstimate
from trueup.fitting.uncertainty.sequence_fit import SequenceFit

__all__ = [
    "METHODS",
    "CovarianceEstimate",
    "SequenceFit",
    "contradiction_ratio",
    "estimate_covariance",
    "profile_likelihood",
]
