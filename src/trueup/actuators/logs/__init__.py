"""Servo logs: files, checks, resampling, findings and splits."""
