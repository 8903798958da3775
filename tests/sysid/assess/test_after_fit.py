"""What follows a fit keeps to its time, and says what it left out."""

import mujoco
import numpy as np
import pytest
from recorded_models import PENDULUM, recording, wobble

from trueup.fitting import minimise
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.fitting.solution import Status
from trueup.parameters import Parameter, ParameterDict
from trueup.runs import RunDirectory
from trueup.sysid.assess.assessment import assess
from trueup.sysid.assess.stability import check_stability
from trueup.sysid.fit._inner_fit import AfterFit
from trueup.sysid.fit.problem import GrayBoxProblem
from trueup.sysid.results.outputs import write_models


def problem_of(seed: int) -> GrayBoxProblem:
    unknowns = ParameterDict()
    unknowns.add(Parameter("damping", 0.15, 0.01, 1.0, target="joint/pivot/damping"))
    unknowns.add(Parameter("armature", 0.02, 0.001, 0.2, target="joint/pivot/armature"))
    group = recording(PENDULUM, wobble(400), [0.3 + 0.1 * seed])
    data = group.measured_rollout[0].sensordata.data
    data += np.random.default_rng(seed).normal(size=data.shape) * 1e-3
    return GrayBoxProblem(unknowns, [group])


class Counted:
    """A problem that counts its candidates."""

    def __init__(self, problem):
        self.problem, self.candidates = problem, 0

    def __getattr__(self, name):
        return getattr(self.problem, name)

    def residual_blocks(self, X, failures):
        self.candidates += len(X)
        return self.problem.residual_blocks(X, failures)


def test_a_time_limit_leaves_no_jacobian_to_be_simulated():
    problem = Counted(problem_of(0))
    search = LeastSquares(problem.space)
    solution = minimise(problem.problem, search)
    solution.status = Status.TIME_LIMIT
    solution.stats.update(seconds=1000.0, evaluations=10)
    found = assess(
        problem,
        problem.space.start,
        solution,
        time=AfterFit(1000.0, 1000.0),
        information=search.gram,
    )
    assert problem.candidates == 1
    assert np.isnan(found.intervals).all() and found.covariance.method == "none"
    assert set(found.identifiability.determined) == {"damping", "armature"}


def test_one_step_finds_what_a_second_fit_finds():
    problem, other = problem_of(0), Counted(problem_of(1))
    solution = minimise(problem, LeastSquares(problem.space))
    covariance = assess(problem, problem.space.start, solution).covariance
    whole = check_stability(other, solution.x, covariance, 0.95)
    before, other.candidates = other.candidates, 0
    step = check_stability(
        other, solution.x, covariance, 0.95, time_limit=2.0, seconds_a_jacobian=1.5
    )
    assert other.candidates == 3 < before
    np.testing.assert_allclose(step.values, whole.values, rtol=1e-4)
    np.testing.assert_allclose(step.half_widths, whole.half_widths, rtol=0.05)
    # where not even that is affordable, nothing is said
    late = check_stability(
        other, solution.x, covariance, 0.95, time_limit=1.0, seconds_a_jacobian=1.5
    )
    assert late is None


@pytest.mark.parametrize(("apart", "is_said"), [(1.2, False), (1.6, False), (2.1, True)])
def test_estimates_contradict_each_other_beyond_what_chance_gives_any_of_them(apart, is_said):
    """At a ratio of 1, one fit of two unknowns in ten would be called wrong."""
    problem = problem_of(0)
    solution = minimise(problem, LeastSquares(problem.space))
    covariance = assess(problem, problem.space.start, solution).covariance
    x = solution.x + apart * np.sqrt(2.0) * covariance.half_widths * [1.0, 0.0]
    found = check_stability(problem, x, covariance, 0.95)
    assert found.ratios[0] == pytest.approx(apart, rel=0.05)
    assert len(found.sentences) == is_said
    assert all("an error of the model" in s and s.startswith("damping") for s in found.sentences)
    # which nobody knows before the training cost is compared at the other values
    untested = check_stability(problem, x, covariance, 0.95, was_compared=False)
    assert all("another optimum" in s for s in untested.sentences)


@pytest.mark.parametrize("full", [False, True])
def test_the_identified_model_is_the_one_that_was_read(full, tmp_path):
    problem = problem_of(0)
    solution = minimise(problem, LeastSquares(problem.space))
    text = PENDULUM.replace("<worldbody>", '<worldbody><site name="mark"/>')
    specs = {problem.variants[0].name: mujoco.MjSpec.from_string(text)} if full else None
    directory = RunDirectory(tmp_path)
    write_models(problem, solution, directory, specs)
    written = mujoco.MjModel.from_xml_path(str(directory.model(problem.variants[0].name)))
    assert written.nsite == int(full)
    assert written.dof_armature[0] == pytest.approx(solution.parameters["armature"])
