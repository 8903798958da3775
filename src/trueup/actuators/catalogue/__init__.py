"""Servos, their constants and bounds, and identified models as files."""
