"""Columns of a log: their names, families and roles, and what the model has for them."""
