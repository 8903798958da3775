"""A real axis with published answers: Janot, Gautier and Brunot, "Data Set and Reference Models of
EMPS" (2019)."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from trueup.sysid import identify
from trueup.sysid.experiment.file import load_experiment

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "emps"
PUBLISHED = {"M": 95.1089, "viscous": 203.5034, "coulomb": 20.3935}


@pytest.fixture(scope="module")
def identification(recorded_data, tmp_path_factory):
    """The example's one command, on the first half of the recording."""
    folder = tmp_path_factory.mktemp("emps")
    for name in ("emps.xml", "experiment.yaml"):
        shutil.copy(EXAMPLE / name, folder)
    shutil.copy(recorded_data / "emps" / "DATA_EMPS.mat", folder)
    return identify(load_experiment(folder / "experiment.yaml"), folder, verbose=False)


def test_the_first_half_gives_the_published_values(identification):
    found = identification.solution.parameters
    assert identification.solution.success
    assert found["M"] == pytest.approx(PUBLISHED["M"], rel=0.015)
    assert found["viscous"] == pytest.approx(PUBLISHED["viscous"], rel=0.03)
    assert found["coulomb"] == pytest.approx(PUBLISHED["coulomb"], rel=0.03)


def test_the_interval_of_the_first_half_holds_the_estimate_of_the_second(identification):
    stability = identification.assessment.stability
    low, high = identification.assessment.intervals.T
    inside = (low <= stability.values) & (stability.values <= high)
    said = " ".join(i["sentence"] for i in identification.summary["insights"])
    for name, held in zip(identification.problem.space.names, inside, strict=True):
        assert held or f"{name} is" in said


def test_the_second_half_is_predicted_to_micrometres(identification):
    held_out = next(s for s in identification.assessment.signals if s.held_out)
    position = held_out.channels.index("position")
    error = held_out.measured[:, position] - held_out.fitted[:, position]
    assert np.sqrt(np.mean(error**2)) < 5e-6


def test_the_commands_are_applied_at_the_steps_of_the_controller(identification):
    """The recorded clock jitters by 20 ns about the steps of 1 ms: no sample skips or repeats."""
    window = identification.problem.sequences[0].windows[0]
    recorded = identification.prepared.training[0].control[0].data[:, 0]
    np.testing.assert_array_equal(window.controls[:, 0], recorded[: window.steps])
