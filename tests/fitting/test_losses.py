"""Robust losses against scipy's, and their weights against derivatives."""

import numpy as np
import pytest
from scipy.optimize import least_squares

from trueup.errors import FitError
from trueup.fitting.losses import LOSSES, Loss


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_costs_are_those_of_scipy(name):
    residual = np.array([-8.0, -1.0, -1e-9, 0.0, 0.3, 2.0, 40.0])
    reference = least_squares(
        lambda x: residual,
        [0.0],
        loss=name,
        f_scale=0.7,
        max_nfev=1,
        jac=lambda x: np.zeros((7, 1)),
    )
    assert Loss(name, 0.7).costs(residual[None])[0] == pytest.approx(reference.cost, rel=1e-12)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_gradient_weights_are_the_derivative_of_the_cost(name):
    loss, h = Loss(name, 0.8), 1e-6
    # away from the corner of Huber's second derivative
    residual = np.array([-3.0, -0.5, 0.2, 0.6, 1.7])
    ends = np.stack([residual + h, residual - h])
    slopes = [float(np.diff(loss.costs(pair[:, None]))[0]) / (-2 * h) for pair in ends.T]
    first, second = loss.weights(residual)
    np.testing.assert_allclose(first * residual, slopes, rtol=1e-7)
    assert (second > 0).all()
    assert (second <= first + 1e-15).all()


def test_unknown_names_and_scales_are_refused():
    with pytest.raises(FitError, match="Did you mean 'huber'"):
        Loss("hubr")
    for scale in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(FitError, match="positive"):
            Loss("huber", scale)
