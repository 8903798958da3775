"""mjlab: actuator class with the whole servo model, networks, events for draws."""
