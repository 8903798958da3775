"""The contract of problems, and the final Jacobian."""

import fitting_problems as zoo
import numpy as np
import pytest

from trueup.fitting import _final_jacobian as module
from trueup.fitting._final_jacobian import final_jacobian
from trueup.fitting.box_step import box_step
from trueup.fitting.linearisation import difference_points, linearise
from trueup.fitting.losses import Loss
from trueup.fitting.problem import LARGE_RESIDUAL, PerCandidate, Problem, Vectorised


class _Blocks(Problem):
    """The residual of another problem in blocks of three rows."""

    def __init__(self, whole, fail=()):
        self.whole, self.space, self.data_rows = whole, whole.space, whole.data_rows
        self.fail = fail

    def residual_blocks(self, X, failures):
        values = self.whole.residuals(X)
        for first in range(0, self.data_rows, 3):
            if first >= 3:  # found out in the second block
                failures.update(dict.fromkeys(self.fail, "late"))
            rows = slice(first, min(first + 3, self.data_rows))
            yield rows, values[:, rows]


def test_residuals_and_costs_of_blocks_are_those_of_the_whole():
    whole = zoo.problem(zoo.bard, [1.0, 1.0, 1.0])
    X = np.random.default_rng(0).uniform(0.5, 2, (4, 3))
    blocks = _Blocks(whole)
    np.testing.assert_array_equal(blocks.residuals(X), zoo.bard(X))
    np.testing.assert_allclose(blocks.costs(X)[:, 0], 0.5 * (zoo.bard(X) ** 2).sum(axis=1))


def test_a_candidate_that_fails_late_is_large_in_every_row_and_spoils_no_neighbour():
    whole = zoo.problem(zoo.bard, [1.0, 1.0, 1.0])
    X = np.random.default_rng(0).uniform(0.5, 2, (4, 3))
    failures: dict[int, str] = {}
    values = _Blocks(whole, fail=(2,)).residuals(X, failures)
    assert failures == {2: "late"}
    assert (values[2] == LARGE_RESIDUAL).all()
    np.testing.assert_array_equal(values[[0, 1, 3]], zoo.bard(X)[[0, 1, 3]])
    costs = _Blocks(whole, fail=(2,)).costs(X)[:, 0]
    assert np.isfinite(costs).all() and costs[2] > 1e6 * costs[[0, 1, 3]].max()


def test_one_candidate_may_come_as_a_vector():
    assert zoo.problem(zoo.bard, [1.0, 1.0, 1.0]).residuals(np.ones(3)).shape == (1, 15)


def test_per_candidate_equals_vectorised():
    X = np.random.default_rng(1).uniform(0.5, 2, (3, 3))
    single = PerCandidate(lambda x: zoo.bard(x[None])[0], zoo.space([1.0, 1.0, 1.0]))
    np.testing.assert_array_equal(single.residuals(X), zoo.bard(X))


def test_a_residual_that_changes_its_length_is_a_failure():
    problem = PerCandidate(lambda x: np.zeros(3 if x[0] > 0 else 2), zoo.space([1.0]))
    failures: dict[int, str] = {}
    values = problem.residuals(np.array([[1.0], [-1.0]]), failures)
    assert list(failures) == [1] and "length" in failures[1]
    assert (values[0] == 0).all()


def _bard_jacobian(x):
    u = np.arange(1.0, 16)
    v = 16 - u
    w = np.minimum(u, v)
    bottom = (v * x[1] + w * x[2]) ** 2
    return np.stack([-np.ones(15), u * v / bottom, u * w / bottom], axis=1)


@pytest.mark.parametrize("central, digits", [(False, 4), (True, 8)])
def test_gradient_and_gram_are_those_of_the_analytic_jacobian(central, digits):
    problem = _Blocks(zoo.problem(zoo.bard, [1.0, 1.2, 0.9]))
    x = problem.space.start
    flipped = np.array([False, True, False])
    points, steps = difference_points(problem.space, x, 1e-6, central, flipped)
    assert len(points) == 1 + 3 * (1 + central)
    linear = linearise(problem, points, steps, central, Loss(), {})
    jacobian = _bard_jacobian(x)
    np.testing.assert_allclose(linear.gradient, jacobian.T @ zoo.bard(x[None])[0], rtol=10**-digits)
    np.testing.assert_allclose(linear.gram, jacobian.T @ jacobian, rtol=10**-digits)


