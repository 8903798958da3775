"""Training through a simulated joint: from command and angle, without a measured torque."""
