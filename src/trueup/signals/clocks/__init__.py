"""Clocks of recordings: common clocks, uniform clocks, gaps and repair."""
