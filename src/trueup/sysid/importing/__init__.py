"""Import of robot logs as experiment files: columns, units, joints, proposed parameters."""
