"""Force curves of OpenSim's muscles."""

import numpy as np
import pytest

from trueup.gait.opensim.muscle_curves import MillardCurves, ThelenCurves, isometric_force

BOTH = [ThelenCurves(), MillardCurves()]


@pytest.mark.parametrize("curves", BOTH, ids=["Thelen", "Millard"])
def test_curves_pass_their_defining_points(curves):
    assert curves.active(np.ones(1)) == pytest.approx(1.0)
    assert curves.passive(np.array([0.9, 1.0])) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert curves.tendon(np.array([0.99, 1.0])) == pytest.approx([0.0, 0.0], abs=1e-12)
    assert curves.velocity(np.array([-1.0, 0.0])) == pytest.approx([0.0, 1.0], abs=1e-12)
    strain = 0.04 if isinstance(curves, ThelenCurves) else 0.049
    assert curves.tendon(np.array([1.0 + strain])) == pytest.approx(1.0, abs=0.01)
    rising = [curves.passive(np.linspace(1, 1.9, 90)), curves.tendon(np.linspace(1, 1.08, 90)),
              curves.velocity(np.linspace(-1, 1, 90))]  # fmt: skip
    assert all((np.diff(values) >= 0.0).all() for values in rising)


def test_published_numbers_of_thelen():
    curves = ThelenCurves()
    assert curves.active(np.array([0.6])) == pytest.approx(np.exp(-0.16 / 0.45))
    assert curves.passive(np.array([1.6])) == pytest.approx(1.0)
    assert curves.velocity(np.array([-0.5])) == pytest.approx(0.5 / (1.0 + 0.5 / 0.25))
    assert curves.velocity(np.array([1e6])) == pytest.approx(1.4, rel=1e-4)


def test_published_numbers_of_millard():
    curves = MillardCurves()
    assert curves.passive(np.array([1.7])) == pytest.approx(1.0)
    assert curves.active(np.array([0.3, 2.0])) == pytest.approx([0.0, 0.0])
    assert MillardCurves(damped=False).active(np.array([0.3])) == pytest.approx(0.1)
    assert curves.velocity(np.array([1.0, 3.0])) == pytest.approx([1.4, 1.4])
    h = 1e-5
    slope = (curves.passive(np.array([1.7])) - curves.passive(np.array([1.7 - h]))) / h
    assert slope == pytest.approx(2.0 / 0.7, rel=1e-2)
    stiff = MillardCurves({"TendonForceLengthCurve": {"strain_at_one_norm_force": 0.1}})
    assert stiff.tendon(np.array([1.1])) == pytest.approx(1.0)
    assert stiff.of("TendonForceLengthCurve")["stiffness_at_one_norm_force"] == pytest.approx(13.75)


@pytest.mark.parametrize("curves", BOTH, ids=["Thelen", "Millard"])
@pytest.mark.parametrize("activation", [0.0, 0.5, 1.0])
def test_fibers_and_tendon_pull_alike(curves, activation):
    numbers = {"fiber": 0.05, "tendon": 0.25, "pennation": 0.4}
    length = np.linspace(0.28, 0.33, 30)
    force = isometric_force(curves, length, activation, rigid=False, **numbers)
    # from the force the tendon's length, from that the fibers' and their force
    strains = np.linspace(0.0, 0.2, 20001)
    stretched = 0.25 * (1.0 + np.interp(force, curves.tendon(1.0 + strains), strains))
    along = length - stretched
    fiber = np.hypot(along, 0.05 * np.sin(0.4))
    pulled = activation * curves.active(fiber / 0.05) + curves.passive(fiber / 0.05)
    taut = force > 0.01
    assert taut.any() and force[taut] == pytest.approx((pulled * along / fiber)[taut], abs=5e-3)


def test_a_rigid_tendon_leaves_all_to_the_fibers():
    numbers = {"fiber": 0.1, "tendon": 0.2, "pennation": 0.0}
    force = isometric_force(ThelenCurves(), np.array([0.3]), 1.0, rigid=True, **numbers)
    assert force == pytest.approx(1.0)


def test_values_of_opensim():
    # OpenSim 4.6, its default curves
    curves = MillardCurves()
    tendon, fiber = np.linspace(1.0, 1.05, 6), np.linspace(0.45, 1.65, 5)
    speed = np.array([-0.96, -0.56, -0.16, 0.24, 0.64, 1.04])
    expected = [0.0, 0.099678, 0.260936, 0.479399, 0.747449, 1.028061]
    assert curves.tendon(tendon) == pytest.approx(expected, abs=1e-5)
    expected = [4.9e-05, 0.826038, 0.996441, 0.613909, 0.192974]
    assert curves.active(fiber) == pytest.approx(expected, abs=1e-5)
    expected = [0.001702, 0.123332, 0.511398, 1.280681, 1.353213, 1.4]
    assert curves.velocity(speed) == pytest.approx(expected, abs=1e-5)
    expected = [0.0, 0.126111, 0.71707, 1.571429]
    assert curves.passive(np.linspace(1.0, 1.9, 4)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(
    ("curves", "length", "forces"),
    [
        (ThelenCurves(), 0.350142828, [0.475844214, 0.248310538, 0.027545438]),
        (MillardCurves(), 0.350142828, [0.116911176, 0.073046106, 0.009910491]),
    ],
    ids=["Thelen", "Millard"],
)
def test_forces_at_rest_are_those_of_opensim(curves, length, forces):
    numbers = {"fiber": 0.1, "tendon": 0.3, "pennation": 0.2, "rigid": False}
    for activation, force in zip((1.0, 0.5, 0.05), forces, strict=True):
        found = isometric_force(curves, np.array([length]), activation, **numbers)
        assert found == pytest.approx(force, rel=2e-4)


@pytest.mark.parametrize("rigid", [False, True])
def test_a_path_that_is_too_short_is_slack(rigid):
    numbers = {"fiber": 0.1, "tendon": 0.3, "pennation": 0.2, "rigid": rigid}
    assert isometric_force(ThelenCurves(), np.array([0.25, 0.3]), 1.0, **numbers) == pytest.approx(
        0
    )
