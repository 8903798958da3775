"""Forces of converted muscles, compared with those of OpenSim."""
