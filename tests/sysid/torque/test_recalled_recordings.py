"""What steps of a fit to torques share is what each of them would compute alone."""

from dataclasses import replace

import numpy as np
import pytest
from test_reduced_torques import MOTORS, write

from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.torque.bandwidth import choose_bandwidth
from trueup.sysid.torque.problem import TorqueProblem
from trueup.sysid.torque.setup import torque_problem, torque_setup


@pytest.fixture
def prepared(tmp_path):
    held_out = "held_out: {recordings: [second]}\n"
    experiment = write(tmp_path, MOTORS, "", held_out)
    method = experiment.search.model_copy(update={"method": "least-squares"})
    return prepare(experiment.model_copy(update={"search": method}), tmp_path)


def arrays(data):
    return [
        each
        for part in data
        for each in (*vars(part.motion).values(), part.links, part.slides)
        if isinstance(each, np.ndarray)
    ]


@pytest.mark.parametrize("changes", [{}, {"held": True}, {"rest": None}, {"corner": 2.0}, "slow"])
def test_recalled_recordings_are_those_that_are_computed_anew(prepared, changes):
    chosen = choose_bandwidth(prepared.training, prepared.held_out)
    assert chosen.recalled is not None
    changes = {"slowest": 3.0 * chosen.slowest} if changes == "slow" else changes
    for groups in (prepared.training, prepared.held_out):
        before = chosen.torque_data(groups)
        assert before[0].links is chosen.torque_data(groups)[0].links
        found = replace(chosen, **changes).torque_data(groups)
        expected = replace(chosen, **changes, recalled=None).torque_data(groups)
        for a, b in zip(arrays(found), arrays(expected), strict=True):
            np.testing.assert_array_equal(a, b)


def test_problems_of_all_recordings_share_a_model_of_the_same_parameters(prepared):
    problem = torque_problem(prepared)
    other = torque_problem(prepared, sequences=prepared.held_out)
    assert other.variants[0] is problem.variants[0]
    assert [s.name for s in other.sequences] == ["second"]
    setup, x = torque_setup(prepared), problem.space.start[None]
    alone = TorqueProblem(
        prepared.parameters, prepared.held_out, setup.bandwidth, setup.noise, setup.driven
    )
    np.testing.assert_array_equal(other.residuals(x), alone.residuals(x))
    prepared.parameters["damping_shoulder"].max_value = np.array([9.0])
    wider = torque_problem(prepared)
    assert 9.0 in wider.space.upper and 9.0 not in problem.space.upper
