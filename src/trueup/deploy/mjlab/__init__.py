"""mjlab: actuator class with a whole servo, networks, events of draws."""
