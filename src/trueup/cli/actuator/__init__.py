"""``trueup actuator``."""
