"""Walks as worlds of MuJoCo Warp, on its CPU device, against the walks of the CPU."""

import json

import mujoco
import numpy as np
import pytest
from warp_models import needs_warp

from trueup.errors import SimulationError
from trueup.gait.costs.stages import WalkObjective
from trueup.gait.models.walker import Walker
from trueup.gait.search.problem import GaitProblem, Scenario
from trueup.gait.search.shipped_walk import SHIPPED_WALK
from trueup.gait.walk.frames import ACTIVATIONS, Frame
from trueup.gait.walk.perturbations import Perturbations
from trueup.gait.walk.records import End
from trueup.gait.walk.settings import WalkSettings
from trueup.gait.walk.simulation import WalkSimulation
from trueup.simulation.warp.devices import DeviceChoice, find_device
from trueup.simulation.warp.model_support import put_model
from trueup.simulation.warp.worlds import Capacity

pytestmark = needs_warp

TOLERANCE = 1e-4
"""Difference up to which angles [rad] and activations agree."""


def _simulation(duration, **settings):
    return WalkSimulation(Walker.load("planar22"), WalkSettings(duration, threads=1, **settings))


def _vectors(simulation, n, spread=0.02):
    """The shipped walk, and vectors around it within their bounds."""
    own = json.loads(SHIPPED_WALK.read_text())["parameters"]
    entries = simulation.parameters.entries
    walk = np.array([own.get(entry.name, entry.start) for entry in entries])
    rng = np.random.default_rng(0)
    X = walk * (1 + spread * rng.standard_normal((n, len(walk))))
    X[0] = walk
    return np.clip(X, [e.lower for e in entries], [e.upper for e in entries])


@pytest.fixture(scope="module")
def device():
    return find_device("warp-cpu")


@pytest.fixture(scope="module")
def brief():
    """Walks of 0.15 s."""
    return _simulation(0.15)


def _both(simulation, X, device, **options):
    """Frames, lengths and ends by the CPU and by a device."""
    found = []
    for on in (None, device):
        records = simulation.run(X, device=on, **options)
        found.append((records.frames.copy(), records.length.copy(), records.ended.copy()))
    return found


def test_64_walks_agree_to_1e_4_over_a_second(device):
    """Rounding grows at contacts: all agree for half a second, nearly all for a second."""
    simulation = _simulation(1.0)
    X = _vectors(simulation, 64)
    (frames, lengths, ends), (own, own_lengths, own_ends) = _both(simulation, X, device)
    np.testing.assert_array_equal(own_lengths, lengths)
    np.testing.assert_array_equal(own_ends, ends)
    angles = slice(Frame.pitch, Frame.ankle_l + 1)
    apart = np.abs(own - frames)[:, :, angles].max(axis=2)
    assert apart[:, :50].max() < TOLERANCE
    assert np.mean(apart.max(axis=1) < TOLERANCE) >= 0.95
    early = np.abs(own - frames)[:, :50, ACTIVATIONS:]
    assert early.max() < TOLERANCE
    # the walkers move, with a foot on the ground
    assert np.ptp(frames[:, :60, Frame.x], axis=1).min() > 0.3
    assert frames[:, :, Frame.load_r : Frame.load_l + 1].max() > 0.5


def test_perturbed_walks_are_those_of_the_cpu(brief, device):
    """Starts, friction, pushes and noise of each repeat, the first of them without any."""
    X = _vectors(brief, 3)
    repeats = Perturbations(3, seed=2, first_unperturbed=True)
    (frames, lengths, ends), (own, own_lengths, own_ends) = _both(
        brief, X, device, perturbations=repeats
    )
    np.testing.assert_array_equal(own_lengths, lengths)
    np.testing.assert_array_equal(own_ends, ends)
    angles = slice(Frame.pitch, Frame.ankle_l + 1)
    assert np.abs(own - frames)[:, :, angles].max() < TOLERANCE
    # repeats differ by far more
    assert np.abs(frames[0] - frames[1])[:, angles].max() > 100 * TOLERANCE


@pytest.fixture(scope="module")
def leaning():
    """Half of six walks end soon: they lean more than the others."""
    upright = _simulation(0.25)
    frames = upright.run(_vectors(upright, 6, 0.1)).frames
    most = np.abs(frames[:, :, Frame.pitch]).max(axis=1)
    return _simulation(0.25, steepest=float(np.rad2deg(np.median(most))))


@pytest.fixture(scope="module")
def ended(leaning, device):
    """Candidates, and their walks by a device in one block."""
    X = _vectors(leaning, 6, 0.1)
    records = leaning.run(X, device=device)
    return X, records.frames.copy(), records.length.copy(), records.ended.copy()


def test_walks_end_as_on_the_cpu(leaning, ended):
    X, frames, lengths, ends = ended
    wanted = leaning.run(X)
    np.testing.assert_array_equal(ends, wanted.ended)
    np.testing.assert_array_equal(lengths, wanted.length)
    assert sorted(ends) == 3 * [End.running] + 3 * [End.fell]
    # rows past the end are empty, the frame of a fall is there
    for row, length in zip(frames, lengths, strict=True):
        assert not row[length:].any()
        assert row[length - 1, Frame.time] > 0.0


