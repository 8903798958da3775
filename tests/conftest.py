"""Fixtures shared by all tests."""

import gc
import os
import signal
from pathlib import Path

import hypothesis
import pytest

# As many workers as cores: threads of the linear algebra would only wait for each other, and burn
# a tenth of the time. Before numpy is imported; processes that tests start inherit it.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(name, "1")

pytest_plugins = ["finished_runs"]

# Hundreds of processes that tests start import the package: each would compile it anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# A shell starts what runs in the background of a script with SIGINT ignored, which child processes
# inherit: tests that interrupt a run would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# An example takes longer on a busy machine, and longest in the first call of compiled code.
hypothesis.settings.register_profile("trueup", deadline=None)
hypothesis.settings.load_profile("trueup")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Collect without looking for garbage: what is collected stays until the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture(scope="session")
def recorded_data() -> Path:
    """Folder of real recordings; tests that need it are skipped where it is absent."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("TRUEUP_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no recordings at {folder}: set TRUEUP_DATA to their folder")
    return folder
