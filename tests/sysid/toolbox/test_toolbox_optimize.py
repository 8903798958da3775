"""``optimize``: backends, their arguments, losses, priors, and functions of the user's own."""

import io

import numpy as np
import pytest
from toolbox_models import mass_params, spring_mass

from trueup import sysid
from trueup.errors import FitError, SimulationError, TrueupWarning
from trueup.fitting import Status
from trueup.parameters import Prior

BACKENDS = ["mujoco", "scipy", "scipy_parallel_fd"]
TIMES = np.linspace(0, 3, 200)
TRUE = np.array([1.3, 0.7])


def decay(x):
    """Two exponentials, for one candidate or one a column."""
    x = np.asarray(x, float)
    rates = x[:, None] if x.ndim == 1 else x[:, None, :]
    times = TIMES if x.ndim == 1 else TIMES[:, None]
    return np.exp(-rates[0] * times) + 2 * np.exp(-rates[1] * times * 0.2)


def params(start=(0.5, 2.0), **options):
    out = sysid.ParameterDict()
    out.add(sysid.Parameter("fast", start[0], 0.01, 10.0, **options))
    out.add(sysid.Parameter("slow", start[1], 0.01, 10.0, **options))
    return out


def batched(x, params):
    return [decay(x) - (decay(TRUE) if np.ndim(x) == 1 else decay(TRUE)[:, None])], None, None


def single(x, params):
    if np.ndim(x) != 1:
        raise TypeError("one candidate at a time")
    return [decay(x) - decay(TRUE)], [], []


def array(x, params):
    return decay(params.as_vector()) - decay(TRUE)


@pytest.mark.parametrize("optimizer", BACKENDS)
@pytest.mark.parametrize("function", [batched, single, array])
def test_any_function_can_be_minimised(function, optimizer):
    found, result = sysid.optimize(params(), function, optimizer, verbose=False)
    np.testing.assert_allclose(found.as_vector(), TRUE, rtol=1e-6)
    np.testing.assert_array_equal(result.x, found.as_vector())
    assert result.names == ["fast", "slow"] and result.nfev > 5 and result.cost < 1e-12
    step = 1e-6
    columns = [(decay(TRUE + e) - decay(TRUE - e)) / (2 * step) for e in step * np.eye(2)]
    np.testing.assert_allclose(result.jac, np.stack(columns, axis=1), atol=1e-7)


@pytest.mark.parametrize("optimizer", BACKENDS)
@pytest.mark.parametrize("loss", ["huber", "soft_l1", "cauchy", "arctan"])
def test_robust_losses_shrug_off_outliers_on_every_backend(optimizer, loss):
    outliers = np.where(np.arange(len(TIMES)) % 10 == 0, 3.0, 0.0)

    def function(x, params):
        wrong = outliers if np.ndim(x) == 1 else outliers[:, None]
        return [batched(x, params)[0][0] - wrong], None, None

    start = params(start=(1.0, 1.0))
    plain, _ = sysid.optimize(start, function, optimizer, verbose=False)
    robust, result = sysid.optimize(
        start, function, optimizer, verbose=False, loss=loss, f_scale=0.02
    )
    assert np.abs(robust.as_vector() - TRUE).max() < 0.2 * np.abs(plain.as_vector() - TRUE).max()
    assert np.abs(result.grad).max() < 1e-3


@pytest.mark.parametrize("optimizer", BACKENDS)
def test_priors_count(optimizer):
    free, pulled = params(), params()
    pulled["fast"].prior = Prior(2.0, 1e-4)
    found, result = sysid.optimize(pulled, batched, optimizer, verbose=False)
    np.testing.assert_allclose(found["fast"].value, 2.0, atol=1e-3)
    assert result.fun.size == len(TIMES) + 1 and result.jac.shape == (len(TIMES) + 1, 2)
    found, _ = sysid.optimize(free, batched, optimizer, verbose=False)
    np.testing.assert_allclose(found["fast"].value, 1.3, rtol=1e-5)


@pytest.mark.parametrize("optimizer", BACKENDS)
def test_log_scale_gives_the_jacobian_of_the_values(optimizer):
    found, result = sysid.optimize(params(scale="log"), batched, optimizer, verbose=False)
    np.testing.assert_allclose(found.as_vector(), TRUE, rtol=1e-6)
    plain = sysid.optimize(params(), batched, verbose=False)[1]
    np.testing.assert_allclose(result.jac, plain.jac, atol=1e-6)


@pytest.mark.parametrize("x_scale", ["jac", None, 2.0, [1.0, 0.5]])
@pytest.mark.parametrize("optimizer", BACKENDS)
def test_scales_are_accepted(optimizer, x_scale):
    start = params(start=(1.0, 1.0))
    found, _ = sysid.optimize(start, batched, optimizer, verbose=False, x_scale=x_scale)
    np.testing.assert_allclose(found.as_vector(), TRUE, rtol=1e-5)


def test_arguments_of_the_toolbox_backend():
    from mujoco import minimize

    seen, output = [], io.StringIO()
    _, result = sysid.optimize(
        params(),
        batched,
        verbose=False,
        max_iters=3,
        eps=1e-7,
        mu_min=1e-6,
        mu_max=1e6,
        mu_factor=1.3,
        xtol=1e-9,
        gtol=1e-9,
        norm=minimize.Quadratic(),
        iter_callback=lambda trace: seen.append((len(trace), trace[-1].objective)),
        output=output,
    )
    assert result.status is Status.ITERATION_LIMIT and not result.success and result.nit == 3
    assert [n for n, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1][1] < seen[0][1]
    assert output.getvalue().count("iteration") == len(seen)


