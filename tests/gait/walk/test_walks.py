"""Walks of a population: independent of each other, of threads and of what ran before."""

import mujoco
import numpy as np
import pytest

from trueup.errors import GaitError, ModelError
from trueup.gait import FourParameterProfile, Stairs, Walker, WalkSettings, WalkSimulation

MODEL = "myoassist/models/22muscle_2D/myoLeg22_2D_TUTORIAL.xml"


@pytest.fixture(scope="module")
def vectors(tutorial_vector):
    """Vectors of which some walk, one falls early and one cannot start."""
    rng = np.random.default_rng(1)
    X = np.tile(tutorial_vector, (5, 1))
    X[1] *= 1.0 + 0.02 * rng.standard_normal(81)
    X[2, :51] = 0.0
    X[3, 52] = 40.0
    X[:, 77:] = np.clip(X[:, 77:], 0.0, 1.0)
    return X


def test_a_batch_is_its_walks_one_by_one(tutorial_walker, vectors):
    settings = WalkSettings(duration=1.0, delayed=False, threads=2)
    profile = FourParameterProfile()
    together = WalkSimulation(tutorial_walker, settings, profile=profile).run(vectors)
    frames, length = together.frames.copy(), together.length.copy()
    assert together.invalid.keys() == {3} and "hip_flexion_r" in together.invalid[3]
    assert length[0] == length[4] == 100 and 10 < length[2] < 100 and length[3] == 0
    np.testing.assert_array_equal(frames[0], frames[4])
    single = WalkSimulation(
        tutorial_walker, WalkSettings(duration=1.0, delayed=False, threads=1), profile=profile
    )
    for i in (4, 2, 1, 0):
        alone = single.run(vectors[i])
        assert alone.length[0] == length[i]
        np.testing.assert_array_equal(alone.frames[0], frames[i])


def test_two_simulations_in_turn_do_not_disturb_each_other(
    tutorial_walker, tutorial_vector, golden
):
    """In the reference states are attributes of a class, which all environments share."""
    recorded, _ = golden()
    simulations = [
        WalkSimulation(
            tutorial_walker,
            WalkSettings(duration=0.5, delayed=False, compat=True, threads=1, pose=pose),
            profile=FourParameterProfile(),
        )
        for pose in ("walk_left", "walk_right")
    ]
    for simulation in (*simulations, *simulations):
        x = simulation.run(tutorial_vector).column("x")[0, :50]
        if simulation is simulations[0]:
            assert np.abs(x - recorded["qpos"][:50, 0]).max() < 1e-10


@pytest.mark.parametrize("delayed", [False, True])
def test_native_walks(delayed, tutorial_walker, tutorial_vector):
    settings = WalkSettings(duration=0.4, delayed=delayed, threads=1)
    simulation = WalkSimulation(tutorial_walker, settings, profile=FourParameterProfile())
    assert simulation.period == pytest.approx(0.001 if delayed else 0.01)
    first = simulation.run(tutorial_vector).frames.copy()
    records = simulation.run(tutorial_vector)
    np.testing.assert_array_equal(first, records.frames)
    assert records.length[0] == 40 and records.period == pytest.approx(0.01)
    assert records.column("x")[0, 39] > 0.4
    assert records.column("soleus_l")[0].max() > 0.02


@pytest.mark.parametrize(
    ("delayed", "timestep", "steps"),
    [
        (True, 0.002, 1),
        (True, 0.001, 1),
        (True, 0.0005, 2),
        (True, 0.00025, 4),
        (False, 0.0005, 20),
    ],
)
def test_how_often_the_controller_runs(delayed, timestep, steps):
    """With delays every millisecond, or at each step where steps are longer."""
    assert WalkSettings(delayed=delayed).steps_of(timestep) == steps


@pytest.mark.parametrize(
    ("settings", "least"),
    [
        ({"duration": 0.0001}, "0.01 s"),
        ({"duration": 0.009, "delayed": False}, "0.01 s"),
        ({"duration": 0.015, "delayed": False, "period": 0.02}, "0.02 s"),
    ],
)
def test_a_time_without_a_frame_is_no_walk(settings, least):
    said = f"simulated time is .*shorter than one frame of a walk, {least}"
    with pytest.raises(GaitError, match=said):
        WalkSettings(**settings)
    shortest = WalkSettings(duration=0.01, threads=1)
    assert WalkSimulation(Walker.load("planar22"), shortest).run(np.ones(77)).length[0] == 1


