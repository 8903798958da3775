"""Covariance estimates against known truth, and their flags."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.signal import lfilter

from trueup.errors import FitError
from trueup.fitting.uncertainty import METHODS, SequenceFit, estimate_covariance
from trueup.fitting.uncertainty.autoregressive import AutoregressiveModel
from trueup.fitting.uncertainty.noise import SequenceNoise
from trueup.fitting.uncertainty.sandwich import absorbed_reflections, sandwich_part

SAMPLES = 1500


def sensitivities(samples=SAMPLES, channels=2, parameters=3, seed=0):
    """Smooth columns of very different size, as a simulation's are."""
    rng = np.random.default_rng(seed)
    shape = (samples, channels, parameters)
    smooth = lfilter([0.1], [1.0, -0.9], rng.standard_normal(shape), axis=0)
    return smooth * 10.0 ** np.arange(parameters)


def ar1(samples, channels=2, rho=0.95, seed=1):
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((samples + 500, channels))
    return lfilter([np.sqrt(1 - rho**2)], [1.0, -rho], noise, axis=0)[500:]


def fitted(noise, jacobian, name="run"):
    """Residuals of a linear least-squares fit to ``noise``."""
    flat = jacobian.reshape(-1, jacobian.shape[2])
    solution = np.linalg.lstsq(flat, noise.ravel(), rcond=None)[0]
    return SequenceFit(noise - jacobian @ solution, jacobian, name)


def explicit_covariance(models, innovation_covariance, samples, before=3000):
    """R of autoregressive channels, formed: ``(T C, T C)``."""
    impulse = np.eye(1, before + samples)[0]
    roots = [
        toeplitz(lfilter([1.0], m.coefficients, impulse), np.zeros(before + samples))[before:]
        for m in models
    ]
    channels = len(models)
    full = np.empty((samples, channels, samples, channels))
    for i in range(channels):
        for j in range(channels):
            full[:, i, :, j] = innovation_covariance[i, j] * roots[i] @ roots[j].T
    return full.reshape(samples * channels, samples * channels)


@pytest.fixture
def two_channels():
    samples = 200
    jacobian = sensitivities(samples)
    models = (
        AutoregressiveModel(np.array([1.0, -1.3, 0.4]), 1.0, samples),
        AutoregressiveModel(np.array([1.0, -0.9]), 2.0, samples),
    )
    shared = np.array([[1.0, 0.3], [0.3, 2.0]])
    residuals = ar1(samples)
    noise = SequenceNoise(models, residuals, shared, 2)
    sequence = SequenceFit(residuals, jacobian)
    flat = jacobian.reshape(-1, 3)
    inverse = np.linalg.inv(flat.T @ flat)
    return sequence, noise, flat, inverse, explicit_covariance(models, shared, samples)


def test_filters_give_the_sandwich_of_the_explicit_covariance(two_channels):
    sequence, noise, flat, inverse, full = two_channels
    part = sandwich_part(sequence, np.arange(3), inverse, noise)
    expected = inverse @ flat.T @ full @ flat @ inverse
    np.testing.assert_allclose(part.covariance, expected, rtol=1e-4)


@pytest.mark.parametrize("each_innovation", [False, True])
def test_blocks_of_time_change_nothing(two_channels, monkeypatch, each_innovation):
    sequence, noise, _, inverse, _ = two_channels
    whole = sandwich_part(sequence, np.arange(3), inverse, noise, each_innovation)
    monkeypatch.setattr("trueup.fitting.uncertainty.sandwich.BLOCK_VALUES", 50)
    monkeypatch.setattr("trueup.fitting.uncertainty.sequence_fit.BLOCK_VALUES", 50)
    assert len(list(sequence.blocks(np.arange(3)))) > 20
    parts = sandwich_part(sequence, np.arange(3), inverse, noise, each_innovation)
    np.testing.assert_allclose(parts.covariance, whole.covariance, rtol=1e-10)
    np.testing.assert_allclose(parts.variance_error, whole.variance_error, rtol=1e-10)


