"""Scores, baselines, identifiability, and the verdict on a result."""
