"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def recorded_data() -> Path:
    """Folder of real recordings; tests that need it are skipped where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TRUEUP_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no recordings at {folder}: set TRUEUP_DATA to their folder")
    return folder


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of a file in one process: what they share is made and compiled once.

    Tests marked ``spread`` share nothing and fill the processes up at the end.
    """
    for item in items:
        if item.get_closest_marker("spread") is None:
            item.add_marker(pytest.mark.xdist_group(str(item.path)))
