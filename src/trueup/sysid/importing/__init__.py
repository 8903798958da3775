"""Logs of robots as experiment files: columns, units, joints, proposed unknowns."""
