"""Experiment files: settings, templates, unknowns, preparation."""
