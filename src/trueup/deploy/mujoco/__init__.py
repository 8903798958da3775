"""MuJoCo: a script with the compiled law, and MJCF without code."""
