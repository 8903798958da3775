"""Isaac Lab: actuator configurations and classes, networks, events for draws."""
