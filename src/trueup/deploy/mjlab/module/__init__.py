"""Parts of the module for mjlab: their texts are joined, and never imported.

What a part imports from trueup is written beside it in the module, by
:mod:`trueup.deploy.mjlab.servo`.
"""
