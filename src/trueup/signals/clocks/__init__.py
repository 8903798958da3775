"""Clocks of recordings: one for several streams, even ones, gaps and repair."""
