"""Any single joint of a MuJoCo model as a bench: the same motion as in MuJoCo itself."""

import mujoco
import numpy as np
import pytest
from mujoco.batch import Batch
from servo_law_models import pendulum_log, small_servo

from trueup.actuators import BenchSimulator, bench_from_mujoco, servo_law
from trueup.errors import ModelError, RecordingError, TargetError

LEG = """
<mujoco>
  <compiler angle="radian"/>
  <default><geom contype="0" conaffinity="0"/></default>
  <option timestep="0.001"/>
  <worldbody>
    <body euler="0.2 0 0.1">
      <body euler="0 {hip_angle} 0">
        {hip}
        <geom type="capsule" size="0.02" fromto="0 0 0 0.02 0 -0.15" mass="0.2"/>
        <body pos="0 0 -0.15">
          <joint name="knee" axis="0 1 0" stiffness="0.1" springref="0.3" armature="5" damping="1"/>
          <geom type="capsule" size="0.015" fromto="0 0 0 0.03 0.01 -0.12" mass="0.15"/>
          <body pos="0 0 -0.12" euler="0 {ankle_angle} 0">
            {ankle}
            <geom type="box" size="0.04 0.02 0.01" pos="0.02 0 0" mass="0.05"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
HIP, ANKLE = '<joint name="hip" axis="0 1 0"/>', '<joint name="ankle" axis="0 1 0"/>'


def leg_text(hip: str = HIP) -> str:
    return LEG.format(hip=hip, ankle=ANKLE, hip_angle=0, ankle_angle=0)


def leg_spec() -> mujoco.MjSpec:
    return mujoco.MjSpec.from_string(leg_text())


def test_bench_moves_as_the_joint_in_mujoco():
    log, model = pendulum_log("xl330", 200.0), small_servo("m5")
    others = {"hip": 0.4, "ankle": -0.3}
    bench = bench_from_mujoco(leg_spec(), "knee", others=others)
    expected = BenchSimulator(model, [log], benches=[bench]).simulate().position[0][0]
    locked = mujoco.MjSpec.from_string(
        LEG.format(hip="", ankle="", hip_angle=0.4, ankle_angle=-0.3)
    )
    servos = servo_law(locked, {"knee": model}, kp=log.kp)
    batch = Batch(servos.compile(), 1)
    assert batch.model.nv == 1
    batch.bind("qpos")[:], batch.bind("qvel")[:] = log.position[0], log.speed[0]
    controls = servos.controls(
        goal={"knee": np.repeat(log.goal_position, 5)},
        torque_off={"knee": np.repeat(1.0 - log.torque_enable, 5)},
    )
    with servos.installed(batch):
        found = batch.rollout(len(controls), controls[None], record=["qpos"])["qpos"][0, :, 0]
    assert np.ptp(expected) > 0.5
    np.testing.assert_allclose(found[4:-1:5], expected[1:], rtol=0, atol=1e-5)


def test_where_the_other_joints_stand_matters(tmp_path):
    path = tmp_path / "leg.xml"
    path.write_text(leg_text())
    straight = bench_from_mujoco(path, "hip")
    bent = bench_from_mujoco(path, "hip", others={"knee": 1.5})
    assert straight.inertia[0] > 1.3 * bent.inertia[0]
    compiled = leg_spec().compile()
    same = bench_from_mujoco(compiled, "hip")
    np.testing.assert_array_equal(same.torque, straight.torque)


def test_a_range_is_the_range_of_the_table():
    spec = mujoco.MjSpec.from_string(leg_text(HIP.replace("/>", ' range="-0.5 1"/>')))
    bench = bench_from_mujoco(spec, "hip", points=31)
    assert (bench.lower, bench.step) == (-0.5, pytest.approx(0.05))
    assert len(bench.inertia) == 31


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: bench_from_mujoco("none.xml", "hip"), ModelError, "none.xml"),
        (lambda: bench_from_mujoco(leg_spec(), "hipp"), TargetError, "Did you mean 'hip'"),
        (lambda: bench_from_mujoco(leg_spec(), "hip", points=1), RecordingError, "two points"),
        (lambda: bench_from_mujoco(leg_spec(), "hip", others={"toe": 1}), TargetError, "'toe'"),
    ],
)
def test_what_is_no_bench_is_refused(call, error, words):
    with pytest.raises(error, match=words):
        call()
