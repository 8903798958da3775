"""Stops of joints, pads of the soles, elastic calf tendons and ranges of gains of planar22."""

import mujoco
import numpy as np
import pytest

from trueup.gait import (
    Walker,
    WalkSettings,
    WalkSimulation,
    adult_norm,
    planar22,
    planar22_anatomy,
)
from trueup.gait.models.metabolic import muscle_fibers
from trueup.gait.models.planar22 import planar22_numbers


@pytest.fixture(scope="module")
def model():
    return planar22().compile()


def held(model, angles, above=0.5):
    """Data of a pose that is held still: constraints bear what keeps it there.

    Args:
      model: the walker.
      angles: joint -> angle [rad].
      above: height of the lowest sole above the ground [m].
    """
    data = mujoco.MjData(model)
    for name, angle in angles.items():
        data.joint(name).qpos[0] = angle
    mujoco.mj_kinematics(model, data)
    spheres = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_SPHERE)
    lowest = np.min(data.geom_xpos[spheres, 2] - model.geom_size[spheres, 0])
    data.joint("pelvis_ty").qpos[0] += above - lowest
    data.qacc[:] = 0.0
    mujoco.mj_inverse(model, data)
    return data


def stop_torque(model, joint, degrees):
    data = held(model, {f"{joint}_r": np.deg2rad(degrees)})
    return float(data.qfrc_constraint[model.joint(f"{joint}_r").dofadr[0]])


@pytest.mark.parametrize(
    ("joint", "end", "begin"),
    [("knee_angle", 0.0, -8.0), ("hip_flexion", -30.0, -18.0), ("ankle_angle", 30.0, 20.0)],
)
def test_stops_begin_before_the_end_and_grow_without_a_jump(model, joint, end, begin):
    inwards = np.sign(begin - end)
    assert stop_torque(model, joint, begin + 0.1 * inwards) == 0.0
    beyond = end - 6.0 * inwards
    torques = np.array([stop_torque(model, joint, a) for a in np.linspace(begin, end, 60)])
    assert (inwards * np.diff(torques) >= 0.0).all()
    stated = planar22_numbers()["joints"][joint]["torque"]
    assert inwards * stop_torque(model, joint, end) == pytest.approx(stated, rel=1e-3)
    assert inwards * stop_torque(model, joint, beyond) > 4.0 * stated
    # the first fifth of the way bears next to nothing, no step is a wall
    assert np.abs(torques[:12]).max() < 0.01 * stated
    assert np.abs(np.diff(torques)).max() < 0.15 * stated


def test_a_straight_knee_is_held_as_by_its_ligaments(model):
    """Riener and Edrich 1999, hip and ankle at 0: 4.6 N m at 5, 10.4 N m at 0, 22 N m at -5 deg."""

    def riener(flexion):
        return (
            np.exp(1.8 - 0.0352 * flexion)
            - np.exp(-3.971 + 0.0495 * flexion)
            - 4.82
            + np.exp(2.22 - 0.15 * flexion)
        )

    straight = -stop_torque(model, "knee_angle", 0.0)
    assert straight == pytest.approx(riener(0.0), rel=0.1)
    assert -stop_torque(model, "knee_angle", -5.0) < riener(5.0)


@pytest.mark.parametrize(
    ("sole", "pose"),
    [
        ("heel", {"ankle_angle_r": 0.3}),
        ("toe", {"ankle_angle_r": -0.4}),
    ],
)
def test_soles_yield_as_stiffly_as_stated(model, sole, pose):
    pad = planar22_numbers()["feet"][sole]
    lifted = {"hip_flexion_l": 0.8, "knee_angle_l": -1.2}
    for depth in (0.002, 0.006):
        data = held(model, lifted | pose, -depth)
        assert data.ncon == 1
        upward = data.qfrc_constraint[model.joint("pelvis_ty").dofadr[0]]
        assert upward == pytest.approx(pad["stiffness"] * depth, rel=1e-6)


@pytest.mark.parametrize("sole", ["heel", "toe"])
def test_a_loaded_sole_grips(model, sole):
    """Friction of 150 N of a sole creeps by less than 5 mm/s: ``f = b v / R`` at rest."""
    pose = {"heel": {"ankle_angle_r": 0.3}, "toe": {"ankle_angle_r": -0.4}}[sole]
    depth = 240.0 / planar22_numbers()["feet"][sole]["stiffness"]
    data = held(model, {"hip_flexion_l": 0.8, "knee_angle_l": -1.2} | pose, -depth)
    (contact,) = data.contact
    normal, forward = contact.efc_address, contact.efc_address + 1
    assert data.efc_force[normal] == pytest.approx(240.0, rel=1e-6)
    assert 150.0 * data.efc_R[forward] / data.efc_KBIP[forward, 1] < 0.005


