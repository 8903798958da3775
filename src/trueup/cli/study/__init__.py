"""``trueup study``."""
