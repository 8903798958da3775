"""Robot of a designed recording, and the information of its motions."""
