"""Reports and figures of servo fits."""
