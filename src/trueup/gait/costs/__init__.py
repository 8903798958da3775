"""Costs of a walk, metabolic power and reference gaits."""
