"""Models of OpenSim: reading, evaluation without MuJoCo, and conversion to MuJoCo."""