def test_a_walker_tells_whether_its_ground_is_level():
    settings = WalkSettings(duration=0.02, threads=1)
    for ground, level in (
        ({}, True),
        ({"slope": 5.0}, False),
        ({"stairs": Stairs(0.1, 0.3)}, False),
    ):
        records = WalkSimulation(Walker.load("planar22", **ground), settings).run(np.ones(77))
        assert records.level is level


def test_delayed_stimulations_start_as_the_activations(tutorial_walker, tutorial_vector):
    settings = WalkSettings(duration=0.02, delayed=True, threads=1)
    simulation = WalkSimulation(tutorial_walker, settings, profile=FourParameterProfile())
    seen = []
    simulation.run(tutorial_vector, lambda tick, batch: seen.append(batch.bind("ctrl")[0].copy()))
    soleus = tutorial_walker.model.actuator("soleus_l").id
    value = 0.01 * tutorial_vector[simulation.parameters.index("activation_SOL_l")]
    assert seen[0][soleus] == pytest.approx(value) and seen[9][soleus] == pytest.approx(value)
    assert seen[12][soleus] != pytest.approx(value)


@pytest.mark.parametrize("slope", [-10.0, -5.0, 3.0, 5.0, 10.0])
def test_the_ground_rises_as_asked(slope, recorded_data):
    """In the reference a slope of 5 degrees is built with 1.12 degrees."""
    walker = Walker.load(recorded_data / MODEL, slope=slope)
    model, data = walker.model, mujoco.MjData(walker.model)
    mujoco.mj_forward(model, data)
    heights, places = [], np.array([-3.0, 0.0, 5.0, 20.0])
    geom = np.zeros(1, dtype=np.int32)
    for x in places:
        start, down = np.array([x, 1.5, 30.0]), np.array([0.0, 0.0, -1.0])
        heights.append(30.0 - mujoco.mj_ray(model, data, start, down, None, 1, -1, geom))
        assert model.geom(int(geom[0])).name == "ground-plane"
    built = np.rad2deg(np.arctan(np.diff(heights) / np.diff(places)))
    np.testing.assert_allclose(built, slope, atol=0.05)


def test_a_walk_starts_on_a_slope(recorded_data, tutorial_vector):
    walker = Walker.load(recorded_data / MODEL, slope=5.0)
    settings = WalkSettings(duration=0.1, delayed=False, threads=1)
    records = WalkSimulation(walker, settings, profile=FourParameterProfile()).run(tutorial_vector)
    assert records.invalid == {} and records.length[0] == 10
    assert records.column("sole_l")[0, 0] > -0.02


def test_what_a_walker_needs(recorded_data, tmp_path):
    with pytest.raises(ModelError, match="no such model file or shipped model"):
        Walker.load(tmp_path / "absent.xml")
    spec = mujoco.MjSpec.from_file(str(recorded_data / MODEL))
    for name in ("Exo_R", "Exo_L"):
        spec.delete(spec.actuator(name))
    bare = Walker(spec.compile(), source="bare.xml")
    assert not bare.has_exoskeleton
    with pytest.raises(GaitError, match=r"bare.xml has no exoskeleton \(actuators Exo_R, Exo_L\)"):
        WalkSimulation(bare, profile=FourParameterProfile())
    assert WalkSimulation(bare).parameters.size == 77
    with pytest.raises(GaitError, match="no keyframe 'walk_left'"):
        WalkSimulation(Walker(without_keyframes(recorded_data)))
    with pytest.raises(
        GaitError, match=r"unknown initial pose 'walk_lef'.*Did you mean 'walk_left'"
    ):
        WalkSimulation(bare, WalkSettings(pose="walk_lef"))
    with pytest.raises(GaitError, match="the slope is 50 deg"):
        Walker(spec.compile(), slope=50.0)
    box = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body><geom size='1'/></body></worldbody></mujoco>"
    )
    with pytest.raises(GaitError, match="has no joint 'hip_flexion_r'"):
        WalkSimulation(Walker(box))
    with pytest.raises(GaitError, match="not a multiple of the time step"):
        WalkSimulation(bare, WalkSettings(delayed=False, period=0.0105))


def without_keyframes(recorded_data):
    spec = mujoco.MjSpec.from_file(str(recorded_data / MODEL))
    for key in list(spec.keys):
        spec.delete(key)
    return spec.compile()
