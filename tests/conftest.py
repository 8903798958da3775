"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest

# Hundreds of processes that tests start import the package: each would compile it anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(scope="session")
def recorded_data() -> Path:
    """Folder of real recordings; tests that need it are skipped where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TRUEUP_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no recordings at {folder}: set TRUEUP_DATA to their folder")
    return folder
