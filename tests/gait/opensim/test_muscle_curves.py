"""Force curves of OpenSim's muscles."""

import numpy as np
import pytest

from trueup.gait.opensim.forces.schutte_curves import SchutteCurves
from trueup.gait.opensim.muscle_curves import MillardCurves, ThelenCurves, muscle_force

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
    assert MillardCurves(damping=0.0).active(np.array([0.3])) == pytest.approx(0.1)
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
    force = muscle_force(curves, length, activation, rigid=False, **numbers)
    # from the force the tendon's length, from that the fibers' and their force
    strains = np.linspace(0.0, 0.2, 20001)
    stretched = 0.25 * (1.0 + np.interp(force, curves.tendon(1.0 + strains), strains))
    along = length - stretched
    fiber = np.hypot(along, 0.05 * np.sin(0.4))
    pulled = activation * curves.active(fiber / 0.05) + curves.passive(fiber / 0.05)
    taut = force > 0.01
    assert taut.any() and force[taut] == pytest.approx((pulled * along / fiber)[taut], abs=5e-3)


@pytest.mark.parametrize("curves", BOTH, ids=["Thelen", "Millard"])
def test_forces_at_speed_are_those_of_the_published_equations(curves):
    numbers = {"fiber": 0.05, "tendon": 0.25, "pennation": 0.4, "speed": 8.0}
    length = np.linspace(0.29, 0.32, 20)
    levels, rates = np.linspace(0.1, 1.0, 10)[:, None], np.linspace(-0.3, 0.3, 5)[:, None, None]
    force = muscle_force(curves, length, levels, rates, rigid=False, **numbers)
    strains = np.linspace(0.0, 0.2, 20001)
    stretched = 0.25 * (1.0 + np.interp(force, curves.tendon(1.0 + strains), strains))
    along = length - stretched
    fiber = np.hypot(along, 0.05 * np.sin(0.4))
    cosine = along / fiber
    # at a constant length of the tendon the fibers take up the whole rate
    v = rates * cosine / (8.0 * 0.05)
    if isinstance(curves, ThelenCurves):  # equations 6 and 7 of Thelen 2003, for the velocity
        active = force / cosine - curves.passive(fiber / 0.05)
        whole = levels * curves.active(fiber / 0.05)
        slow, most = 0.25 + 0.75 * levels, curves.Flen
        shortening = slow * (active - whole) / (whole + active / curves.Af)
        divisor = (2.0 + 2.0 / curves.Af) * (whole * most - active) / (most - 1.0)
        lengthening = slow * (active - whole) / divisor
        expected = np.where(active <= whole, shortening, lengthening)
        inside = (force > 0.02) & (np.abs(v) < 0.9 * slow)
        assert inside.mean() > 0.5 and v[inside] == pytest.approx(expected[inside], abs=2e-3)
    else:  # equation 16 of Millard et al. 2013, with damping of 0.1
        pulled = levels * curves.active(fiber / 0.05) * curves.velocity(v)
        pulled = (pulled + curves.passive(fiber / 0.05) + 0.1 * v) * cosine
        inside = force > 0.02
        assert inside.mean() > 0.5 and force[inside] == pytest.approx(pulled[inside], abs=5e-3)


@pytest.mark.parametrize(
    ("curves", "states"),
    [
        (ThelenCurves(), [(0.9116255404, 0.0140449757, 0.5599292698),
                          (0.6527573613, -0.2265676935, 0.1036534352),
                          (0.3426286359, -0.1994920717, 0.0404464923)]),
        (MillardCurves(), [(0.4755015609, 0.0005783794, 0.1422220312),
                           (0.6447456488, 0.0182126133, 0.1915333528)]),
    ],
    ids=["Thelen", "Millard"],
)  # fmt: skip
def test_forces_at_speed_are_those_of_opensim(curves, states):
    # OpenSim 4.6: activation, rate of the length at a constant tendon, force
    numbers = {"fiber": 0.1, "tendon": 0.3, "pennation": 0.2, "rigid": False, "speed": 8.0}
    for activation, rate, force in states:
        found = muscle_force(curves, np.array([0.3564998057]), activation, rate, **numbers)
        assert found == pytest.approx(force, rel=2e-4)


