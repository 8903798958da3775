"""Identified servos as MJCF and as Isaac Lab configurations."""