def test_what_the_fit_absorbs_equals_the_explicit_projection(two_channels):
    sequence, noise, flat, inverse, full = two_channels
    samples = sequence.length
    covariance = sandwich_part(sequence, np.arange(3), inverse, noise).covariance
    corrections = absorbed_reflections(
        sequence, sequence.residuals, np.arange(3), inverse, covariance, noise
    )
    assert corrections is not None
    left = np.eye(len(flat)) - flat @ inverse @ flat.T
    lost = (full - left @ full @ left.T).reshape(samples, 2, samples, 2)
    one = np.array([np.trace(lost[:, 1, :, 1], lag) for lag in (0, 1)])
    r = sequence.residuals[:, 1]
    measured = np.array([r @ r, r[1:] @ r[:-1]])
    expected = -(measured + one)[1] / (measured + one)[0] + measured[1] / measured[0]
    np.testing.assert_allclose(corrections[1], [expected], rtol=1e-3)


def test_white_residuals_give_the_classical_answer():
    jacobian = sensitivities()
    rng = np.random.default_rng(3)
    sequence = fitted(rng.standard_normal((SAMPLES, 2)), jacobian)
    auto = estimate_covariance([sequence])
    classical = estimate_covariance([sequence], "classical")
    assert auto.method == "per_channel"
    assert "white noise" in auto.reason
    np.testing.assert_allclose(auto.half_widths, classical.half_widths, rtol=0.1)
    flat = jacobian.reshape(-1, 3)
    energy = np.sum(sequence.residuals**2) / (2 * SAMPLES - 3)
    np.testing.assert_allclose(classical.matrix, energy * np.linalg.inv(flat.T @ flat), rtol=1e-8)


def test_each_channel_has_its_own_variance():
    jacobian = sensitivities(parameters=2)
    jacobian[:, 0, 1] = jacobian[:, 1, 0] = 0.0
    rng = np.random.default_rng(4)
    sequence = fitted(rng.standard_normal((SAMPLES, 2)) * [1.0, 20.0], jacobian)
    estimate = estimate_covariance([sequence])
    expected = [1.0, 20.0] / np.sqrt(np.sum(jacobian**2, axis=(0, 1)))
    np.testing.assert_allclose(estimate.standard_errors, expected, rtol=0.1)
    classical = estimate_covariance([sequence], "classical").standard_errors
    assert classical[0] > 5.0 * expected[0]


@pytest.mark.parametrize("method", [m for m in METHODS if m not in ("classical", "per_channel")])
def test_correlated_noise_widens_the_intervals_to_their_true_size(method):
    true = AutoregressiveModel(np.array([1.0, -0.95]), 1 - 0.95**2, SAMPLES)
    jacobian = sensitivities(channels=1)
    flat = jacobian.reshape(-1, 3)
    inverse = np.linalg.inv(flat.T @ flat)
    noise = SequenceNoise((true,), np.zeros((SAMPLES, 1)), np.array([[1 - 0.95**2]]), 1)
    sequence = fitted(ar1(SAMPLES, 1), jacobian)
    exact = sandwich_part(sequence, np.arange(3), inverse, noise).covariance
    estimate = estimate_covariance([sequence], method)
    if method == "auto":
        assert estimate.method == "autoregressive"
        assert "correlated in time" in estimate.reason
        assert estimate.noise[0].lag_one_correlation == pytest.approx(0.95, abs=0.02)
        assert estimate.noise[0].correlation_time == pytest.approx(19.5, rel=0.5)
    # The other methods see few independent samples of each score, and scatter more.
    rtol = 0.25 if estimate.method == "autoregressive" else 0.5
    np.testing.assert_allclose(estimate.half_widths, 1.96 * np.sqrt(np.diag(exact)), rtol=rtol)
    classical = estimate_covariance([sequence], "classical")
    assert (estimate.half_widths > 2.0 * classical.half_widths).all()


def test_noise_shared_by_channels_is_not_counted_twice():
    jacobian = np.repeat(sensitivities(channels=1, parameters=1), 2, axis=1)
    shared = np.repeat(ar1(SAMPLES, 1), 2, axis=1)
    once = estimate_covariance([fitted(shared[:, :1], jacobian[:, :1])], "autoregressive")
    twice = estimate_covariance([fitted(shared, jacobian)], "autoregressive")
    np.testing.assert_allclose(twice.standard_errors, once.standard_errors, rtol=0.02)


def test_sequences_keep_their_own_noise():
    jacobian = sensitivities(parameters=1)
    rng = np.random.default_rng(5)
    quiet = SequenceFit(rng.standard_normal((SAMPLES, 2)), jacobian, "quiet")
    slow = SequenceFit(ar1(SAMPLES) * 3.0, jacobian, "slow")
    estimate = estimate_covariance([quiet, slow])
    assert [c.sequence for c in estimate.noise] == ["quiet", "quiet", "slow", "slow"]
    assert "slow" in estimate.reason
    alone = [estimate_covariance([s], "autoregressive").matrix[0, 0] for s in (quiet, slow)]
    assert estimate.matrix[0, 0] == pytest.approx(sum(alone) / 4.0, rel=0.05)


