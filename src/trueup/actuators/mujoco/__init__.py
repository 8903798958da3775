"""Identified servos inside MuJoCo as a compiled control law."""
