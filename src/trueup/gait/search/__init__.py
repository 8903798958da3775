"""Configuration, problem and searches of a gait optimisation."""
