"""Conditions of a comparison: the same search with a device on, carried but off, and without it."""

CONDITIONS = ("with", "off", "without")
"""Conditions: device on, device carried but off, no device."""

CONDITION_NAMES = {"with": "device on", "off": "device carried but off", "without": "no device"}
"""Condition -> its name in texts."""
