"""``trueup gait``."""
