"""Fixtures of the tests of compiled control laws."""

import mujoco
import pytest
from control_law_models import pendulum_spec, pid

from trueup.simulation.control import prepare_spec


@pytest.fixture(scope="session")
def pid_law():
    return pid.on(joints=["hinge"], actuators=["motor"])


@pytest.fixture
def pid_model(pid_law):
    return prepare_spec(pendulum_spec(), pid_law).compile()


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path, monkeypatch):
    """Each test runs in its own folder, leaves no log file and no callback there."""
    monkeypatch.chdir(tmp_path)
    yield
    assert not (tmp_path / "MUJOCO_LOG.TXT").exists()
    assert mujoco.get_mjcb_control() is None
