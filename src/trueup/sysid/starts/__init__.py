"""Starts of a search, from recorded torques and from data that it has not seen."""