def test_forces_of_schutte_are_those_of_opensim():
    # OpenSim 4.6: length of the path at rest, forces at activations of 1, 0.5 and 0.05
    numbers = {"fiber": 0.1, "tendon": 0.3, "pennation": 0.2, "rigid": False}
    at_rest = {
        0.37: [0.6987533850, 0.3795136099, 0.0427273395],
        0.40: [0.9660793249, 0.4984894543, 0.0672029429],
        0.43: [0.8425325428, 0.4732087965, 0.2010284550],
    }
    for length, forces in at_rest.items():
        found = muscle_force(SchutteCurves(), np.array([length]), [1.0, 0.5, 0.05], **numbers)
        assert found == pytest.approx(forces, abs=2e-5)
    # activation, length of the fibers, their velocity, force of the tendon
    for activation, fiber, rate, force in (
        (1.0, 1.0, -0.06395519, 0.6541176287),
        (0.7, 0.9, 10.7720595, 1.9822602620),
        (0.5, 0.95, 6.43029072, 1.3162886951),
    ):
        cosine = np.sqrt(1.0 - (np.sin(0.2) / fiber) ** 2)
        curves, length, v = SchutteCurves(), np.array([fiber]), np.array([rate])
        pulled = activation * curves.active(length) * curves.velocity(v) + curves.passive(length)
        assert cosine * (pulled + curves.damping * v) == pytest.approx(force, rel=1e-6)


def test_the_largest_speed_of_thelen_grows_with_activation():
    curves = ThelenCurves()
    assert curves.velocity(np.array([-0.4]), 0.2) == pytest.approx(0.0)
    assert curves.velocity(np.array([-0.2]), 0.2) == pytest.approx(0.5 / 3.0)
    assert MillardCurves().velocity(np.array([-0.4]), 0.2) == MillardCurves().velocity(
        np.array([-0.4])
    )


def test_a_rigid_tendon_leaves_all_to_the_fibers():
    numbers = {"fiber": 0.1, "tendon": 0.2, "pennation": 0.0}
    force = muscle_force(ThelenCurves(), np.array([0.3]), 1.0, rigid=True, **numbers)
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
        found = muscle_force(curves, np.array([length]), activation, **numbers)
        assert found == pytest.approx(force, rel=2e-4)


@pytest.mark.parametrize("rigid", [False, True])
def test_a_path_that_is_too_short_is_slack(rigid):
    numbers = {"fiber": 0.1, "tendon": 0.3, "pennation": 0.2, "rigid": rigid}
    assert muscle_force(ThelenCurves(), np.array([0.25, 0.3]), 1.0, **numbers) == pytest.approx(0)


KNOWN = {
    "tendon": {1.002: 7.94833, 1.005: 11.25161, 1.01: 13.83604, 1.02: 19.58401, 1.03: 23.7416,
               1.06: 28.06122},
    "passive": {1.02: 0.12091, 1.1: 0.22735, 1.3: 1.07051, 1.5: 2.30244, 1.69: 2.85656,
                1.8: 2.85714},
    "active": {0.46: 0.3508, 0.5: 3.43214, 0.6: 3.54117, 0.75: 0.93945, 0.9: 0.85082,
               1.1: -1.18681, 1.3: -1.40147, 1.6: -1.40218, 1.8: -0.26436},
    "velocity": {-1.2: 0.0, -0.95: 0.125, -0.9: 0.25, -0.5: 0.64263, -0.1: 2.29895,
                 -0.01: 4.95084, 0.01: 4.7357, 0.1: 0.68473, 0.5: 0.1632, 0.9: 0.15,
                 0.95: 0.075, 1.2: 0.0},
}  # fmt: skip
"""Slopes of OpenSim 4.6's default curves (calcDerivative), beyond their ends too."""


