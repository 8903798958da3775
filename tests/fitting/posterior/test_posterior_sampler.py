"""Sampled posteriors: known distributions, bounds, ridges, convergence, exact continuation."""

import numpy as np
import pytest
from single_precision import OnDevice

from trueup import fitting
from trueup.errors import FitError
from trueup.fitting.posterior.convergence import effective_sizes, split_r_hat
from trueup.fitting.posterior.likelihood import NoiseLikelihood
from trueup.fitting.posterior.sampler import PosteriorSampler
from trueup.fitting.problem import ResidualGroup
from trueup.parameters import Parameter, ParameterDict

TIMES = np.linspace(0.0, 3.0, 80)
GROUP = ResidualGroup("run", ("y",), TIMES, 0)
NOTHING = np.zeros(0)


def linear(lower=-50.0, upper=50.0, sd=0.3, slope=0.7, scale="linear"):
    """A line with noise: its posterior is Student's t."""
    y = 1.3 + slope * TIMES + sd * np.random.default_rng(3).normal(size=len(TIMES))
    names = ParameterDict(
        {
            "offset": Parameter("offset", 1.0, -50.0, 50.0),
            "slope": Parameter("slope", 1.0, lower, upper, scale=scale),
        }
    )
    return fitting.Vectorised(lambda X: X[:, :1] + X[:, 1:] * TIMES - y, names.space())


def sampler(problem, spread=None, seed=0, white=True, x=None):
    if x is None:
        x = fitting.minimise(problem, fitting.LeastSquares(problem.space)).x
    residual = problem.residuals(x)[0]
    if spread is None:
        _, jacobian, _ = fitting.final_jacobian(problem, x, central=True)
        spread = np.linalg.inv(jacobian.T @ jacobian) * (residual @ residual) / len(residual)
    likelihood = NoiseLikelihood(residual, [GROUP], NOTHING, white=white, parameters=2)
    return PosteriorSampler(problem, likelihood, x, spread, seed)


def test_a_linear_problem_has_the_posterior_of_students_t():
    problem = linear()
    found = sampler(problem).run(200_000)
    x = fitting.minimise(problem, fitting.LeastSquares(problem.space)).x
    residual = problem.residuals(x)[0]
    design = np.column_stack([np.ones_like(TIMES), TIMES])
    dof = len(TIMES) - 2
    covariance = np.linalg.inv(design.T @ design) * (residual @ residual) / dof
    assert found.converged
    assert found.values.mean(axis=0) == pytest.approx(x, abs=0.02)
    exact = covariance * dof / (dof - 2)
    assert found.covariance() == pytest.approx(exact, rel=0.12)


def test_a_bound_cuts_the_posterior_and_no_sample_is_beyond_it():
    found = sampler(linear(lower=0.0, slope=0.0)).run(200_000)
    slope = found.values[:, 1]
    assert slope.min() >= 0.0
    # the interval begins near the bound, where the density is highest
    low, high = found.intervals(0.95)[1]
    assert 0.0 <= low < 0.1 * high
    assert np.mean(slope < 0.5 * high) > 0.6


def test_a_prior_is_flat_in_the_logarithm_on_a_log_scale():
    """A slope without effect on the data: its samples are its prior."""
    names = ParameterDict(
        {
            "offset": Parameter("offset", 1.0, -50.0, 50.0),
            "unseen": Parameter("unseen", 0.1, 1e-3, 10.0, scale="log"),
        }
    )
    y = 1.3 + 0.3 * np.random.default_rng(4).normal(size=len(TIMES))
    problem = fitting.Vectorised(lambda X: X[:, :1] + 0.0 * X[:, 1:] - y, names.space())
    spread = np.array([[0.3**2 / len(TIMES), 0.0], [0.0, np.inf]])
    found = sampler(problem, spread).run(200_000)
    assert found.converged
    decades = np.log10(found.values[:, 1])
    assert np.histogram(decades, bins=4, range=(-3, 1))[0] / len(decades) == pytest.approx(
        [0.25] * 4, abs=0.05
    )


