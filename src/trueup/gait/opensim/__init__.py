"""Models of OpenSim: read, evaluated on their own, and written for MuJoCo."""
