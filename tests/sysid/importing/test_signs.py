"""Signs of joints: whole chains, and left against right."""

import mujoco
import numpy as np
import pytest

from trueup.sysid.importing.evidence.joints import read_joints
from trueup.sysid.importing.evidence.reading import JointSeries
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

T = np.arange(0, 8, 0.01)


def legs(crooked: float = 0.0) -> mujoco.MjModel:
    """Two legs of two links; ``crooked`` moves the mass of the shanks to the front [m]."""
    legs = "".join(
        f'<body pos="0 {y} 1"><joint name="{side}_hip" axis="0 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass="1"/>'
        f'<body pos="0 0 -.2"><joint name="{side}_knee" axis="0 1 0"/>'
        f'<geom type="capsule" fromto="{crooked} 0 0 {crooked} 0 -.2" size=".02" mass=".6"/>'
        "</body></body>"
        for side, y in (("left", 0.1), ("right", -0.1))
    )
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{legs}</worldbody></mujoco>")


def signs(model: mujoco.MjModel, factors, middle=(0.6, -1.3, 0.7, -1.4)):
    """Certainty of the sign of each joint, and its scale, with columns times ``factors``."""
    rates = np.array([1.9, 2.7, 2.2, 3.1])
    q = np.array(middle) + 0.4 * np.sin(np.outer(T, rates))
    v = np.gradient(q, T, axis=0)
    a = np.gradient(v, T, axis=0)
    tau = link_regressor(model, q, v, a) @ parameters_of(model) + 0.1 * v + 0.02 * a
    series = JointSeries(T, (0, 1, 2, 3), q * factors, v * factors, None, tau * factors)
    columns = dict(enumerate(("a", "b", "c", "d")))
    readings = read_joints(model, series, columns, False, "a table")
    return [r.sure_of("sign") for r in readings], [r.scale for r in readings]


def test_a_mirrored_leg_is_asked_about_by_the_other_leg():
    sure, scales = signs(legs(), np.array([-1, -1, 1, 1]))
    assert sure == ["ask"] * 4 and scales == [1] * 4
    sure, _ = signs(legs(), np.ones(4))
    assert "ask" not in sure and "confirmed" not in sure


def test_the_mass_of_a_crooked_leg_tells_that_it_is_mirrored():
    sure, scales = signs(legs(crooked=0.08), np.array([-1, -1, 1, 1]))
    assert sure[:2] == ["found"] * 2 and scales == [-1, -1, 1, 1]
    sure, scales = signs(legs(crooked=0.08), np.ones(4))
    assert sure == ["confirmed"] * 4 and scales == [1] * 4


@pytest.mark.parametrize("which", range(4))
def test_one_mirrored_joint_is_found_without_velocities(which):
    factors = np.ones(4)
    factors[which] = -1
    sure, scales = signs(legs(), factors)
    assert scales[which] == -1 or sure[which] == "ask"
