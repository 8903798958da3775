"""Readers of recordings, one module per format, and their registry."""

from trueup.signals.readers.contents import Contents, Table
from trueup.signals.readers.registry import register_reader

__all__ = ["Contents", "Table", "register_reader"]
