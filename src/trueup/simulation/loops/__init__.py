"""Closed chains: states of joints that were not measured, and forces without the constraint."""
