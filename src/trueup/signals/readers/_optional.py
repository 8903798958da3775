"""Imports of the packages that only some formats need."""

import importlib
from typing import Any

from trueup.errors import MissingExtraError


def import_optional(module: str, purpose: str, package: str) -> Any:
    """Import a module of the ``readers`` extra.

    Raises:
        MissingExtraError: The package is not installed; the message says how to get it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(purpose, "readers", package) from error