def slope(curve, x, h=1e-7):
    """Central difference."""
    x = np.asarray(x, dtype=float)
    return (curve(x + h) - curve(x - h)) / (2.0 * h)


@pytest.mark.parametrize("name", KNOWN)
def test_slopes_are_those_of_opensim(name):
    places, slopes = np.array(list(KNOWN[name])), np.array(list(KNOWN[name].values()))
    found = slope(getattr(MillardCurves(), name), places)
    assert found == pytest.approx(slopes, abs=2e-4, rel=2e-4)


DOMAINS = {"active": (0.2, 2.2), "passive": (0.8, 2.2), "tendon": (0.98, 1.15),
           "velocity": (-1.3, 1.3)}  # fmt: skip

STEPS = {
    ("Thelen", "passive"): {1.0: 5.0 / 0.6 / np.expm1(5.0)},
    ("Thelen", "tendon"): {
        1.0: 0.99 / np.expm1(3.0) / 0.02436,
        1.02436: 42.8 - 0.99 / 0.02436 / -np.expm1(-3.0),
    },
    ("Thelen", "velocity"): {-1.0: 0.2, 0.0: 5.0},
}
"""Steps of slopes of the published equations: at slack, at the toe, and around rest."""


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("curves", BOTH, ids=["Thelen", "Millard"])
def test_slopes_change_evenly_over_the_whole_domain_and_beyond(curves, name):
    curve, (low, high) = getattr(curves, name), DOMAINS[name]
    x = np.linspace(low, high, 40001)
    values = curve(x)
    between = np.diff(values) / np.diff(x)
    # a chord is the mean of the slopes: midway on a smooth curve, to the second order
    middle = 0.5 * (x[1:] + x[:-1])
    steps = STEPS.get((type(curves).__name__.removesuffix("Curves"), name), {})
    far = np.all([np.abs(middle - at) > 2e-4 for at in steps], axis=0) & np.ones(len(middle), bool)
    top = np.abs(between).max()
    assert np.abs(slope(curve, middle) - between)[far].max() < 2e-4 * top
    bends = np.abs(np.diff(between))[far[1:] & far[:-1]]
    assert bends.max() < 4e-3 * top  # no step between neighbours a two-thousandth apart or closer
    for at, step in steps.items():
        sides = slope(curve, at + 2e-7) - slope(curve, at - 2e-7)
        assert abs(sides) == pytest.approx(step, rel=5e-2)


@pytest.mark.parametrize(
    ("properties", "name", "at", "expected"),
    [
        ({"FiberForceLengthCurve": {"strain_at_one_norm_force": 0.5}}, "passive", 1.5, 4.0),
        (
            {"FiberForceLengthCurve": {"strain_at_zero_force": 0.1, "stiffness_at_low_force": 0.3,
                                       "stiffness_at_one_norm_force": 5.0}}, "passive", 1.9, 5.0,
        ),
        ({"TendonForceLengthCurve": {"strain_at_one_norm_force": 0.1}}, "tendon", 1.2, 13.75),
        ({"ForceVelocityCurve": {"isometric_slope": 7.0}}, "velocity", 0.0, 7.0),
        ({"ForceVelocityCurve": {"concentric_slope_at_vmax": 0.1}}, "velocity", -1.1, 0.1),
        ({"ForceVelocityCurve": {"eccentric_slope_near_vmax": 0.2}}, "velocity", 0.9, 0.2),
        ({"ActiveForceLengthCurve": {"shallow_ascending_slope": 0.7}}, "active", 0.84, 0.7),
    ],
)  # fmt: skip
def test_a_property_that_is_a_slope_is_the_slope(properties, name, at, expected):
    found = slope(getattr(MillardCurves(properties), name), at)
    assert found == pytest.approx(expected, rel=1e-4)
