"""Uncertainty, identifiability and verdict of a servo fit."""
