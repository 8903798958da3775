"""The contract of problems, and the final Jacobian."""

import fitting_problems as zoo
import numpy as np
import pytest

from trueup.errors import FitError
from trueup.fitting import CmaEs, CmaEsSettings, VectorisedCosts, linearisation, minimise
from trueup.fitting.linearisation import difference_points, final_jacobian, linearise
from trueup.fitting.losses import Loss
from trueup.fitting.problem import LARGE_RESIDUAL, PerCandidate, Problem, Vectorised
from trueup.fitting.searches.box_step import box_step


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
    monkeypatch.setattr(linearisation, "IN_MEMORY", 0)
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


def in_place(X):
    """A residual of a user that changes its argument; the optimum is at 0.7."""
    X -= 0.7
    return X * np.array([1.0, 2.0])


def cost_in_place(X):
    X -= 0.7
    X *= X
    return X.sum(axis=1)


@pytest.mark.parametrize(
    "made",
    [
        lambda space: Vectorised(in_place, space),
        lambda space: PerCandidate(in_place, space),
        lambda space: VectorisedCosts(cost_in_place, space),
    ],
)
def test_a_function_that_changes_its_argument_does_not_change_the_candidates(made):
    space = zoo.space([0.5, 0.4])
    start = space.start.copy()
    problem = made(space)
    np.testing.assert_array_equal(space.start, start)
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (5, 2))
    given = X.copy()
    costs = problem.costs(X)[:, 0]
    np.testing.assert_array_equal(X, given)
    np.testing.assert_array_equal(problem.costs(X)[:, 0], costs)
    found = minimise(problem, CmaEs(space, CmaEsSettings(max_generations=60), seed=1))
    assert found.cost == problem.costs(found.x[None])[0, 0] < 1e-6


def test_a_problem_of_ones_own_may_change_its_argument_too():
    class Own(Problem):
        space = zoo.space([0.5, 0.4])

        def costs(self, X, failures=None):
            X -= 0.7
            return (X**2).sum(axis=1)[:, None]

    problem = Own()
    search = CmaEs(problem.space, CmaEsSettings(max_generations=60), seed=1)
    assert minimise(problem, search).x == pytest.approx(0.7, abs=1e-3)


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (lambda X: np.stack([X[:, 0], X[:, 1]]), r"\(2, 3\) for 3 candidates, expected \(3, 2\)"),
        (lambda X: X[:, 0], r"costs of shape \(3,\)"),
        (lambda X: np.zeros((3, 3)), r"costs of shape \(3, 3\)"),
        (lambda X: X + 1j, "not a real numeric type"),
        (lambda X: [["a", "b"]] * len(X), "not a real numeric type"),
        (lambda X: [[1.0], [1.0, 2.0], [0.0]], "must return real numbers as costs"),
    ],
)
def test_costs_of_another_shape_or_type_are_refused(values, told):
    problem = VectorisedCosts(values, zoo.space([0.5, 0.4]), objectives=("a", "b"))
    with pytest.raises(FitError, match=told):
        problem.costs(np.ones((3, 2)))


def test_one_cost_may_be_a_vector_or_a_column():
    space = zoo.space([0.5, 0.4])
    for values in (lambda X: X[:, 0], lambda X: X[:, :1]):
        assert VectorisedCosts(values, space).costs(np.ones((3, 2))).shape == (3, 1)


def test_residuals_of_another_shape_are_refused():
    space = zoo.space([0.5, 0.4])
    with pytest.raises(FitError, match=r"of one candidate have shape \(2,\), expected \(1, m\)"):
        Vectorised(lambda X: X[0], space)
    turned = Vectorised(lambda X: X if len(X) == 1 else X.T, space)
    with pytest.raises(FitError, match=r"residuals of shape \(2, 3\) for 3 candidates"):
        turned.residuals(np.ones((3, 2)))
