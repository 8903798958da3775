"""Reports, figures and videos of walks."""