def test_noise_that_grows_with_the_signal_is_seen_and_allowed_for():
    jacobian = sensitivities(channels=1, parameters=1)
    size = np.where(np.abs(jacobian[:, 0]) > np.median(np.abs(jacobian)), 3.0, 1.0)
    rng = np.random.default_rng(6)
    noise = rng.standard_normal((SAMPLES, 1)) * size
    information = np.sum(jacobian**2)
    exact = np.sqrt(np.sum((jacobian[:, 0] * size) ** 2)) / information
    estimate = estimate_covariance([fitted(noise, jacobian)])
    even = estimate_covariance([fitted(noise, jacobian)], each_innovation=False)
    assert "not constant" in estimate.reason
    assert estimate.standard_errors[0] == pytest.approx(exact, rel=0.1)
    assert even.standard_errors[0] < 0.9 * exact


def test_undetermined_parameters_alone_are_infinite():
    jacobian = sensitivities(parameters=4)
    jacobian[:, :, 2] = -0.7 * jacobian[:, :, 0]
    jacobian[:, :, 3] = 0.0
    rng = np.random.default_rng(7)
    sequence = SequenceFit(rng.standard_normal((SAMPLES, 2)), jacobian)
    names = ("mass", "damping", "gear", "idle")
    for method in METHODS:
        estimate = estimate_covariance([sequence], method, names=names)
        np.testing.assert_array_equal(estimate.undetermined, [True, False, True, True])
        np.testing.assert_array_equal(np.isinf(estimate.half_widths), estimate.undetermined)
        assert estimate.correlation[0, 2] == pytest.approx(1.0)
        assert not np.isnan(estimate.matrix).any()
        assert "'mass', 'gear', 'idle'" in estimate.remarks[0]
    alone = estimate_covariance([SequenceFit(sequence.residuals, jacobian[:, :, [0, 1]])])
    found = estimate_covariance([sequence])
    assert found.half_widths[1] == pytest.approx(alone.half_widths[1], rel=1e-3)


def test_units_of_parameters_do_not_decide_what_is_determined():
    jacobian = sensitivities(parameters=3) * np.array([1e-9, 1.0, 1e9])
    sequence = SequenceFit(ar1(SAMPLES), jacobian)
    assert not estimate_covariance([sequence]).undetermined.any()


def test_active_bound_is_flagged_one_sided_and_fixed_for_the_others():
    rng = np.random.default_rng(8)
    jacobian = sensitivities(parameters=2)
    jacobian[:, :, 1] /= 10.0
    jacobian[:, :, 1] += jacobian[:, :, 0]
    # The truth is (1, 1); the second parameter is held at its lower bound of 1.2.
    scatter = 0.05 * rng.standard_normal((SAMPLES, 2))
    flat = jacobian.reshape(-1, 2)
    target = flat @ [1.0, 1.0] + scatter.ravel()
    first = np.linalg.lstsq(flat[:, :1], target - 1.2 * flat[:, 1], rcond=None)[0][0]
    residual = (flat @ [first, 1.2] - target).reshape(SAMPLES, 2)
    estimate = estimate_covariance(
        [SequenceFit(residual, jacobian)],
        "classical",
        at_bound=np.array([False, True]),
        names=("free", "held"),
    )
    alone = estimate_covariance([SequenceFit(residual, jacobian[:, :, :1])], "classical")
    assert estimate.half_widths[0] == pytest.approx(alone.half_widths[0])
    np.testing.assert_array_equal(estimate.active, [False, True])
    assert estimate.preferred_step[1] == pytest.approx(-0.2, abs=0.01)
    assert "held is at its bound" in estimate.remarks[0]
    assert "-0.2" in estimate.remarks[0]
    interval = estimate.intervals(np.array([first, 1.2]), [-5.0, 1.2], [5.0, 3.0])
    assert interval[1, 0] == 1.2
    assert interval[1, 1] > 1.2
    assert interval[0, 0] < first < interval[0, 1]


