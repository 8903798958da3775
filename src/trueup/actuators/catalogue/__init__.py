"""Catalogue of servos (laws, constants, bounds) and parameter files of identified models."""
