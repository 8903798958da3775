"""Perturbed repeats: the same for all candidates, each with its effect, and no other."""

import numpy as np
import pytest

from trueup.errors import GaitError
from trueup.gait import (
    GaitProblem,
    Perturbations,
    PerturbationSizes,
    Scenario,
    Walker,
    WalkObjective,
    WalkSettings,
    WalkSimulation,
    survival,
)
from trueup.gait.compiled import compiled_once
from trueup.gait.walk.disturbance_kernel import noise_of
from trueup.gait.walk.perturbations import SURVIVAL, perturbed_vectors

NONE = {"angle": 0.0, "speed": 0.0, "friction": 0.0, "push": 0.0, "noise": 0.0}
WEIGHTS = {"effort": 100.0, "velocity": 100.0}


def only(**sizes):
    return PerturbationSizes(**{**NONE, **sizes})


@pytest.fixture(scope="module")
def simulation():
    settings = WalkSettings(duration=0.6, delayed=False, threads=1)
    return WalkSimulation(Walker.load("planar22"), settings)


@pytest.fixture(scope="module")
def candidates(simulation):
    """Three vectors; the last one cannot start."""
    X = np.tile(simulation.parameters.start, (3, 1))
    X[1, :20] *= 1.1
    X[2, simulation.parameters.index("hip_flexion_r")] = 90.0
    return X


def frames(simulation, X, *options):
    repeats = Perturbations(*options[:1], sizes=options[1]) if options else None
    return simulation.run(X, perturbations=repeats).frames.copy()


def test_repeats_are_the_same_for_all_candidates_and_batches(simulation, candidates):
    twice = candidates[[0, 1, 0]]
    together = frames(simulation, twice, 3, PerturbationSizes())
    np.testing.assert_array_equal(together[:3], together[6:])
    assert not np.array_equal(together[0], together[1])
    alone = frames(simulation, twice[1:2], 3, PerturbationSizes())
    np.testing.assert_array_equal(alone, together[3:6])
    again = Perturbations(3, seed=1)
    other = simulation.run(twice[1:2], perturbations=again).frames
    assert not np.array_equal(other[0], alone[0])


def test_no_perturbation_is_the_walk_itself(simulation, candidates):
    plain = frames(simulation, candidates[:2])
    frames(simulation, candidates[:1], 2, PerturbationSizes())  # leaves nothing behind
    np.testing.assert_array_equal(frames(simulation, candidates[:2], 1, only()), plain)
    np.testing.assert_array_equal(frames(simulation, candidates[:2]), plain)


def test_the_first_of_the_repeats_can_be_the_walk_itself(simulation, candidates):
    """The others stay as they would be without it."""
    plain = frames(simulation, candidates[:2])
    drawn = frames(simulation, candidates[:2], 3, PerturbationSizes())
    repeats = Perturbations(3, first_unperturbed=True)
    found = simulation.run(candidates[:2], perturbations=repeats).frames
    np.testing.assert_array_equal(found[[0, 3]], plain)
    np.testing.assert_array_equal(found[[1, 2, 4, 5]], drawn[[1, 2, 4, 5]])
    assert not np.array_equal(drawn[0], plain[0])


@pytest.mark.parametrize(
    ("name", "size"),
    [("angle", 1.0), ("speed", 0.1), ("friction", 0.5), ("push", 100.0), ("noise", 0.01)],
)
def test_each_kind_acts(simulation, candidates, name, size):
    plain = frames(simulation, candidates[:1])[0]
    (moved,) = frames(simulation, candidates[:1], 1, only(**{name: size}))
    assert not np.array_equal(moved, plain)
    # a push comes later
    assert np.array_equal(moved[0, 1:4], plain[0, 1:4]) == (name == "push")


def test_a_push_is_a_force_on_the_trunk_for_a_tenth_of_a_second(simulation, candidates):
    repeats = Perturbations(2, sizes=only(push=100.0))
    draws = repeats.draws(simulation.parameters, 0.6)
    forces = []

    def watch(_, batch):
        forces.append(batch.bind("xfrc_applied").copy())

    simulation.run(candidates[:1], watch, perturbations=repeats)
    forces = np.array(forces)
    torso = simulation.walker.model.body("torso").id
    for row in range(2):
        pushed = np.flatnonzero(forces[:, row, torso, 0])
        assert len(pushed) == 10 and (np.diff(pushed) == 1).all()
        assert pushed[0] == round(draws.push_start[row] / 0.01)
        assert (forces[pushed, row, torso, 0] == draws.push[row]).all()
    forces[:, :, torso, 0] = 0.0
    assert (forces == 0.0).all()