def test_a_foot_that_slaps_down_does_not_stop_the_leg(model):
    """A stance leg on its heel; the forefoot lands at 2 m/s, with less than half a body weight."""
    weight = 9.81 * np.sum(model.body_mass)
    data = held(model, {"ankle_angle_r": 0.0, "hip_flexion_l": 0.8, "knee_angle_l": -1.2}, -0.002)
    mujoco.mj_forward(model, data)
    still = data.sensor("r_foot").data[0] + data.sensor("r_toes").data[0]
    data.joint("ankle_angle_r").qvel[0] = -15.0
    mujoco.mj_forward(model, data)
    slapped = data.sensor("r_foot").data[0] + data.sensor("r_toes").data[0]
    assert slapped - still < 0.5 * weight


def test_calf_muscles_have_the_range_of_a_unit_with_an_elastic_tendon(model):
    shares = planar22_anatomy().fiber_share
    assert set(shares) == {"SOL", "GAS"}
    for name, group in (("soleus", "SOL"), ("gastroc", "GAS")):
        muscle = planar22_numbers()["muscles"][name]
        fiber = muscle["fiber"] * np.cos(np.deg2rad(muscle["pennation"]))
        low, high = model.actuator(f"{name}_r").lengthrange
        # MuJoCo's range is half an optimal length to either side
        assert high - low == pytest.approx(fiber / shares[group])
    # the length of the largest force is that of the rigid tendon: slack plus half of its stretch
    tibia, calcn = (model.site(f"soleus_r-P{k}") for k in (1, 2))
    assert tibia.bodyid != calcn.bodyid
    soleus = planar22_numbers()["muscles"]["soleus"]
    optimum = 0.5 * model.actuator("soleus_r").lengthrange.sum()
    expected = soleus["tendon"] * 1.05 + soleus["fiber"] * np.cos(np.deg2rad(25.0))
    assert optimum == pytest.approx(expected)


def test_tendons_do_no_metabolic_work_and_have_no_mass():
    walker = Walker.load("planar22")
    rigid = Walker(walker.model, walker.anatomy.model_copy(update={"fiber_share": {}}))
    names = walker.muscle_names
    own, other = (dict(zip(names, muscle_fibers(w), strict=True)) for w in (walker, rigid))
    assert own["soleus_r"]["share"] == 0.4 and other["soleus_r"]["share"] == 1.0
    assert own["soleus_r"]["mass"] == pytest.approx(0.4 * other["soleus_r"]["mass"])
    assert own["vasti_r"] == other["vasti_r"]


def test_gains_have_ranges_that_keep_physiological_structure():
    parameters = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=0.1)).parameters
    gains = parameters.entries[parameters.group("gain")]
    for entry in gains:
        assert np.isfinite([entry.lower, entry.upper]).all(), entry.name
        assert entry.lower <= entry.start <= entry.upper, entry.name
    upper = parameters.start.copy()
    upper[parameters.group("gain")] = [entry.upper for entry in gains]
    highest = parameters.values(upper[None], "gain")[0]
    largest = {entry.name: value for entry, value in zip(gains, highest, strict=True)}
    # vasti are inhibited before the knee is straight (Geyer and Herr 2010: 170 degrees)
    assert np.rad2deg(largest["knee_off_st"]) <= 172.0 + 1e-9
    # with twice the published gain a positive force feedback saturates
    assert largest["1_VAS_FG"] <= 2.4 and largest["1_SOL_FG"] <= 2.4


def test_a_walk_starts_as_adults_do_when_a_foot_has_lifted_off():
    """Both legs at one phase of the norm, half a cycle apart, and the front foot at rest."""
    simulation = WalkSimulation(Walker.load("planar22"), WalkSettings(duration=0.1, threads=1))
    model, curves = simulation.walker.model, adult_norm().reference.angles
    key = model.key("walk_left")
    signs = {"hip_flexion": 1.0, "knee_angle": -1.0}
    for side, percent in (("r", 63), ("l", 13)):
        for joint, sign in signs.items():
            at = model.joint(f"{joint}_{side}").qposadr[0]
            norm = curves[joint.split("_")[0]].mean[percent]
            assert sign * key.qpos[at] == pytest.approx(norm, abs=np.deg2rad(5.0))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, key.id)
    data.joint("pelvis_tx").qvel[0] = 1.25
    mujoco.mj_forward(model, data)
    velocity = np.zeros(6)
    mujoco.mj_objectVelocity(
        model, data, mujoco.mjtObj.mjOBJ_GEOM, model.geom("heel_l").id, velocity, 0
    )
    assert abs(velocity[3]) < 0.25
    start = simulation.parameters.values(simulation.parameters.start[None], "pose")[0]
    entries = simulation.parameters.entries[simulation.parameters.group("pose")]
    for entry, value in zip(entries, start, strict=True):
        if not entry.name.startswith("vel_"):
            at = model.joint(entry.name).qposadr[0]
            assert value == pytest.approx(key.qpos[at], abs=1e-9), entry.name
