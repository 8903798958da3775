"""Recordings that small trainings share."""

from pathlib import Path

import pytest

from trueup.networks import SyntheticSettings, synthesize


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    """Synthetic recordings of two groups."""
    folder = tmp_path_factory.mktemp("recordings") / "data"
    synthesize(SyntheticSettings(inertias=(0.05, 0.083), duration=6.0), folder)
    return folder
