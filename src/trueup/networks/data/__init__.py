"""Recordings for networks: reading, checks, resampling, targets and splits."""
