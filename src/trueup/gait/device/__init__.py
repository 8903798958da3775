"""Comparison of walks with a device, with it off, and without it."""
