"""Puts the helpers of this folder on the path of the tests in its rooms."""
