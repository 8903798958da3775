"""Targets: places in a model that a parameter sets, resolved, written and verified."""
