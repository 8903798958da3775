"""Targets: attributes of a model that a parameter sets, resolved, written and verified."""
