"""Design of the next recording of a robot."""
