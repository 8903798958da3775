"""Scaling of OpenSim models to a person."""
