"""Families of motions, their limits and files."""
