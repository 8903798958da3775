"""Log-Cholesky coordinates: physical for any numbers, there and back, and as in the toolbox."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from trueup.parameters import inertial_from_theta, theta_from_inertial
from trueup.parameters.inertia import inertia_matrix, principal_axes

_THETA = st.lists(st.floats(-4, 4), min_size=10, max_size=10).map(np.array)


@settings(max_examples=200, deadline=None)
@given(theta=_THETA)
def test_any_numbers_are_a_physical_body(theta):
    mass, ipos, inertia = inertial_from_theta(theta)
    assert mass > 0
    np.testing.assert_array_equal(ipos, theta[7:])
    moments = np.linalg.eigvalsh(inertia)
    scale = moments.max()
    assert moments.min() > -1e-12 * scale
    # each principal moment is below the sum of the two others
    assert (moments.sum() - 2 * moments > -1e-9 * scale).all()


@settings(max_examples=200, deadline=None)
@given(theta=_THETA)
def test_there_and_back(theta):
    theta = np.concatenate([theta[:1], 0.4 * theta[1:]])
    again = theta_from_inertial(*inertial_from_theta(theta))
    np.testing.assert_allclose(again, theta, atol=1e-6)


def _cloud(seed):
    """Mass, centre and inertia of point masses, from their definitions."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 1, 12), rng.normal(size=(12, 3))
    total = masses.sum()
    centre = masses @ points / total
    arms = points - centre
    inertia = sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms))
    return total, centre, inertia


@pytest.mark.parametrize("seed", range(5))
def test_point_masses_come_back(seed):
    total, centre, inertia = _cloud(seed)
    theta = theta_from_inertial(total, centre, inertia)
    assert theta[0] == pytest.approx(0.5 * np.log(total))
    mass, ipos, again = inertial_from_theta(theta)
    assert mass == pytest.approx(total)
    np.testing.assert_allclose(ipos, centre)
    np.testing.assert_allclose(again, inertia, rtol=1e-10, atol=1e-12)


def test_batches_are_those_of_single_bodies():
    clouds = [_cloud(seed) for seed in range(6)]
    mass, ipos, inertia = (
        np.stack(part).reshape(2, 3, *np.shape(part[0])) for part in zip(*clouds)
    )
    theta = theta_from_inertial(mass, ipos, inertia)
    assert theta.shape == (2, 3, 10)
    np.testing.assert_array_equal(theta[1, 2], theta_from_inertial(*clouds[5]))
    np.testing.assert_array_equal(
        inertial_from_theta(theta)[2][0, 1], inertial_from_theta(theta[0, 1])[2]
    )


def test_derivatives_are_finite_and_every_coordinate_matters():
    theta = theta_from_inertial(*_cloud(0))
    h = 1e-6

    def numbers(t):
        mass, ipos, inertia = inertial_from_theta(t)
        rows, columns = np.triu_indices(3)
        return np.concatenate([mass[..., None], ipos, inertia[..., rows, columns]], axis=-1)

    jacobian = (numbers(theta + h * np.eye(10)) - numbers(theta - h * np.eye(10))) / (2 * h)
    assert np.isfinite(jacobian).all()
    assert np.linalg.matrix_rank(jacobian) == 10
    # mass is exp(2 alpha)
    assert jacobian[0, 0] == pytest.approx(2 * _cloud(0)[0], rel=1e-8)


def test_a_body_that_cannot_be_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        theta_from_inertial(1.0, np.zeros(3), np.diag([3.0, 1.0, 1.0]))
    with pytest.raises(np.linalg.LinAlgError):
        theta_from_inertial(-1.0, np.zeros(3), np.eye(3))


def test_principal_axes_are_a_rotation_that_gives_the_matrix_back():
    matrices = np.stack([_cloud(seed)[2] for seed in range(8)] + [np.eye(3), np.diag([2.0, 2, 1])])
    moments, quaternions = principal_axes(matrices)
    assert (np.diff(moments, axis=-1) <= 0).all()
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=-1), 1)
    np.testing.assert_allclose(inertia_matrix(quaternions, moments), matrices, atol=1e-12)
    turn = Rotation.random(rng=np.random.default_rng(0)).as_matrix()
    turned = principal_axes(turn @ matrices[0] @ turn.T)[0]
    np.testing.assert_allclose(turned, moments[0], rtol=1e-12)


def test_the_toolbox_has_the_same_coordinates():
    modifier = pytest.importorskip("mujoco.sysid._src.model_modifier")
    for seed in range(5):
        total, centre, inertia = _cloud(seed)
        theta = theta_from_inertial(total, centre, inertia)
        pi = modifier.pi_from_theta(theta)
        np.testing.assert_allclose(pi[0], total)
        np.testing.assert_allclose(pi[1:4], total * centre)
        about_origin = inertia + total * (centre @ centre * np.eye(3) - np.outer(centre, centre))
        np.testing.assert_allclose(np.reshape(pi[4:], (3, 3)), about_origin, rtol=1e-9, atol=1e-9)
        back = modifier.theta_from_pseudoinertia(modifier.pseudoinertia_from_pi(pi))
        np.testing.assert_allclose(back, theta, rtol=1e-8, atol=1e-9)
