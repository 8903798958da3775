"""Import proposes links and constant torques that recorded torques show to differ."""

import mujoco
import numpy as np
import pytest
import yaml

from trueup.sysid.importing.import_log import propose_import

ARM = """<mujoco><compiler angle="radian"/><worldbody>
<body name="upper"><joint name="shoulder" axis="0 1 0"/>
 <geom type="capsule" fromto="0 0 0 0 0 -.4" size=".04" mass="{upper}"/>
 <body name="fore" pos="0 0 -.4"><joint name="elbow" axis="0 1 0"/>
  <geom type="capsule" fromto="0 0 0 {shift} 0 -.3" size=".03" mass="{fore}"/>
 </body></body></worldbody></mujoco>"""
MODEL = {"upper": 2.0, "fore": 1.0, "shift": 0.0}
LINKAGE = """<mujoco><compiler angle="radian"/><worldbody>
<body name="crank"><joint name="crank" axis="0 1 0"/>
 <geom type="capsule" size=".01" fromto="0 0 0 0 0 .2" mass=".3"/>
 <body name="coupler" pos="0 0 .2"><joint name="coupler" axis="0 1 0"/>
  <geom type="capsule" size=".01" fromto="0 0 0 .3 0 0" mass=".3"/></body></body>
<body name="rocker" pos=".3 0 0"><joint name="rocker" axis="0 1 0"/>
 <geom type="capsule" size=".01" fromto="0 0 0 0 0 .2" mass="{rocker}"/></body></worldbody>
<equality><connect name="loop" body1="coupler" body2="rocker" anchor=".3 0 0"/></equality>
</mujoco>"""


def waves(joints, seconds=12.0, rate=100):
    """Times, and positions, velocities and accelerations of joints."""
    times = np.arange(0, seconds, 1 / rate)
    speed = 2 * np.pi * np.array([[0.23, 0.41, 0.9], [0.31, 0.57, 1.1]])[:joints]
    angle = speed * times[:, None, None] + np.array([[0, 1, 2], [2, 3, 1]])[:joints]
    q = 0.4 * np.sin(angle).sum(axis=2)
    v = 0.4 * (speed * np.cos(angle)).sum(axis=2)
    return times, q, v, -0.4 * (speed**2 * np.sin(angle)).sum(axis=2)


def needed(text, q, v, a):
    """Torques of inverse dynamics, without constraints."""
    model = mujoco.MjModel.from_xml_string(text)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    data, out = mujoco.MjData(model), []
    for row in zip(q, v, a, strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = row
        mujoco.mj_inverse(model, data)
        out.append(data.qfrc_inverse.copy())
    return np.array(out)


def proposed(folder, model, times, names, q, v, torque):
    """Parameters of the proposed experiment, and its open points."""
    (folder / "model.xml").write_text(model)
    rng = np.random.default_rng(0)
    torque = torque + rng.normal(scale=0.02, size=torque.shape)
    header = ["t"] + [f"{n}_{what}" for what in ("pos", "vel", "torque") for n in names]
    table = np.column_stack([times, q, v, torque])
    np.savetxt(folder / "log.csv", table, delimiter=",", header=",".join(header), comments="")
    found = propose_import(folder / "model.xml", [folder / "log.csv"], folder).proposal
    return yaml.safe_load(found.text)["parameters"], found.open_points


@pytest.mark.parametrize(
    ("machine", "offset", "expected"),
    [
        ({}, 0.0, {}),
        ({}, 0.4, {"elbow_offset": "actuator"}),
        ({"fore": 1.3}, 0.0, {"fore_mass": "density"}),
        ({"fore": 1.3, "upper": 2.6}, 0.0, {"fore_mass": "density", "upper_mass": "density"}),
        (
            {"fore": 1.3, "shift": 0.1},
            -0.4,
            {
                "shoulder_offset": "actuator",
                "elbow_offset": "actuator",
                "upper_link": "pseudo",
                "fore_link": "pseudo",
            },
        ),
    ],
    ids=["right", "offset", "mass", "masses", "centre"],
)
def test_what_differs_is_an_unknown(tmp_path, machine, offset, expected):
    times, q, v, a = waves(2)
    torque = needed(ARM.format(**{**MODEL, **machine}), q, v, a)
    torque += 0.05 * a + 0.3 * v + 0.2 * np.tanh(v / 0.02)
    torque[:, 1] -= offset
    names = ("shoulder", "elbow")
    parameters, points = proposed(tmp_path, ARM.format(**MODEL), times, names, q, v, torque)
    joints = {f"{n}_{what}" for n in names for what in ("armature", "damping", "friction")}
    found = {n: p for n, p in parameters.items() if n not in joints}
    kinds = {n: p.get("inertia_type", str(p.get("target")).split("/")[0]) for n, p in found.items()}
    assert kinds == expected
    assert any("torques" in point for point in points) == bool(expected)


def test_of_links_that_move_alike_the_heaviest_counts_and_the_others_are_named(tmp_path):
    times, q, v, a = waves(1)
    # a parallelogram: crank and rocker turn alike, and the coupler does not turn
    every = [np.column_stack([each, -each, each]) for each in (q, v, a)]
    forces = needed(LINKAGE.format(rocker=0.7), *every) @ np.array([1.0, -1.0, 1.0])
    torque = forces[:, None] + 0.02 * a + 0.3 * v + 0.2 * np.tanh(v / 0.02)
    model = LINKAGE.format(rocker=0.4)
    parameters, points = proposed(tmp_path, model, times, ("crank",), q, v, torque)
    assert [n for n, p in parameters.items() if "inertia" in p] == ["rocker_mass"]
    (point,) = [p for p in points if "rocker" in p and "mass" in p]
    assert "'crank' and 'coupler'" in point or "crank, coupler" in point.replace("'", "")
