"""Signals resolved by name in MuJoCo models."""

import mujoco
import numpy as np
import pytest

from trueup.errors import SignalError
from trueup.signals import SignalType, TimeSeries

TIMES = np.linspace(0, 1, 10)

ARM = """
<mujoco>
  <worldbody>
    <body name="base"><joint name="shoulder"/><geom size="0.1" mass="1"/><site name="imu"/>
      <body pos="0 0 .2"><joint name="elbow" type="slide"/><geom size="0.1" mass="1"/></body>
    </body>
  </worldbody>
  <actuator>
    <motor name="m1" joint="shoulder"/>
    <general name="m2" joint="elbow" dyntype="filter" dynprm="0.1"/>
  </actuator>
  <sensor>
    <accelerometer name="acc" site="imu"/><gyro name="gyro" site="imu"/>
    <jointpos name="elbow_position" joint="elbow"/>
  </sensor>
</mujoco>
"""

TREES = {
    "hinges": """<body><joint name="j1"/><geom size=".1" mass="1"/>
        <body><joint name="j2"/><geom size=".1" mass="1"/></body></body>""",
    "free and hinges": """<body name="box"><freejoint name="root"/><geom size=".1"/></body>
        <body><joint name="h1"/><geom size=".1" mass="1"/>
        <body><joint name="h2"/><geom size=".1" mass="1"/></body></body>""",
    "two free bodies": """<body name="a"><freejoint/><geom size=".1"/></body>
        <body name="b" pos="1 0 0"><freejoint/><geom size=".1"/></body>""",
    "ball and hinge": """<body><joint name="ball" type="ball"/><geom size=".1" mass="1"/>
        <body><joint name="h"/><geom size=".1" mass="1"/></body></body>""",
    "hinge before free": """<body><joint name="h"/><geom size=".1" mass="1"/></body>
        <body name="box" pos="1 0 0"><freejoint/><geom size=".1"/></body>""",
    "without names": """<body><freejoint/><geom size=".1"/></body>
        <body><joint/><geom size=".1"/><body><joint/><geom size=".1"/></body></body>""",
}


@pytest.fixture(scope="module")
def arm() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(ARM)


