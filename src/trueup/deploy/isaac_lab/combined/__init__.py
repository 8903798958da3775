"""Parts of the module with ``CombinedGRUAndPDActuator``: concatenated, never imported.

Imports of a part from trueup are written into the module too, by
:mod:`trueup.deploy.isaac_lab.combined_network`.
"""
