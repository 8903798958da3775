"""Replay of recorded motions on a model: muscle lengths and moment arms over time."""