def tree(name: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(f"<mujoco><worldbody>{TREES[name]}</worldbody></mujoco>")


@pytest.mark.parametrize("name", TREES)
def test_state_mapping_is_complete_and_right(name):
    model = tree(name)
    data = mujoco.MjData(model)
    data.qpos[:] = 100 + np.arange(model.nq)
    data.qvel[:] = 200 + np.arange(model.nv)
    full_physics = mujoco.mjtState.mjSTATE_FULLPHYSICS.value
    state = np.empty(mujoco.mj_stateSize(model, full_physics))
    mujoco.mj_getState(model, data, state, full_physics)
    qpos, qvel, act, ctrl = TimeSeries.compute_all_state_mappings(model)
    without_time = state[1:]
    positions = np.concatenate([without_time[columns] for _, columns in qpos.values()])
    velocities = np.concatenate([without_time[columns] for _, columns in qvel.values()])
    np.testing.assert_array_equal(np.sort(positions), data.qpos)
    np.testing.assert_array_equal(np.sort(velocities), data.qvel)
    assert (act, ctrl) == ({}, {})
    for joint in range(model.njnt):
        if model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_HINGE and model.joint(joint).name:
            label = model.joint(joint).name
            assert without_time[qpos[f"{label}_qpos"][1]] == data.joint(joint).qpos
            assert without_time[qvel[f"{label}_qvel"][1]] == data.joint(joint).qvel


def test_free_bodies_carry_the_name_of_their_body():
    qpos, qvel, _, _ = TimeSeries.compute_all_state_mappings(tree("free and hinges"))
    assert list(qpos) == ["box_qpos", "h1_qpos", "h2_qpos"]
    assert qvel["box_qvel"][1].tolist() == list(range(9, 15))


@pytest.mark.parametrize("name", ["box", "box_qpos", "root", "root_qpos"])
def test_a_free_joint_resolves_to_its_body(name):
    series = TimeSeries.from_names(TIMES, np.zeros((10, 7)), tree("free and hinges"), [name])
    assert list(series.signal_mapping) == ["box_qpos"]


def test_activations_count_after_positions_and_velocities(arm):
    _, _, act, ctrl = TimeSeries.compute_all_state_mappings(arm)
    assert {name: columns.tolist() for name, (_, columns) in act.items()} == {"m2_act": [4]}
    assert list(ctrl) == ["m1_ctrl", "m2_ctrl"]


def test_all_sensors_and_controls_are_found_with_their_widths(arm):
    series = TimeSeries.from_names(TIMES, np.zeros((10, 7)), arm)
    assert {name: columns.tolist() for name, (_, columns) in series.signal_mapping.items()} == {
        "acc": [0, 1, 2],
        "gyro": [3, 4, 5],
        "elbow_position": [6],
    }
    controls = TimeSeries.from_control_names(TIMES, np.zeros((10, 2)), arm)
    assert controls.get_indices("m2_ctrl") == (SignalType.MjCtrl, np.array([1]))


def test_names_set_the_column_order(arm):
    series = TimeSeries.from_names(TIMES, np.zeros((10, 4)), arm, ["elbow_position", "acc"])
    assert series.get_indices("elbow_position")[1].tolist() == [0]
    assert series.get_indices("acc")[1].tolist() == [1, 2, 3]
    controls = TimeSeries.from_control_names(TIMES, np.zeros((10, 2)), arm, ["m2", "m1_ctrl"])
    assert controls.get_indices("m2_ctrl")[1].tolist() == [0]
    assert controls.get_indices("m1_ctrl")[1].tolist() == [1]


def test_states_by_name_and_type(arm):
    series = TimeSeries.from_names(
        TIMES,
        np.zeros((10, 4)),
        arm,
        [
            ("shoulder", SignalType.MjStateQVel),
            ("shoulder", SignalType.MjStateQPos),
            "elbow_qvel",
            "m2_act",
        ],
    )
    assert {name: kind for name, (kind, _) in series.signal_mapping.items()} == {
        "shoulder_qvel": SignalType.MjStateQVel,
        "shoulder_qpos": SignalType.MjStateQPos,
        "elbow_qvel": SignalType.MjStateQVel,
        "m2_act": SignalType.MjStateAct,
    }


def test_name_errors_are_distinct(arm):
    with pytest.raises(SignalError, match=r"Could not resolve signal 'sholder'.*'shoulder_qpos'"):
        TimeSeries.from_names(TIMES, np.zeros((10, 1)), arm, ["sholder"])
    with pytest.raises(SignalError, match="MjSensor, which is not allowed"):
        TimeSeries.from_control_names(TIMES, np.zeros((10, 1)), arm, [("m1", SignalType.MjSensor)])
    with pytest.raises(SignalError, match="'m1_ctrl' is named twice"):
        TimeSeries.from_control_names(TIMES, np.zeros((10, 2)), arm, ["m1", "m1_ctrl"])
    with pytest.raises(SignalError, match="list of names"):
        TimeSeries.from_control_names(TIMES, np.zeros((10, 2)), arm, "m1")
    with pytest.raises(SignalError, match="Could not resolve"):
        TimeSeries.from_names(TIMES, np.zeros((10, 1)), arm, ["m1_act"])


def test_widths_must_fit(arm):
    with pytest.raises(SignalError, match=r"data has 6 columns, but the sensors.*have 7"):
        TimeSeries.from_names(TIMES, np.zeros((10, 6)), arm)
    with pytest.raises(SignalError, match=r"data has 2 columns.*acc \(3\)"):
        TimeSeries.from_names(TIMES, np.zeros((10, 2)), arm, ["acc"])
    with pytest.raises(SignalError, match="data has 3 columns, but the actuators"):
        TimeSeries.from_control_names(TIMES, np.zeros((10, 3)), arm)
    with pytest.raises(SignalError, match="2-dimensional"):
        TimeSeries.from_names(TIMES, np.zeros(10), arm)


def test_a_joint_name_never_resolves_to_a_sensor_of_its_body():
    model = mujoco.MjModel.from_xml_string(
        """<mujoco><worldbody><body name="box"><freejoint name="root"/><geom size=".1"/>
        </body></worldbody><sensor><framepos name="box" objtype="body" objname="box"/></sensor>
        </mujoco>"""
    )
    assert list(
        TimeSeries.from_names(TIMES, np.zeros((10, 7)), model, ["root"]).signal_mapping
    ) == ["box_qpos"]
    assert list(TimeSeries.from_names(TIMES, np.zeros((10, 3)), model, ["box"]).signal_mapping) == [
        "box"
    ]
