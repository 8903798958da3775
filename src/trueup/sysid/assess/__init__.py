"""Checks before a fit; intervals, held-out error and insights after it."""