def test_friction_scales_what_slides(simulation, candidates):
    repeats = Perturbations(4, sizes=only(friction=0.3))
    simulation.run(candidates[:1], perturbations=repeats)
    batch, _ = simulation._prepared(4)
    factors = repeats.draws(simulation.parameters, 0.6).friction
    own = simulation.walker.model
    assert own.npair == 6
    for row in range(4):
        model = batch.get_model(row)
        # that of pairs slides in two directions
        for name, sliding in (("geom_friction", 1), ("pair_friction", 2)):
            friction, before = getattr(model, name), getattr(own, name)
            np.testing.assert_allclose(friction[:, :sliding], factors[row] * before[:, :sliding])
            np.testing.assert_array_equal(friction[:, sliding:], before[:, sliding:])
    assert (np.abs(factors - 1.0) <= 0.3).all() and len(np.unique(factors)) == 4


def test_poses_stay_within_the_ranges_of_joints(simulation, candidates):
    """A straight knee cannot be bent backwards: such a repeat could not start."""
    parameters = simulation.parameters
    X = candidates[:1].copy()
    knee = parameters.index("knee_angle_l")
    entry = parameters.entries[knee]
    X[0, knee] = -entry.offset / entry.scale
    draws = Perturbations(50, sizes=only(angle=5.0)).draws(parameters, 1.0)
    rows = perturbed_vectors(X, parameters, simulation.walker, draws)
    angles = parameters.values(rows, "pose")[:, knee - parameters.group("pose").start]
    assert angles.max() <= 1e-12 and angles.min() < -0.05
    gains = parameters.group("gain")
    assert (rows[:, gains] == X[0, gains]).all()


def test_noise_is_even_and_of_unit_deviation():
    def many(key, values):
        for i in range(len(values)):
            values[i] = noise_of(key, np.uint64(i))

    values = np.zeros(20000)
    compiled_once(many)(np.uint64(5), values)
    assert abs(values.mean()) < 0.03 and abs(values.std() - 1.0) < 0.02
    assert np.abs(values).max() <= 3.0**0.5
    assert abs(np.corrcoef(values[1:], values[:-1])[0, 1]) < 0.03


def test_costs_of_repeats_become_one(simulation, candidates):
    objective = WalkObjective(WEIGHTS)
    scenario = Scenario(simulation, objective)
    found = {}
    for kind in ("mean", "worst"):
        repeats = Perturbations(3, judged_by=kind, sizes=PerturbationSizes(push=300.0))
        problem = GaitProblem([scenario], most_at_once=7, perturbations=repeats)
        failures = {}
        found[kind] = problem.whole_costs(candidates, failures)
        assert list(failures) == [2] and problem.terms["fell"].shape == (3,)
    records = simulation.run(candidates, perturbations=repeats)
    each = objective.costs(records, simulation.walker.anatomy, 0.6).total.reshape(3, 3)
    np.testing.assert_allclose(found["mean"], each.mean(axis=1), rtol=1e-12)
    np.testing.assert_array_equal(found["worst"], each.max(axis=1))
    walked = records.walked.reshape(3, 3).mean(axis=1)
    np.testing.assert_allclose(problem.terms["walked"], walked)


def test_survival_is_told_of_other_perturbations(simulation, candidates):
    searched = Perturbations(20).draws(simulation.parameters, 0.6)
    kept = Perturbations(20, stream=SURVIVAL).draws(simulation.parameters, 0.6)
    for ours, theirs in zip(searched, kept, strict=True):
        assert ours is not theirs and (len(set(ours.ravel()) & set(theirs.ravel())) <= 1)
    found = survival(simulation, candidates[0])
    plain = found.to_dict()
    assert plain["perturbations"] == 20 == len(plain["fell"]) == len(plain["walked_m"])
    assert found.survived == 20 - sum(plain["fell"])
    assert plain == survival(simulation, candidates[0]).to_dict()
    assert plain["walked_m"] != survival(simulation, candidates[0], seed=1).to_dict()["walked_m"]
    assert survival(simulation, candidates[2], n=3).survived == 0


def test_wrong_perturbations():
    with pytest.raises(GaitError, match="perturbed repeats is 0; it must be at least 1"):
        Perturbations(0)
    with pytest.raises(GaitError, match="unknown aggregation of repeats 'median'"):
        Perturbations(2, judged_by="median")
    with pytest.raises(GaitError, match="only repeat would have no perturbations: set at least 2"):
        Perturbations(1, first_unperturbed=True)
    with pytest.raises(GaitError, match="push is -1"):
        PerturbationSizes(push=-1.0)
    with pytest.raises(GaitError, match="must be below 1"):
        PerturbationSizes(friction=1.5)
