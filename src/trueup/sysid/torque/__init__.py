"""Inverse dynamics: joint torques from recorded motion, linear in the parameters of the links."""
