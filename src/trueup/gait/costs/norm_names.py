"""Names of norms that are not files."""

ADULT = "adult"
"""Norm of adult walking on level ground, shipped with the package."""
