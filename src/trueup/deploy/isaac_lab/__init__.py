"""Isaac Lab: actuator configurations and classes, networks, events of draws."""
