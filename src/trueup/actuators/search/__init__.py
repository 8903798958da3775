"""Identification of a servo model: problem, search, assessment, comparison."""
