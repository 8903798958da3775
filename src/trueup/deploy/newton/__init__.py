"""Newton: drive with a whole servo, and networks."""
