"""Evidence in the samples of a log: units, signs, zeros and efforts of each joint."""
