"""Names of norms that are no files."""

ADULT = "adult"
"""Norm of adults who walk on level ground, shipped with the package."""
