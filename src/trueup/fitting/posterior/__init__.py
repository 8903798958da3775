"""Samples of the posterior of a fit, where it is not Gaussian: bounds, ridges, friction."""
