"""Runs of a search over a problem of the user."""