@pytest.mark.parametrize(
    ("optimizer", "options", "message"),
    [
        ("mujoc", {}, "'mujoc'.*'mujoco'"),
        ("mujoco", {"max_iter": 3}, "'max_iter'.*'max_iters'"),
        ("mujoco", {"diff_step": 1e-6}, "It is an argument of the optimizer 'scipy'"),
        ("scipy", {"eps": 1e-6}, "It is an argument of the optimizer 'mujoco'"),
        ("scipy", {"loss": "hubr"}, "'hubr'.*'huber'"),
        ("mujoco", {"norm": object()}, "loss="),
        ("mujoco", {"x_scale": [1.0]}, "2 free elements"),
        ("mujoco", {"eps": 0.0}, "positive"),
    ],
)
def test_wrong_arguments_say_what_exists(optimizer, options, message):
    with pytest.raises(FitError, match=message):
        sysid.optimize(params(), batched, optimizer, verbose=False, **options)
    if "max_iter" in options:
        with pytest.raises(TypeError):
            sysid.optimize(params(), batched, optimizer, verbose=False, **options)


def test_nothing_to_fit_is_said():
    fixed = params()
    for param in fixed.values():
        param.frozen = True
    with pytest.warns(TrueupWarning, match="no free parameter"):
        found, result = sysid.optimize(fixed, batched)
    assert found.size == 0 and result.x.size == 0 and result.extras == {}


def test_start_at_a_bound_is_said():
    at_bound = params(start=(0.01, 2.0))
    with pytest.warns(TrueupWarning, match=r"1 of 2.*'fast'.*move_off_bounds"):
        _, result = sysid.optimize(at_bound, batched)
    assert len(result.warnings) == 1
    _, result = sysid.optimize(at_bound, batched, verbose=False)
    assert len(result.warnings) == 1


def test_table_is_printed_when_asked(capsys):
    sysid.optimize(params(), batched, verbose=True)
    out = capsys.readouterr().out
    assert "fast" in out and "Identified" in out and out.count("\n") < 12


def test_start_that_cannot_be_simulated_is_an_error():
    _, models = spring_mass()
    broken = mass_params()
    broken["mass"].min_value[:] = -1.0
    broken["mass"].value[:] = -0.5
    function = sysid.build_residual_fn(models_sequences=[models])
    with pytest.raises(SimulationError, match=r"start values.*does not compile"):
        sysid.optimize(broken, function, verbose=False)


class TestIntervals:
    def test_equal_to_the_toolbox(self):
        reference = pytest.importorskip("mujoco.sysid")
        rng = np.random.default_rng(0)
        jacobian, residual = rng.normal(size=(50, 4)), rng.normal(size=50)
        jacobian[:, 3] = 0.0  # says nothing of the last, everything of the others
        for alpha in (0.05, 0.3):
            theirs = reference.calculate_intervals([residual[:20], residual[20:]], jacobian, alpha)
            ours = sysid.calculate_intervals([residual[:20], residual[20:]], jacobian, alpha)
            np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-9)
            np.testing.assert_allclose(ours[0][:3, :3], theirs[0][:3, :3], rtol=1e-9)
        assert np.isinf(ours[1][3]) and np.isfinite(ours[1][:3]).all()

    def test_ratio_alone_leaves_both_open(self):
        column = np.random.default_rng(0).normal(size=(50, 1))
        _, half = sysid.calculate_intervals([np.zeros(50)], np.hstack([column, -2 * column]))
        assert np.isinf(half).all(), "infinite even where the fit is perfect"

    def test_degenerate_input(self):
        covariance, half = sysid.calculate_intervals([np.zeros(3)], None)
        assert covariance.shape == (0, 0) and half.shape == (0,)
        _, half = sysid.calculate_intervals([np.ones(2)], np.eye(2))
        assert np.isinf(half).all()
        _, half = sysid.calculate_intervals([np.ones(9)], np.zeros((9, 2)))
        assert np.isinf(half).all()


def test_a_fit_says_how_callbacks_entered_the_model_and_equals_one_with_targets(caplog):
    _, models = spring_mass()
    function = sysid.build_residual_fn(models_sequences=[models])
    target = sysid.Parameter("mass", 2.0, 0.3, 3.0, target="body/ball/mass")
    by_target, other = sysid.optimize(
        sysid.ParameterDict({"mass": target}), function, verbose=False
    )
    with caplog.at_level("INFO", "trueup.sysid"):
        found, result = sysid.optimize(mass_params(), function)
    np.testing.assert_array_equal(found.as_vector(), by_target.as_vector())
    (sentence,) = result.models
    assert "written into the compiled model" in sentence and "body_mass (1, prop" in sentence
    assert sentence in caplog.messages and other.models == []
    page = sysid.default_report(
        [models], mass_params(), found, function, result, generate_videos=False
    )
    assert sentence in page.html()


def test_a_callback_with_a_corner_at_the_solution_is_fitted_with_compiled_models():
    def callback(spec, param):
        spec.body("ball").mass = param.value[0]
        if abs(param.value[0] - 1.0) < 0.02:
            spec.joint("slide").damping = 5.5

    _, models = spring_mass()
    start = sysid.Parameter("mass", 2.0, 0.3, 3.0, modifier=callback)
    function = sysid.build_residual_fn(models_sequences=[models])
    with pytest.warns(TrueupWarning, match="are not affine away from the probed values"):
        found, result = sysid.optimize(
            sysid.ParameterDict({"mass": start}), function, verbose=False
        )
    assert "compiled for each candidate" in result.models[0]
    residual = np.concatenate(function(found.as_vector(), found)[0])
    assert result.cost == pytest.approx(0.5 * residual @ residual)
    assert result.cost > 1e-6  # the damping of the corner is in the models of the result
