"""The exponential of the bench's vector code: right, and never near subnormal numbers."""

import numba
import numpy as np

from trueup.actuators.bench._lane_code import LANES, Place, lane_function
from trueup.actuators.bench._lane_vectors import LEAST_EXPONENT

SMALLEST_NORMAL = np.finfo(float).tiny


def test_exponential_is_right_and_far_from_subnormal_numbers():
    # of 0 to the power of alpha comes a number near the smallest one
    given = [0.0, -0.0, 1e-300, -1e-300, 1e-90, -1e-90, 1e-20, -1e-12,
             0.3, -0.3, 1.0, -37.0, 100.0, 600.0, LEAST_EXPONENT, -700.0]  # fmt: skip
    code = [("load", Place("lanes", 0)), ("exp", 0), ("store", Place("lanes", LANES), 1)]
    lanes = np.concatenate([given, np.zeros(LANES)])
    exponential = lane_function("exponential", [code])

    @numba.njit
    def run(lanes, slopes):
        exponential(LANES, lanes, slopes)

    run(lanes, np.zeros(1))
    found = lanes[LANES:]
    np.testing.assert_allclose(found[:-1], np.exp(given[:-1]), rtol=1e-15)
    assert found[-1] == found[-2]
    assert np.all(found > 1e80 * SMALLEST_NORMAL)
