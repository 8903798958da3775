"""Recordings of servos: files, resampling, checks and splits."""
