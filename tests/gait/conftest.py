"""Fixtures of the tests of gait."""

import json

import numpy as np
import pytest

from trueup.gait import FourParameterProfile, Walker, WalkSettings, WalkSimulation

MODEL = "myoassist/models/22muscle_2D/myoLeg22_2D_TUTORIAL.xml"


@pytest.fixture(scope="session")
def tutorial_walker(recorded_data):
    """MyoAssist's planar model with its exoskeleton."""
    return Walker.load(recorded_data / MODEL)


@pytest.fixture(scope="session")
def tutorial_vector(recorded_data):
    """The parameter vector of MyoAssist's tutorial ``(81,)``."""
    (path,) = (recorded_data / "myoassist/tutorial").glob("*_Best.txt")
    return np.loadtxt(path)


@pytest.fixture(scope="session")
def golden(recorded_data):
    """Recorded run and costs of MyoAssist for a version of MuJoCo."""

    def read(version="3.17.0"):
        stem = recorded_data / f"golden/myoassist_tutorial_mujoco{version}"
        with np.load(f"{stem}.npz") as content:
            arrays = {name: content[name] for name in content}
        return arrays, json.loads(stem.with_name(stem.name + ".json").read_text())

    return read


@pytest.fixture(scope="session")
def compat_simulation(tutorial_walker):
    """Simulations of the tutorial as MyoAssist runs it."""

    def make(duration, **changes):
        settings = {"delayed": False, "compat": True, "max_torque": 100.0, "threads": 1}
        settings |= {"duration": duration, **changes}
        return WalkSimulation(
            tutorial_walker, WalkSettings(**settings), profile=FourParameterProfile(strict=True)
        )

    return make
