"""Newton: drive with the whole servo model, and networks."""
