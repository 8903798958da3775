"""Walkers, their anatomy, the ground and attached devices."""
