"""Models that have a name rather than a file."""

OWN_MODELS = {"planar22": False, "planar22_exo": True}
"""Name -> whether the model carries an exoskeleton."""
