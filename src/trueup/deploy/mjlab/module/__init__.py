"""Parts of the module for mjlab: concatenated, never imported.

Imports of a part from trueup are written into the module too, by
:mod:`trueup.deploy.mjlab.servo`.
"""