def ridge():
    """A product of two: the data bound it, and each factor alone only by the bounds."""
    y = 0.8 * np.sin(6 * TIMES) + 0.1 * np.random.default_rng(5).normal(size=len(TIMES))
    names = ParameterDict({k: Parameter(k, 1.0, 0.0, 2.0) for k in "ab"})
    problem = fitting.Vectorised(
        lambda X: X[:, :1] * X[:, 1:] * np.sin(6 * TIMES) - y, names.space()
    )
    return sampler(problem, np.diag([np.inf, np.inf]))


def test_a_ridge_is_followed_to_the_bounds():
    found = ridge().run(200_000)
    assert found.converged
    product = found.values.prod(axis=1)
    assert product.mean() == pytest.approx(0.8, abs=0.05)
    assert product.std() == pytest.approx(0.1 / np.sqrt(0.5 * len(TIMES)), rel=0.3)
    assert found.values.min() < 0.45
    assert found.values.max() > 1.9


@pytest.mark.parametrize("seed", [23, 31, 33])
def test_arms_of_a_ridge_have_the_shares_of_a_fine_grid(seed):
    """Samples in each part of a bent ridge, compared with the sum of the density over a grid."""
    rng = np.random.default_rng([0, seed])
    truth = rng.uniform(0.0, 2.0, 2)
    times = np.linspace(0.0, 2.0, 100)
    waves = np.stack([np.sin(6.0 * times), 0.05 * np.cos(9.0 * times)])

    def signal(X):
        return np.stack([X[:, 0] * X[:, 1], X[:, 0]], axis=1) @ waves

    y = signal(truth[None])[0] + 0.3 * rng.normal(size=len(times))
    names = ParameterDict({k: Parameter(k, 1.0, 0.0, 2.0) for k in "ab"})
    problem = fitting.Vectorised(lambda X: signal(X) - y, names.space())
    x = fitting.minimise(problem, fitting.LeastSquares(problem.space)).x
    residual, jacobian, _ = fitting.final_jacobian(problem, x, central=True)
    spread = np.linalg.inv(jacobian.T @ jacobian) * (residual @ residual) / len(residual)
    group = ResidualGroup("run", ("y",), times, 0)
    likelihood = NoiseLikelihood(residual, [group], NOTHING, white=True, parameters=2)
    found = PosteriorSampler(problem, likelihood, x, spread, seed).run(200_000)
    axis = 2.0 * (np.arange(400) + 0.5) / 400
    grid = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    off = np.sum(np.square(signal(grid) - y), axis=1)
    density = np.exp(-0.5 * len(times) * np.log(off / off.min())).reshape(400, 400)
    density /= density.sum()
    for k in range(2):
        for part in (0.5, 1.0, 1.5):
            exact = density.sum(axis=1 - k)[axis < part].sum()
            # 960 independent samples have a standard error of 0.016
            assert np.mean(found.values[:, k] < part) == pytest.approx(exact, abs=0.06)


def test_correlated_noise_widens_the_posterior():
    rng = np.random.default_rng(6)
    noise = np.zeros(len(TIMES))
    for k in range(1, len(TIMES)):
        noise[k] = 0.9 * noise[k - 1] + 0.1 * rng.normal()
    names = ParameterDict({"offset": Parameter("offset", 1.0, -50.0, 50.0)})
    problem = fitting.Vectorised(lambda X: X - (1.3 + noise), names.space())
    widths = [
        float(np.ptp(sampler(problem, np.array([[0.05]]), white=white).run(50_000).intervals(0.9)))
        for white in (True, False)
    ]
    assert widths[1] > 2.0 * widths[0]


def test_rows_of_priors_have_unit_variance():
    names = ParameterDict({"offset": Parameter("offset", 1.0, -50.0, 50.0)})
    problem = fitting.Vectorised(
        lambda X: np.hstack([0.0 * X * TIMES + np.sin(40 * TIMES), (X - 2.0) / 0.5]), names.space()
    )
    residual = problem.residuals(np.array([[2.0]]))[0]
    likelihood = NoiseLikelihood(residual, [GROUP], np.ones(1), white=True)
    found = PosteriorSampler(problem, likelihood, np.array([2.0]), np.array([[0.3]])).run(100_000)
    assert found.values.mean() == pytest.approx(2.0, abs=0.05)
    assert found.values.std() == pytest.approx(0.5, rel=0.1)


