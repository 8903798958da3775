"""Loads of the bench: a pendulum, and a joint of a MuJoCo model as a table."""

import mujoco
import numpy as np
import pytest
from bench_logs import make_log, make_model

from trueup.actuators import BenchSimulator, Pendulum, bench_of
from trueup.actuators.bench.loads import TabulatedBench
from trueup.errors import FitError, RecordingError, TargetError

MASS, LENGTH, ARM = 0.49, 0.1, 0.06

MODEL = f"""
<mujoco>
  <option gravity="0 0 -9.80665"/>
  <worldbody>
    <body>
      <joint name="shaft" axis="0 1 0" armature="0.02" damping="0.3" frictionloss="0.1"/>
      <geom type="sphere" size="0.001" pos="0 0 {-LENGTH}" mass="{MASS}"/>
      <geom type="capsule" size="0.0001" fromto="0 0 0 0 0 {-LENGTH}" mass="{ARM}"/>
      <body pos="0 0 {-LENGTH}">
        <joint name="tip" axis="0 1 0"/>
        <geom type="sphere" size="0.001" pos="0.05 0 0" mass="0.1"/>
      </body>
    </body>
    <body><freejoint name="free"/><geom size="0.1"/></body>
  </worldbody>
</mujoco>"""


@pytest.fixture(scope="module")
def mujoco_model():
    return mujoco.MjModel.from_xml_string(MODEL)


def test_a_pendulum_has_the_inertia_of_mass_and_arm():
    pendulum = Pendulum.from_masses(MASS, LENGTH, ARM)
    assert pendulum.inertia == pytest.approx((MASS + ARM / 3) * LENGTH**2)
    assert pendulum.gravity_torque == pytest.approx((MASS + ARM / 2) * 9.80665 * LENGTH)
    stated = make_log(mass=0.0, header={"total_inertia": 0.0067, "total_g_bias": -0.54})
    assert bench_of(stated) == Pendulum(0.0067, 0.54)
    with pytest.raises(RecordingError, match="inertia of a bench must be positive"):
        Pendulum(0.0, 1.0)


def test_a_table_of_a_pendulum_is_the_pendulum():
    angles = np.linspace(-2 * np.pi, 2 * np.pi, 1441)
    pendulum = Pendulum.from_masses(MASS, LENGTH, ARM)
    table = TabulatedBench(
        angles[0], angles[1] - angles[0], np.full(1441, pendulum.inertia),
        -pendulum.gravity_torque * np.sin(angles),
    )  # fmt: skip
    log = make_log()
    motions = [
        BenchSimulator(make_model(), [log], benches=[bench]).simulate().position[0]
        for bench in (pendulum, table)
    ]
    np.testing.assert_allclose(motions[1], motions[0], atol=2e-6)


def test_a_joint_of_a_model_is_a_bench(mujoco_model):
    bench = TabulatedBench.from_mujoco(mujoco_model, "shaft")
    # the second body hangs still: its mass, and its inertia about the axis
    inertia = (MASS + ARM / 3) * LENGTH**2 + 0.1 * (LENGTH**2 + 0.05**2)
    np.testing.assert_allclose(bench.inertia, inertia, rtol=1e-3)
    angles = bench.lower + bench.step * np.arange(len(bench.torque))
    down = (MASS + ARM / 2 + 0.1) * LENGTH * 9.80665
    # about +y the tip's mass, 5 cm along x, pulls towards positive angles
    expected = -down * np.sin(angles) + 0.1 * 0.05 * 9.80665 * np.cos(angles)
    np.testing.assert_allclose(bench.torque, expected, atol=1e-5)


def test_an_inertia_that_changes_conserves_energy():
    # no gravity, no friction, torque off: J(q) v^2 / 2 stays, so the joint speeds up where J falls
    angles = np.linspace(-7.0, 7.0, 1401)
    inertia = 0.01 * (2.0 + np.cos(angles))
    bench = TabulatedBench(
        angles[0], angles[1] - angles[0], inertia, np.zeros(1401), -0.01 * np.sin(angles),
        np.zeros(1401),
    )  # fmt: skip
    log = make_log(off_from=0.0, position=np.zeros(300), speed=np.full(300, 4.0))
    model = make_model("m1", armature=1e-4, friction_base=0.0, friction_viscous=0.0, q_offset=0.0)
    motion = BenchSimulator(model, [log], benches=[bench], max_step=1e-4).simulate()
    position, speed = motion.position[0][0], motion.speed[0][0]
    inside = np.abs(position) < 6.5
    energy = (0.01 * (2.0 + np.cos(position)) + 1e-4) * speed**2
    assert inside.sum() > 200 and np.ptp(speed[inside]) > 1.0
    np.testing.assert_allclose(energy[inside], energy[0], rtol=2e-3)


def test_benches_that_cannot_be_are_refused(mujoco_model):
    with pytest.raises(TargetError, match=r"no joint 'shafts'.*Did you mean 'shaft'"):
        TabulatedBench.from_mujoco(mujoco_model, "shafts")
    with pytest.raises(TargetError, match="one degree of freedom"):
        TabulatedBench.from_mujoco(mujoco_model, "free")
    with pytest.raises(RecordingError, match="3 finite values of torque"):
        TabulatedBench(0.0, 0.1, np.ones(3), np.ones(2))
    with pytest.raises(RecordingError, match="inertias of a tabulated bench must be positive"):
        TabulatedBench(0.0, 0.1, -np.ones(3), np.ones(3))
    with pytest.raises(FitError, match="2 benches for 1 logs"):
        BenchSimulator(make_model(), [make_log()], benches=[Pendulum(1.0, 1.0)] * 2)
