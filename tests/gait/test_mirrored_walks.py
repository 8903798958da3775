"""Neither side is favoured: a mirrored start gives the mirrored walk."""

import numpy as np
import pytest

from trueup.gait import Walker, WalkSettings, WalkSimulation
from trueup.gait.walk.frames import FRAME, Frame

HORIZON = 2.0
"""Time that mirrored walks are compared over at most [s]. Rounding grows from 1e-16 to some 1e-13
in it, and goes on growing."""

SAME = ("x", "z", "pitch", "torso_pitch")
SIDED = ("hip", "knee", "ankle", "load", "heel", "sole", "limit_knee")


def simulation_from(pose, delayed):
    settings = WalkSettings(duration=HORIZON, delayed=delayed, pose=pose)
    return WalkSimulation(Walker.load("planar22"), settings)


def one_that_walks(simulation):
    """The vector that lasts longest of some near the nominal one ``(size,)``."""
    start = simulation.parameters.start
    X = start + 0.1 * np.random.default_rng(0).standard_normal((40, len(start)))
    X[0] = start
    X = np.maximum(X, 0.5)
    return X[int(np.argmax(simulation.run(X).length))]


def mirrored_entries(parameters, vector):
    """The vector with the entries of both sides exchanged."""
    swapped = vector.copy()
    names = list(parameters.names)
    for name in names:
        for one, other in ("rl", "lr"):
            if name.endswith(f"_{one}"):
                swapped[names.index(name[:-1] + other)] = vector[names.index(name)]
    return swapped


def steps(walk):
    loaded = walk[:, Frame.load_r : Frame.load_l + 1] > 0.1
    return np.sum(loaded[1:] & ~loaded[:-1])


@pytest.mark.parametrize("delayed", [False, True])
def test_a_mirrored_start_gives_the_mirrored_walk(delayed):
    first, second = (simulation_from(pose, delayed) for pose in ("walk_left", "walk_right"))
    vector = one_that_walks(first)
    walks = []
    for simulation, given in (
        (first, vector),
        (second, mirrored_entries(first.parameters, vector)),
    ):
        records = simulation.run(given[None])
        assert not records.invalid
        walks.append(records.frames[0, : records.length[0]].copy())
    left, right = walks
    assert len(left) == len(right) >= 120
    assert steps(left) == steps(right) >= 3
    for name in SAME:
        column = FRAME.index(name)
        np.testing.assert_allclose(left[:, column], right[:, column], atol=1e-9)
    for name in SIDED:
        for side, opposite in ("rl", "lr"):
            one, other = FRAME.index(f"{name}_{side}"), FRAME.index(f"{name}_{opposite}")
            # forces at a joint's limit are some hundred N m
            scale = max(1.0, np.abs(left[:, one]).max())
            np.testing.assert_allclose(left[:, one], right[:, other], atol=1e-9 * scale)
