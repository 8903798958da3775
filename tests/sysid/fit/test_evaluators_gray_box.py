"""A gray-box problem travels to worker processes, with every digit of its model."""

import pickle

import numpy as np
import pytest
from recorded_models import PENDULUM, recording, wobble

from trueup.errors import EvaluationError, ModelError
from trueup.fitting import minimise
from trueup.fitting.searches.least_squares import LeastSquares
from trueup.parameters import Parameter, ParameterDict
from trueup.runs.evaluators import ProcessPool
from trueup.simulation.measured.measurement import GainOrBias, MeasurementModel
from trueup.sysid.fit.problem import GrayBoxProblem


def _true_model(spec):
    spec.joint("pivot").damping[0] = 0.3
    spec.joint("pivot").armature = 0.123456789  # more digits than MJCF text has


def _problem(n=300):
    unknowns = ParameterDict()
    unknowns.add(Parameter("damping", 0.15, 0.01, 1.0, target="joint/pivot/damping"))
    unknowns.add(Parameter("armature", 0.08, 0.001, 0.2, target="joint/pivot/armature"))
    unknowns.add(Parameter("offset", 0.01, -0.1, 0.1))
    unknowns.add(Parameter("delay", 0.001, 0.0, 0.02))
    measurement = MeasurementModel(
        delays={1: "delay"},
        changes=(GainOrBias("offset", np.array([0]), np.array([0]), False, True, False),),
    )
    sequences = [recording(PENDULUM, wobble(n), [0.4], edit=_true_model)]
    return GrayBoxProblem(unknowns, sequences, measurement=measurement)


def test_a_copy_that_travelled_gives_the_same_residuals():
    problem = _problem()
    low, high = problem.space.lower, problem.space.upper
    X = np.random.default_rng(2).uniform(low, high, (5, problem.space.size))
    expected = problem.residuals(X)
    copy = pickle.loads(pickle.dumps(problem))
    copy.limit_threads(1)
    assert copy.residuals(X).tobytes() == expected.tobytes()
    assert problem.residuals(X).tobytes() == expected.tobytes()
    assert [group.engine.n_threads for group in copy._groups] == [1]


def test_a_fit_on_a_pool_equals_that_in_this_process():
    problem = _problem(100)
    alone = minimise(problem, LeastSquares(problem.space))
    with ProcessPool(2).over(problem) as remote:
        pooled = minimise(remote, LeastSquares(remote.space))
    assert pooled.x.tobytes() == alone.x.tobytes()


def _set_damping(spec, parameter):
    spec.joint("pivot").damping[0] = parameter.value[0]


def test_a_model_that_is_compiled_for_each_candidate_stays_here():
    unknowns = ParameterDict()
    unknowns.add(Parameter("damping", 0.15, 0.01, 1.0, modifier=_set_damping))
    problem = GrayBoxProblem(unknowns, [recording(PENDULUM, wobble(100), [0.4])])
    with (
        pytest.raises(EvaluationError, match=r"modifier or build_model .* use targets"),
        ProcessPool(2).over(problem),
    ):
        pass
    with pytest.raises(ModelError, match="MjSpec cannot be pickled"):
        pickle.dumps(problem)
