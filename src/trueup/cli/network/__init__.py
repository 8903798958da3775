"""``trueup network``."""
