"""Parts of the module with ``CombinedGRUAndPDActuator``: their texts are joined, never imported.

What a part imports from trueup is written beside it in the module, by
:mod:`trueup.deploy.isaac_lab.combined_network`.
"""
