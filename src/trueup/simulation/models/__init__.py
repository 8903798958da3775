"""Model files: read within limits, written with every digit, rendered."""
