"""MuJoCo: a script of the compiled law, and MJCF without code."""
