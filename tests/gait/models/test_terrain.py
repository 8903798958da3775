"""Slopes and stairs: what is built is what was asked for, and walking counts from it."""

import mujoco
import numpy as np
import pytest

from trueup.errors import GaitError
from trueup.gait import (
    Stairs,
    Walker,
    WalkSettings,
    WalkSimulation,
    planar22,
    planar22_anatomy,
)
from trueup.gait.models.terrain import ground_friction

MODEL = "myoassist/models/22muscle_2D/myoLeg22_2D_TUTORIAL.xml"


def ground_below(model, data, x, y=0.0):
    """Height of the first thing of the world below a point, found by a ray [m]."""
    geom = np.zeros(1, dtype=np.int32)
    start, down = np.array([x, y, 30.0]), np.array([0.0, 0.0, -1.0])
    world = int(model.body("pelvis").id)
    groups = None
    while True:
        found = mujoco.mj_ray(model, data, start, down, groups, 1, world, geom)
        assert found >= 0.0
        start = start + found * down
        if model.body_weldid[model.geom_bodyid[geom[0]]] == 0:
            return start[2]
        start = start + 1e-6 * down


def still(walker):
    data = mujoco.MjData(walker.model)
    mujoco.mj_forward(walker.model, data)
    return data


@pytest.mark.parametrize("slope", [5.0, -5.0, 10.0])
@pytest.mark.parametrize("name", ["planar22", "myolegs26"])
def test_the_built_slope_is_the_requested_one(name, slope):
    """In the reference 5 degrees are 1.12."""
    if name != "planar22":
        pytest.importorskip("myo_sim")
    walker = Walker.load(name, slope=slope)
    data = still(walker)
    x = np.array([2.0, 5.0, 12.0, 25.0])
    heights = np.array([ground_below(walker.model, data, at) for at in x])
    built = np.rad2deg(np.arctan2(np.diff(heights), np.diff(x)))
    np.testing.assert_allclose(built, slope, atol=0.05)
    np.testing.assert_allclose(heights, walker.ground(x), atol=1e-9)


@pytest.mark.parametrize("rise", [0.17, -0.1])
@pytest.mark.parametrize("name", ["planar22", "myolegs26", "file"])
def test_built_stairs_are_the_requested_ones(name, rise, recorded_data):
    if name == "myolegs26":
        pytest.importorskip("myo_sim")
    stairs = Stairs(rise, 0.29, start=1.5, count=20)
    walker = Walker.load(recorded_data / MODEL if name == "file" else name, stairs=stairs)
    data = still(walker)
    middles = 1.5 + 0.29 * (np.arange(20) + 0.5)
    heights = [ground_below(walker.model, data, x, 0.6) for x in (*middles, 12.0, 1.45)]
    expected = [*rise * np.arange(1, 21), 20 * rise, 0.0]
    np.testing.assert_allclose(heights, expected, atol=1e-9)
    np.testing.assert_allclose(walker.ground(np.array([*middles, 12.0, 1.45])), expected)
    # the edge of the fifth step, 0.5 mm before and behind it
    edge = 1.5 + 4 * 0.29
    before, behind = (ground_below(walker.model, data, edge + d, 0.6) for d in (-5e-4, 5e-4))
    assert before == pytest.approx(4 * rise) and behind == pytest.approx(5 * rise)


def test_feet_touch_stairs():
    stairs = Stairs(0.1, 0.3, start=0.5, count=5)
    walker = Walker.load("planar22", stairs=stairs)
    model, data = walker.model, mujoco.MjData(walker.model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("stand").id)
    data.qpos[0], data.qpos[1] = 0.95, data.qpos[1] + 0.2 - 1e-3
    mujoco.mj_forward(model, data)
    touched = {model.geom(int(g)).name for c in data.contact[: data.ncon] for g in c.geom}
    assert "step_1" in touched and "ground-plane" not in touched
    assert data.sensor("r_foot").data[0] > 0.0


