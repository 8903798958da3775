"""Initial states of windows as unknowns: found by few simulations, and right."""

from pathlib import Path

import numpy as np
import pytest

from trueup.fitting._final_jacobian import final_jacobian
from trueup.fitting._minimise import minimise
from trueup.sysid.demo import EXPERIMENT, TRUE, write_demo
from trueup.sysid.experiment_file import parse_experiment
from trueup.sysid.identification import make_search
from trueup.sysid.preparation import prepare


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("windows")
    write_demo(folder, seed=3)
    text = EXPERIMENT + "window: 1.0\nwindow_states: estimated\n"
    return prepare(parse_experiment(text), folder)


def test_states_of_all_windows_are_perturbed_in_the_same_simulations(prepared):
    space = prepared.problem().space
    windows = 7  # later ones of 8 s; two joints with position and velocity each
    assert space.size == 7 + 4 * windows
    assert int(space.groups.max()) + 1 == 7 + 4


def test_grouped_columns_are_those_of_single_perturbations(prepared):
    problem = prepared.problem()
    x = problem.space.start
    grouped = final_jacobian(problem, x)[1]
    step = 1e-6
    for element in (0, 6, 7, 12, problem.space.size - 1):
        neighbours = np.stack([x, x])
        neighbours[0, element] += step
        neighbours[1, element] -= step
        single = problem.residuals(neighbours)
        slope = problem.space.slope(x)[element]
        expected = (single[0] - single[1]) / (2 * step) * slope
        scale = np.abs(expected).max()
        np.testing.assert_allclose(grouped[:, element], expected, atol=2e-4 * scale)


def test_the_truth_is_found_with_unknown_window_states(prepared):

    problem = prepared.problem()
    search, _ = make_search(prepared.experiment, problem)
    solution = minimise(problem, search)
    assert solution.success
    for name, true in TRUE.items():
        assert solution.parameters[name] == pytest.approx(true, rel=0.03), name
    # weighted by the noise: one for each residual that the unknowns do not absorb
    free = problem.data_rows - problem.space.size
    assert 2 * solution.cost / free == pytest.approx(1.0, abs=0.05)
