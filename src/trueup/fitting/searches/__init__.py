"""Searches: least squares, CMA-ES, NSGA-II, random and multi-start, by name."""