def _in_blocks(monkeypatch, seconds):
    monkeypatch.setattr("trueup.gait.walk.device_walks._BLOCK", seconds)


def test_ended_walks_make_room_and_change_nothing_of_the_others(
    leaning, ended, device, monkeypatch
):
    X, frames, lengths, ends = ended
    _in_blocks(monkeypatch, 0.05)
    simulation = leaning.with_settings()
    records = simulation.run(X, device=device)
    np.testing.assert_array_equal(records.frames, frames)
    np.testing.assert_array_equal(records.length, lengths)
    np.testing.assert_array_equal(records.ended, ends)
    sizes = [size for size, _ in simulation.on(device)._kept]
    assert max(sizes) == 6 and min(sizes) < 6


def test_walks_are_stopped_between_blocks(leaning, ended, device, monkeypatch):
    X, frames, lengths, ends = ended
    _in_blocks(monkeypatch, 0.05)
    first = int(lengths[ends == End.fell].min())

    def stop(records):
        return np.full(len(records.ended), (records.ended == End.fell).any())

    records = leaning.with_settings().run(X, device=device, stop=stop)
    fell = records.ended == End.fell
    assert fell.any() and set(records.ended[~fell]) == {End.stopped}
    # at the end of the block of five frames with the first fall
    later = set(records.length[~fell])
    assert len(later) == 1 and first - 1 <= min(later) < first + 5
    np.testing.assert_array_equal(records.frames[:, : first - 1], frames[:, : first - 1])


def test_tables_that_are_too_small_grow_and_nothing_is_lost(leaning, ended, device):
    X, frames, lengths, _ = ended
    simulation = leaning.with_settings()
    simulation.on(device)._capacity = Capacity(1, 64)
    records = simulation.run(X, device=device)
    assert "Tables grew" in simulation.device_notes[0]
    np.testing.assert_array_equal(records.length, lengths)
    np.testing.assert_allclose(records.frames, frames, atol=1e-5)


def test_a_walk_that_cannot_start_is_not_simulated(brief, device):
    X = _vectors(brief, 3)
    knee = brief.parameters.index(brief.walker.anatomy.named("knee_angle_{side}", "right"))
    X[1, knee] = 400.0
    records = brief.run(X, device=device)
    assert list(records.invalid) == [1]
    assert records.ended.tolist() == [End.running, End.could_not_start, End.running]
    assert records.length[1] == 0


def test_costs_on_a_device_are_those_of_the_cpu(brief, device):
    problem = GaitProblem([Scenario(brief, WalkObjective({"effort": 100.0, "velocity": 50.0}))])
    X = _vectors(brief, 4)[:, problem.parameters.free]
    wanted = problem.costs(X)
    problem.device = DeviceChoice("warp-cpu")
    found = problem.costs(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    assert np.ptp(wanted) > 0.1
    assert "Warp on the CPU in single precision" in problem.device_notes[0]
    assert not np.array_equal(found, wanted)  # single precision


def test_a_device_that_moves_otherwise_is_found(device, monkeypatch):
    """As a feature would that MuJoCo Warp reads otherwise: here another damping."""

    def damped(model, to):
        put = put_model(model, to)
        put.dof_damping.fill_(5.0)
        return put

    monkeypatch.setattr("trueup.gait.walk.device_walks.put_model", damped)
    simulation = _simulation(0.1)
    with pytest.raises(SimulationError, match=r"moves '\w+' differently than MuJoCo"):
        simulation.run(_vectors(simulation, 2), device=device)


def _with_rk4():
    walker = Walker.load("planar22")
    walker.model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    return WalkSimulation(walker, WalkSettings(0.05, threads=1))


def test_what_a_device_does_not_have_is_named(brief, device):
    with pytest.raises(SimulationError, match=r"compat=myoassist.*device: cpu"):
        _simulation(0.1, compat=True).on(device)
    with pytest.raises(SimulationError, match=r"integrator RK4.*device: cpu"):
        _with_rk4().on(device)
    with pytest.raises(SimulationError, match="cannot be observed"):
        brief.run(_vectors(brief, 1), device=device, observe=lambda tick, batch: None)


def test_auto_simulates_on_the_cpu_what_a_device_does_not_have(device, monkeypatch):
    simulation = _with_rk4()
    problem = GaitProblem([Scenario(simulation, WalkObjective({"effort": 100.0}))])
    X = _vectors(simulation, 2)[:, problem.parameters.free]
    wanted = problem.costs(X)
    monkeypatch.setattr("trueup.simulation.warp.devices.WORLDS_PER_THREAD", 1)
    problem.device = DeviceChoice("cpu")
    problem.device.name, problem.device.device = "auto", device
    np.testing.assert_array_equal(problem.costs(X), wanted)
    assert "integrator RK4" in problem.device_notes[0]
    problem.device = DeviceChoice("warp-cpu")
    with pytest.raises(SimulationError, match="integrator RK4"):
        problem.costs(X)