def test_heights_count_from_the_stairs():
    """Soles from the step that they are over, and the pelvis from the mean of the stairs."""
    stairs = Stairs(-0.1, 0.3, start=0.5, count=50)
    down = WalkSimulation(Walker.load("planar22", stairs=stairs), SETTINGS)
    flat = WalkSimulation(Walker.load("planar22"), SETTINGS)
    X = flat.parameters.start[None]
    walks = [simulation.run(X).column("sole_l")[0].copy() for simulation in (down, flat)]
    # the same until the foot has left the level ground
    np.testing.assert_allclose(walks[0][:5], walks[1][:5], atol=1e-9)
    assert np.nanmin(walks[0]) > -0.03


SETTINGS = WalkSettings(duration=0.8, delayed=False, threads=1)


def test_the_start_is_on_the_slope():
    for slope in (8.0, -8.0):
        simulation = WalkSimulation(Walker.load("planar22", slope=slope), SETTINGS)
        records = simulation.run(simulation.parameters.start[None])
        lowest = min(records.column(f"sole_{side}")[0, 0] for side in "rl")
        assert not records.invalid and abs(lowest) < 0.02


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0.0, 0.3), "the rise of the stairs is 0 m; its magnitude must be above 0"),
        ((0.5, 0.3), "the rise of the stairs is 0.5 m"),
        ((0.1, 0.01), "the run of the stairs is 0.01 m"),
        ((0.1, 0.3, 0.0), "the stairs start at 0 m"),
        ((0.1, 0.3, 2.0, 0), "the number of steps is 0"),
    ],
)
def test_stairs_that_are_none(sizes, message):
    with pytest.raises(GaitError, match=message):
        Stairs(*sizes)


def test_ground_that_cannot_be_built():
    with pytest.raises(GaitError, match="slope and stairs cannot"):
        Walker.load("planar22", slope=3.0, stairs=Stairs(0.1, 0.3))
    with pytest.raises(GaitError, match="the slope is 45 deg"):
        Walker.load("planar22", slope=45.0)


def slippery(tmp_path, friction, condim=3):
    """The planar walker with another friction of soles and ground."""
    spec, anatomy = planar22(), planar22_anatomy()
    for contact in (*spec.geoms, *spec.pairs):
        contact.friction[0], contact.condim = friction, condim
    path = tmp_path / "slippery.xml"
    path.write_text(spec.to_xml())
    return path, anatomy


def test_a_slope_on_which_feet_slide_is_refused(tmp_path):
    path, anatomy = slippery(tmp_path, 0.2)
    limit = np.rad2deg(np.arctan(0.2))
    for slope in (limit - 0.1, 0.1 - limit):
        assert Walker.load(path, anatomy, slope=slope).slope == slope
    for slope in (limit + 0.1, -limit - 0.1):
        with pytest.raises(GaitError, match=r"friction of 0.2 .* slide from 11.3 deg"):
            Walker.load(path, anatomy, slope=slope)
    path, anatomy = slippery(tmp_path, 0.9, condim=1)
    with pytest.raises(GaitError, match=r"friction of 0 .* slide from 0 deg"):
        Walker.load(path, anatomy, slope=1.0)


@pytest.mark.parametrize("friction", [0.1, 0.3])
def test_bodies_slide_where_the_friction_says_so(friction):
    """A block on a plane of 10 degrees, tan of which is 0.176."""
    text = f"""<mujoco><option timestep="0.001"/><worldbody>
    <geom name="ground" type="plane" size="9 9 1" euler="0 10 0" friction="0.05 0.005 0.0001"/>
    <body pos="0 0 0.2" euler="0 10 0"><freejoint/>
    <geom type="box" size="0.1 0.1 0.05" friction="{friction} 0.005 0.0001"/></body>
    </worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1500)
    holds = ground_friction(model, 0) > np.tan(np.deg2rad(10.0))
    assert ground_friction(model, 0) == friction
    assert (abs(data.qvel[0]) < 0.02) == holds
