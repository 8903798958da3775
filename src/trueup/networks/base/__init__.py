"""Analytic bases that a network corrects."""
