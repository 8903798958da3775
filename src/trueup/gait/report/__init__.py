"""Report, figures and films of a walk."""
