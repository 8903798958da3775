"""Files and figures of an identification."""
