"""The ``trueup`` command."""

from trueup.cli._main import main

__all__ = ["main"]
