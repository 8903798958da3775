"""Identified servos in MuJoCo, as a compiled control law."""
