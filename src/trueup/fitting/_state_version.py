"""The version of a saved search, checked before anything else of it is read."""

from typing import Any

from trueup.errors import FitError


def require_version(state: dict[str, Any], version: int, search: str) -> None:
    """Refuse the state of another version.

    Raises:
      FitError: with the version found and the one that can be read.
    """
    if state.get("version") != version:
        raise FitError(
            f"the saved {search} has state version {state.get('version')}, this version of trueup "
            f"reads {version}: continue it with the version of trueup that saved it, or start the "
            "study again"
        )
