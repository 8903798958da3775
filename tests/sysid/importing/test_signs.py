"""Signs of joints: whole chains, and left against right."""

import mujoco
import numpy as np
import pytest
import yaml

from trueup.errors import ExperimentError
from trueup.sysid.importing.evidence.joints import read_joints
from trueup.sysid.importing.evidence.reading import JointSeries
from trueup.sysid.importing.import_logs import import_logs
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

T = np.arange(0, 8, 0.01)


def legs(crooked: float = 0.0) -> mujoco.MjModel:
    """Two legs of two links; ``crooked`` moves the mass of the shanks to the front [m]."""
    return mujoco.MjModel.from_xml_string(text_of_legs(crooked))


def text_of_legs(crooked: float = 0.0) -> str:
    """MJCF of these legs."""
    legs = "".join(
        f'<body pos="0 {y} 1"><joint name="{side}_hip" axis="0 1 0"/>'
        '<geom type="capsule" fromto="0 0 0 0 0 -.2" size=".02" mass="1"/>'
        f'<body pos="0 0 -.2"><joint name="{side}_knee" axis="0 1 0"/>'
        f'<geom type="capsule" fromto="{crooked} 0 0 {crooked} 0 -.2" size=".02" mass=".6"/>'
        "</body></body>"
        for side, y in (("left", 0.1), ("right", -0.1))
    )
    return f'<mujoco><compiler angle="radian"/><worldbody>{legs}</worldbody></mujoco>'


def motion(middle=(0.6, -1.3, 0.7, -1.4)):
    """Angles of the joints ``(T, 4)`` [rad] and their torques on straight or crooked legs."""
    return np.array(middle) + 0.4 * np.sin(np.outer(T, np.array([1.9, 2.7, 2.2, 3.1])))


def torques(model: mujoco.MjModel, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Velocities [rad/s] and torques [N m] of a motion."""
    v = np.gradient(q, T, axis=0)
    a = np.gradient(v, T, axis=0)
    return v, link_regressor(model, q, v, a) @ parameters_of(model) + 0.1 * v + 0.02 * a


def signs(model: mujoco.MjModel, factors, middle=(0.6, -1.3, 0.7, -1.4)):
    """Certainty of the sign of each joint, and its scale, with columns times ``factors``."""
    q = motion(middle)
    v, tau = torques(model, q)
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


@pytest.fixture
def mirrored_log(tmp_path):
    """A log in which the left leg counts the other way, and its model."""
    (tmp_path / "legs.xml").write_text(text_of_legs())
    q = motion()
    _, tau = torques(legs(), q)
    table = np.column_stack([T, q * [-1, -1, 1, 1], tau * [-1, -1, 1, 1]])
    joints = ("left_hip", "left_knee", "right_hip", "right_knee")
    names = [f"{joint}_{what}" for what in ("pos", "tau") for joint in joints]
    header = ",".join(["t", *names])
    np.savetxt(tmp_path / "log.csv", table, delimiter=",", header=header, comments="")
    return tmp_path


def scales_of(folder, mirrored):
    """Scale of each column of an experiment file, as imported with an answer."""
    import_logs(
        folder / "legs.xml", [folder / "log.csv"], folder / "x.yaml", overwrite=True,
        mirrored=mirrored,
    )  # fmt: skip
    (part,) = yaml.safe_load((folder / "x.yaml").read_text())["recordings"]
    given = {**part["signals"], **part["controls"]}
    return {
        c["column"] if isinstance(c, dict) else c: c.get("scale", 1) if isinstance(c, dict) else 1
        for c in given.values()
    }


def test_an_open_sign_is_answered_and_never_taken_as_it_is(mirrored_log):
    with pytest.raises(ExperimentError, match=r"left_hip and right_hip stand .*--reversed"):
        scales_of(mirrored_log, ())
    assert not (mirrored_log / "x.yaml").exists()
    scales = scales_of(mirrored_log, ["left_hip", "left_knee"])
    assert {name for name, scale in scales.items() if scale == -1} == {
        *("left_hip_pos", "left_knee_pos", "left_hip_tau", "left_knee_tau"),
    }
    assert set(scales_of(mirrored_log, ["none"]).values()) == {1}
    with pytest.raises(
        ExperimentError, match=r"--reversed left_hp is not .*Did you mean 'left_hip'"
    ):
        scales_of(mirrored_log, ["left_hp"])
