"""Joints that were not measured follow from the loops that they close with measured ones."""

import mujoco
import numpy as np
import pytest

from trueup.errors import SignalError
from trueup.simulation.loops.closure import closed_loops
from trueup.simulation.loops.equalities import equality_rows, solvable_equalities
from trueup.simulation.loops.projection import coordinate_loops, velocity_shares
from trueup.sysid.torque.link_regressor import link_regressor, parameters_of

BODIES = """<mujoco><compiler angle="radian"/>
<option timestep="0.001" integrator="implicitfast" jacobian="dense"/>
<default><geom size=".01" mass="1" contype="0" conaffinity="0"/></default><worldbody>
<body pos="0 .1 .2" quat=".9 .1 .2 .3"><joint name="a" axis="0 1 .2" pos=".01 0 0"/><geom/>
 <site name="s0" pos=".02 0 .1" quat=".9 .3 .1 0"/>
 <body name="b" pos=".3 0 .1"><joint name="slide" type="slide" axis="1 .2 0"/>
  <joint name="c" axis="0 .3 1"/><geom/><site name="s1" pos=".02 0 .1"/></body></body>
<body name="r" pos=".2 0 0"><joint name="d" axis="1 0 0" ref=".2"/><geom/>
 <body name="r2" pos="0 .1 .2"><joint name="e" axis="0 0 1"/><geom/>
  <site name="s2" pos=".02 .3 .1" quat=".9 .3 .4 .1"/></body></body></worldbody>
<tendon><fixed name="f"><joint joint="a" coef=".3"/><joint joint="e" coef="-.2"/></fixed>
 <spatial name="sp"><site site="s0"/><site site="s1"/><site site="s2"/><pulley divisor="2"/>
  <site site="s0"/><site site="s2"/></spatial></tendon>
<equality>{}</equality></mujoco>"""
KINDS = {
    "connect of sites": '<connect site1="s1" site2="s2"/>',
    "connect of bodies": '<connect body1="b" body2="r2" anchor=".1 .2 .3"/>',
    "connect to the world": '<connect body1="r2" anchor=".1 .2 .3"/>',
    "joints": '<joint joint1="a" joint2="c" polycoef=".1 .5 .3 .2 .1"/>',
    "one joint": '<joint joint1="d" polycoef=".1 0 0 0 0"/>',
    "tendons": '<tendon tendon1="f" tendon2="sp" polycoef=".1 .4 .2 0 0"/>',
    "one tendon": '<tendon tendon1="sp"/>',
    "weld of sites": '<weld site1="s1" site2="s2"/>',
    "weld of bodies": '<weld body1="r2" body2="b" torquescale=".7"/>',
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_each_equality_are_those_of_mujoco(kind):
    model = mujoco.MjModel.from_xml_string(BODIES.format(KINDS[kind]))
    rng, data = np.random.default_rng(0), mujoco.MjData(model)
    qpos = model.qpos0 + 0.3 * rng.normal(size=(5, model.nq))
    qvel = rng.normal(size=(5, model.nv))
    rows = equality_rows(model, solvable_equalities(model), qpos, qvel)
    # MuJoCo's rotation rows are half a sine, and linear only at a closed weld
    exact = slice(0, 3) if "weld" in kind else slice(None)
    step = 1e-6
    for t in range(5):
        data.qpos[:] = qpos[t]
        mujoco.mj_fwdPosition(model, data)
        jacobian = data.efc_J.reshape(-1, model.nv)[exact]
        np.testing.assert_allclose(rows.gap[t][exact], data.efc_pos[exact], atol=1e-12)
        np.testing.assert_allclose(rows.jacobian[t][exact], jacobian, atol=1e-12)
        sides = [
            equality_rows(model, solvable_equalities(model), qpos[[t]] + d * qvel[t], qvel[[t]])
            for d in (step, -step)
        ]
        slope = (sides[0].jacobian[0] - sides[1].jacobian[0]) / (2 * step)
        np.testing.assert_allclose(rows.bias[t], slope @ qvel[t], atol=1e-7)


LINKS = """<mujoco><compiler angle="radian"/>
<option timestep="0.0005" integrator="implicitfast" jacobian="dense"/>
<default><geom type="capsule" size=".01" contype="0" conaffinity="0"/></default><worldbody>
<body name="base"><joint name="base" axis="0 0 1" damping=".1"/>
 <geom fromto="0 0 0 .1 0 0" mass="1"/>
<body name="crank"><joint name="crank" axis="0 1 0" armature=".01" damping=".2"/>
 <geom fromto="0 0 0 {crank}" mass=".3"/>
 <body name="coupler" pos="{crank}">{extra}<joint name="coupler" axis="0 1 0" damping=".02"/>
  <geom fromto="0 0 0 {coupler}" mass=".3"/></body></body>
<body name="rocker" pos="{ground} 0 0"><joint name="rocker" axis="0 1 0" damping=".03"/>
 <geom fromto="0 0 0 {rocker}" mass=".4"/></body></body></worldbody>
<equality><connect name="loop" body1="coupler" body2="rocker" anchor="{coupler}"
 solref="0.001 1" solimp="0.9999 0.9999 0.001 0.5 2"/></equality>
<actuator><motor joint="base"/><motor joint="crank"/></actuator>{keys}</mujoco>"""


def linkage(crank="0 0 .2", coupler=".3 0 .05", ground=".3", rocker="0 0 .25", extra="", keys=""):
    """A four-bar linkage on a turning base, closed in the pose of the model."""
    return mujoco.MjModel.from_xml_string(
        LINKS.format(
            crank=crank, coupler=coupler, ground=ground, rocker=rocker, extra=extra, keys=keys
        )
    )


BASE, CRANK, COUPLER, ROCKER = range(4)


def simulated(model, steps=4000):
    """Positions, velocities, accelerations and torques of a simulation."""
    data, rows = mujoco.MjData(model), []
    for k in range(steps):
        wave = np.array([0.3 * np.sin(0.002 * k), 0.9 * np.sin(0.0015 * k)])
        data.ctrl[:] = [2, 12] * (wave - data.qpos[:2]) - [0.1, 0.1] * data.qvel[:2]
        mujoco.mj_forward(model, data)
        rows.append((data.qpos.copy(), data.qvel.copy(), data.qacc.copy(), data.ctrl.copy()))
        mujoco.mj_step(model, data)
    return [np.array(part) for part in zip(*rows, strict=True)]


@pytest.fixture(scope="module")
def motion():
    model = linkage()
    return model, simulated(model)


def test_states_from_the_loop_are_those_of_a_simulation(motion):
    model, (qpos, qvel, qacc, _) = motion
    assert np.ptp(qpos[:, CRANK]) > 0.5
    (loop,), loose = closed_loops(model, [BASE, CRANK])
    assert loop.unknown == (COUPLER, ROCKER) and not loose
    found = [part.copy() for part in (qpos, qvel, qacc)]
    for part in found:
        part[:, [COUPLER, ROCKER]] = np.nan
    loop.follow(*found)
    # what is left is the softness of the constraint
    for part, true, bar in zip(found, (qpos, qvel, qacc), (2e-4, 2e-3, 5e-2), strict=True):
        assert np.abs(part - true).max() < bar * np.abs(true).max()


def test_projected_inverse_dynamics_is_the_applied_torque(motion):
    """Of exact states to rounding; of those of the simulation to the softness of its constraint."""
    model, (qpos, qvel, qacc, controls) = motion
    rows = (BASE, CRANK)
    loops = coordinate_loops(model, lambda dof: dof not in rows)
    assert [(loop.known, loop.unknown) for loop in loops] == [((CRANK,), (COUPLER, ROCKER))]
    qpos, qvel, qacc = (part.copy() for part in (qpos, qvel, qacc))
    loops[0].follow(qpos, qvel, qacc)

    def needed(qacc):
        shares = velocity_shares(loops, qpos, range(4), rows)
        tree = link_regressor(model, qpos, qvel, qacc) @ parameters_of(model)
        tree += model.dof_armature * qacc + model.dof_damping.reshape(-1)[: model.nv] * qvel
        return np.einsum("ta,tak->tk", tree, shares)

    assert np.abs(needed(qacc) - controls).max() < 2e-2 * np.abs(controls).max()
    # the accelerations of a rigid constraint: equations of motion with multipliers
    data, rigid = mujoco.MjData(model), qacc[::50].copy()
    constraint = equality_rows(model, [0], qpos[::50], qvel[::50])
    for k, t in enumerate(range(0, len(qpos), 50)):
        data.qpos[:], data.qvel[:] = qpos[t], qvel[t]
        mujoco.mj_forward(model, data)
        mass = np.zeros((model.nv, model.nv))
        mujoco.mj_fullM(model, data, mass)
        jacobian = constraint.jacobian[k]
        force = data.qfrc_passive - data.qfrc_bias
        force[: len(rows)] += controls[t]
        zero = np.zeros((len(jacobian),) * 2)
        equations = np.block([[mass, jacobian.T], [jacobian, zero]])
        right = np.concatenate([force, -constraint.bias[k]])
        rigid[k] = np.linalg.lstsq(equations, right, rcond=1e-12)[0][: model.nv]
    qpos, qvel = qpos[::50], qvel[::50]
    np.testing.assert_allclose(needed(rigid), controls[::50], atol=1e-6)


@pytest.mark.parametrize("reach", [0.5, 20.0])
def test_a_loop_stays_on_its_assembly(reach):
    """A four-bar has two assemblies; a short crank may turn round many times."""
    model = linkage(crank="0 0 .05", coupler=".3 0 .2", rocker="0 0 .25")
    times = np.arange(0, 6, 0.01)
    qpos, qvel = np.zeros((len(times), 4)), np.zeros((len(times), 4))
    qpos[:, CRANK] = reach * np.sin(times)
    qvel[:, CRANK] = reach * np.cos(times)
    (loop,), _ = closed_loops(model, [BASE, CRANK])
    loop.follow(qpos, qvel, times=times)
    assert np.abs(equality_rows(model, [0], qpos, qvel).gap).max() < 1e-9
    slope = np.gradient(qpos[:, ROCKER], times)
    bar = 0.01 * np.abs(qvel[:, ROCKER]).max()
    np.testing.assert_allclose(slope[1:-1], qvel[1:-1, ROCKER], atol=bar if reach < 1 else 9 * bar)
    # the same pose of the crank gives the same pose of the rocker
    order = np.argsort(np.mod(qpos[:, CRANK] + np.pi, 2 * np.pi))
    assert np.abs(np.diff(qpos[order, ROCKER])).max() < 0.05


def test_a_keyframe_gives_the_assembly_where_the_pose_of_the_model_does_not():
    """Crank, coupler and rocker in one line are at a dead point."""
    line = {"crank": ".2 0 0", "coupler": ".3 0 0", "ground": ".4", "rocker": ".1 0 0"}
    found, (loose,) = closed_loops(linkage(**line), [BASE, CRANK])
    assert not found and "dead point" in loose.reason and "keyframe" in loose.reason
    sides = []
    for side in (1, -1):
        key = f'<keyframe><key qpos="0 {0.3 * side} {-0.6 * side} {-0.9 * side}"/></keyframe>'
        (loop,), _ = closed_loops(linkage(**line, keys=key), [BASE, CRANK])
        assert np.abs(equality_rows(loop.model, [0], loop.reference[None]).gap).max() < 1e-9
        sides.append(np.sign(loop.reference[ROCKER]))
    assert sides[0] == -sides[1] != 0


@pytest.mark.parametrize(
    ("lengths", "words"),
    [
        ({"crank": "0 0 .3", "coupler": ".3 0 -.1", "rocker": "0 0 .2"}, "cannot be closed"),
        ({"coupler": ".3 0 0", "rocker": "0 0 .2"}, "is at a dead point"),
    ],
)
def test_what_cannot_be_followed_is_said_with_the_time(lengths, words):
    model = linkage(**lengths)
    times = np.arange(0, 2, 0.01)
    (loop,), _ = closed_loops(model, [BASE, CRANK])
    qpos, qvel = np.zeros((len(times), 4)), np.zeros((len(times), 4))
    qpos[:, CRANK] = 2.5 * times
    with pytest.raises(
        SignalError, match=rf"'loop' \(connect\) {words} at [01]\.\d+ s, with 'crank' at"
    ):
        loop.follow(qpos, qvel, times=times)


def test_joints_that_a_loop_leaves_free_are_named():
    model = linkage(extra='<joint name="extra" axis="0 1 0" pos="0 0 -.1"/>')
    found, (loose,) = closed_loops(model, [BASE, CRANK])
    assert not found
    assert "does not determine 'extra', 'coupler', 'rocker' from 'crank'" in loose.reason
    assert "record one more" in loose.reason