def test_neighbours_never_leave_the_box():
    space = zoo.space([0.0, 1.0, 0.5], [0.0, 0.0, 0.5], [1.0, 1.0, 0.5])
    for central in (False, True):
        for flipped in (False, True):
            points, steps = difference_points(
                space, space.start, 1e-3, central, np.full(3, flipped)
            )
            assert ((points >= space.lower) & (points <= space.upper)).all()
            assert steps.reshape(-1, 3)[:, 2].tolist() == [0.0] * (len(steps) // 3)


def test_the_final_jacobian_is_in_search_coordinates_and_may_lie_on_disk(monkeypatch):
    space = zoo.space([1.0, 1.2, 0.9], 0.1, 10.0, log=[False, True, False])
    problem = _Blocks(Vectorised(zoo.bard, space))
    residual, jacobian, failures = final_jacobian(problem, space.start)
    expected = _bard_jacobian(space.start) * [1.0, 1.2, 1.0]
    np.testing.assert_allclose(jacobian, expected, rtol=1e-7)
    np.testing.assert_array_equal(residual, zoo.bard(space.start[None])[0])
    assert not failures
    monkeypatch.setattr(module, "IN_MEMORY", 0)
    on_disk = final_jacobian(problem, space.start)[1]
    assert isinstance(on_disk, np.memmap)
    np.testing.assert_array_equal(on_disk, jacobian)


def test_a_failing_neighbour_of_the_optimum_has_no_slope():
    problem = _Blocks(zoo.problem(zoo.bard, [1.0, 1.2, 0.9]), fail=(2,))
    _, jacobian, failures = final_jacobian(problem, problem.space.start)
    assert (jacobian[:, 1] == 0).all() and (jacobian[:, [0, 2]] != 0).all()
    assert failures == {2: "late"}


# --- the step in a box ---------------------------------------------------------------------------


def test_a_step_fulfils_the_optimality_conditions_of_a_box():
    rng = np.random.default_rng(0)
    for _ in range(40):
        n = int(rng.integers(1, 8))
        root = rng.normal(size=(n + 2, n)) * 10.0 ** rng.uniform(-4, 4, n)
        hessian, gradient = root.T @ root, root.T @ rng.normal(size=n + 2)
        free = -np.linalg.solve(hessian, gradient)
        lower = -np.abs(free) * rng.choice([0.0, 0.3, 5.0, np.inf], n)
        upper = np.abs(free) * rng.choice([0.0, 0.3, 5.0, np.inf], n)
        lower, upper = np.nan_to_num(lower, neginf=-np.inf), np.nan_to_num(upper, posinf=np.inf)
        step = box_step(hessian, gradient, lower, upper)
        assert ((step >= lower * (1 + 1e-12)) & (step <= upper * (1 + 1e-12))).all()
        slope = (hessian @ step + gradient) / np.sqrt(np.diag(hessian))
        scale = np.abs(gradient / np.sqrt(np.diag(hessian))).max()
        inside = (step > lower) & (step < upper)
        assert np.abs(slope[inside]).max(initial=0) < 1e-6 * scale
        assert (slope[step <= lower] > -1e-6 * scale).all() or (upper == lower).any()


def test_a_singular_hessian_still_gives_the_step_of_least_squares():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(50, 20))
    root = np.hstack([root, root])  # 40 columns of rank 20
    hessian = root.T @ root + 1e-14 * np.diag((root**2).sum(axis=0))
    gradient = root.T @ rng.normal(size=50)
    step = box_step(hessian, gradient, np.full(40, -np.inf), np.full(40, np.inf))
    best = np.linalg.lstsq(root, np.linalg.lstsq(root.T, -gradient, rcond=None)[0], rcond=None)[0]
    promise = -(gradient @ step) - 0.5 * step @ hessian @ step
    assert promise == pytest.approx(-(gradient @ best) - 0.5 * best @ hessian @ best, rel=1e-4)
