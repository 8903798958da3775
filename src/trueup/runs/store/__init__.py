"""Run directories: atomic files, history, locks, provenance."""