def test_a_prior_adds_what_it_knows():
    jacobian = sensitivities(parameters=2)
    jacobian[:, :, 1] = 0.0
    rng = np.random.default_rng(9)
    sequence = SequenceFit(rng.standard_normal((SAMPLES, 2)), jacobian)
    for method in METHODS:
        estimate = estimate_covariance(
            [sequence], method, prior_precision=np.diag([0.0, 1.0 / 0.3**2])
        )
        assert not estimate.undetermined.any()
        if method != "classical":
            assert estimate.standard_errors[1] == pytest.approx(0.3, rel=0.1)


def test_robust_weights_are_part_of_bread_and_filling():
    rng = np.random.default_rng(10)
    jacobian = sensitivities(channels=1, parameters=1)
    noise = rng.standard_normal((SAMPLES, 1))
    noise[::50] *= 40.0
    weights = np.minimum(1.0, 1.345 / np.maximum(np.abs(noise), 1e-12))
    slopes = (np.abs(noise) <= 1.345).astype(float)
    sequence = SequenceFit(noise, jacobian)
    plain = estimate_covariance([sequence], "per_channel", each_innovation=False)
    robust = estimate_covariance(
        [sequence], "per_channel", weights=[weights], slopes=[slopes], each_innovation=False
    )
    psi = weights * noise
    exact = np.sqrt(np.mean(psi**2) / np.mean(slopes) ** 2 / np.sum(jacobian**2))
    assert robust.standard_errors[0] == pytest.approx(exact, rel=0.1)
    assert robust.standard_errors[0] < 0.5 * plain.standard_errors[0]


def test_a_perfect_fit_is_certain():
    estimate = estimate_covariance([SequenceFit(np.zeros((SAMPLES, 2)), sensitivities())])
    np.testing.assert_array_equal(estimate.half_widths, 0.0)


def test_few_independent_samples_give_few_degrees_of_freedom():
    long = estimate_covariance([fitted(ar1(6000, rho=0.9), sensitivities(6000))])
    short = estimate_covariance([fitted(ar1(300, rho=0.97), sensitivities(300))])
    assert (short.dof < 60).all()
    assert (long.dof > 2.0 * short.dof).all()


def test_bootstrap_is_seeded():
    sequence = fitted(ar1(SAMPLES), sensitivities())
    first, again, other = (
        estimate_covariance([sequence], "block_bootstrap", seed=seed).half_widths
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_jacobian_may_live_on_disk(tmp_path):
    jacobian = sensitivities()
    residuals = ar1(SAMPLES)
    stored = np.lib.format.open_memmap(
        tmp_path / "jacobian.npy", mode="w+", dtype=float, shape=jacobian.shape
    )
    stored[:] = jacobian
    on_disk = estimate_covariance([SequenceFit(residuals, stored)])
    in_memory = estimate_covariance([SequenceFit(residuals, jacobian)])
    np.testing.assert_array_equal(on_disk.matrix, in_memory.matrix)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "newey-west"}, "Did you mean 'newey_west'"),
        ({"alpha": 5.0}, "alpha must be between 0 and 1.*found 5"),
        ({"names": ("a",)}, "1 parameter names for 3"),
        ({"at_bound": np.array([True])}, "expected 3 booleans"),
        ({"prior_precision": np.eye(2)}, "\\(3, 3\\)"),
        ({"weights": [np.ones((3, 2))]}, "weights have shapes"),
        ({"method": "newey_west", "alpha": 0.001}, "alpha from 0.02 to 0.2"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    sequence = SequenceFit(ar1(100), sensitivities(100))
    with pytest.raises(FitError, match=message):
        estimate_covariance([sequence], **change)


def test_wrong_sequences_are_named():
    with pytest.raises(FitError, match="at least one sequence, found none"):
        estimate_covariance([])
    with pytest.raises(FitError, match="the Jacobian has shape"):
        SequenceFit(np.zeros((5, 2)), np.zeros((4, 2, 1)))
    with pytest.raises(FitError, match="1 of 10 residuals are not finite"):
        SequenceFit(np.r_[np.nan, np.zeros(9)].reshape(5, 2), np.zeros((5, 2, 1)))
    with pytest.raises(FitError, match="the Jacobian is not finite"):
        estimate_covariance([SequenceFit(np.zeros((5, 2)), np.full((5, 2, 1), np.nan))])
    with pytest.raises(FitError, match="share one parameter vector"):
        estimate_covariance([SequenceFit(np.zeros((5, 2)), np.zeros((5, 2, n))) for n in (1, 2)])
