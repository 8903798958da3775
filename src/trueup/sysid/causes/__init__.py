"""Causes of the error that a fit leaves, each tested by freeing it."""
