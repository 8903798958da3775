"""Simulated walks: start, perturbations, the compiled loop, recorded series."""
