"""The loop of a search: budget, progress, interrupts, warm starts."""
