"""Recordings of an experiment in the names and units of the model."""
