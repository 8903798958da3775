"""Recordings of a model's signals, and the measurement model between both."""
