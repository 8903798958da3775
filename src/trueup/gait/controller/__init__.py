"""Reflex controller and exoskeleton controller, described as data and compiled."""
