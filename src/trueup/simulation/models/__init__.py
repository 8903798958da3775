"""Model files: checked on reading, written in full precision, rendered."""
