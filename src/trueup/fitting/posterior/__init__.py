"""Samples of the posterior of a fit, where it is not Gaussian: bounds, ridges, friction."""

from trueup.fitting.posterior.likelihood import NoiseLikelihood
from trueup.fitting.posterior.sampler import PosteriorSampler
from trueup.fitting.posterior.samples import PosteriorSamples

__all__ = ["NoiseLikelihood", "PosteriorSampler", "PosteriorSamples"]
