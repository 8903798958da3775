"""Experiment files: settings, templates, parameters, preparation."""
