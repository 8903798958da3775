"""Corrections of the joints of a MuJoCo model, trained through its simulated motion."""