def test_a_state_continues_bit_for_bit():
    problem = linear()
    whole = sampler(problem)
    whole.advance(90)
    begun = sampler(problem)
    begun.advance(37)
    arrays = {name: array.copy() for name, array in begun.state().items()}
    again = sampler(problem)
    again.restore(arrays)
    again.advance(53)
    np.testing.assert_array_equal(whole.samples().values, again.samples().values)
    assert whole.evaluations == again.evaluations
    other = sampler(problem, seed=1)
    other.advance(90)
    assert not np.array_equal(whole.samples().values, other.samples().values)


def test_an_interruption_within_a_step_leaves_no_trace():
    problem = linear()
    whole, broken = sampler(problem), sampler(problem)
    whole.advance(20)
    density, left = broken.log_densities, 7

    def interrupted(z):
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        return density(z)

    broken.log_densities = interrupted
    with pytest.raises(KeyboardInterrupt):
        broken.advance(20)
    broken.log_densities = density
    broken.advance(20)
    np.testing.assert_array_equal(whole.samples().values, broken.samples().values)


def test_a_candidate_whose_simulation_fails_has_no_density():
    class Failing(fitting.Problem):
        def __init__(self):
            self.inner = linear()
            self.space, self.data_rows = self.inner.space, self.inner.data_rows

        def residual_blocks(self, X, failures):
            for row in np.flatnonzero(X[:, 1] > 0.8):
                failures[int(row)] = "it diverges"
            yield from self.inner.residual_blocks(X, failures)

    x = fitting.minimise(linear(), fitting.LeastSquares(linear().space)).x
    assert x[1] < 0.8
    found = sampler(Failing(), np.diag([0.01, 0.01]), x=x).run(100_000)
    assert found.values[:, 1].max() <= 0.8


def test_an_undetermined_parameter_without_bounds_is_refused():
    problem = linear(upper=np.inf)
    with pytest.raises(FitError, match=r"slope.*bounds"):
        sampler(problem, np.diag([0.01, np.inf]))


def test_no_convergence_is_said():
    found = ridge().run(10)
    assert not found.converged
    assert "has not converged" in found.sentence()
    assert f"{found.evaluations} simulated candidates" in found.sentence()


def test_chains_apart_and_chains_at_rest_have_not_converged():
    rng = np.random.default_rng(0)
    chains = rng.normal(size=(2, 200, 8, 3))
    assert (split_r_hat(chains) < 1.02).all()
    assert (effective_sizes(chains) > 1500).all()
    chains[1, ..., 0] += 1.0
    chains[..., 1] = 0.5
    chains[..., 2] += np.linspace(0, 3, 200)[:, None]
    assert (split_r_hat(chains)[[0, 1, 2]] > 1.1).all()
    assert effective_sizes(chains)[1] == 0.0
    assert effective_sizes(chains)[2] < 300


def test_a_form_in_single_precision_samples_the_same_posterior():
    problem = OnDevice(linear())
    wanted, found = sampler(linear(), seed=4), sampler(problem, seed=4)
    before = sum(problem.batches["double"])
    assert 0.0 < found.simulate_with(problem.quick(12)) < 0.01
    walkers = np.stack([e.walkers for e in found._ensembles])
    np.testing.assert_array_equal(walkers, [e.walkers for e in wanted._ensembles])
    own = found.run(60_000)
    assert sum(problem.batches["double"]) == before  # all moves are simulated by the quick form
    assert own.converged
    plain = wanted.run(60_000)
    assert own.values.mean(axis=0) == pytest.approx(plain.values.mean(axis=0), abs=0.02)
    assert own.covariance() == pytest.approx(plain.covariance(), rel=0.15)
    # back to double precision, the densities are those of the walkers again
    assert 0.0 < found.simulate_with(problem) < 0.01
