"""Neither side is favoured: a mirrored start gives the mirrored walk."""

import numpy as np
import pytest

from trueup.gait import Walker, WalkSettings, WalkSimulation
from trueup.gait._frames import F_LOAD, FRAME

HORIZON = 1.9
"""Time that mirrored walks are compared over [s]: four steps and more. Rounding grows from 1e-16 to
some 1e-13 in it, and goes on growing while a walk falls."""

SAME = ("x", "z", "pitch", "torso_pitch")
SIDED = ("hip", "knee", "ankle", "load", "heel", "sole", "limit_knee")


def two_walks(walker, delayed, poses=("walk_left", "walk_right")):
    walks = []
    for pose in poses:
        settings = WalkSettings(duration=HORIZON, delayed=delayed, threads=1, pose=pose)
        simulation = WalkSimulation(walker, settings)
        records = simulation.run(simulation.parameters.start[None])
        assert not records.invalid
        walks.append(records.frames[0, : records.length[0]].copy())
    return walks


def steps(walk):
    loaded = walk[:, F_LOAD : F_LOAD + 2] > 0.1
    return np.sum(loaded[1:] & ~loaded[:-1])


@pytest.mark.parametrize("delayed", [False, True])
def test_a_mirrored_start_gives_the_mirrored_walk(delayed):
    left, right = two_walks(Walker.load("planar22"), delayed)
    assert len(left) == len(right) == round(HORIZON / 0.01)
    assert steps(left) == steps(right) >= 4
    for name in SAME:
        column = FRAME.index(name)
        np.testing.assert_allclose(left[:, column], right[:, column], atol=1e-9)
    for name in SIDED:
        for side, opposite in ("rl", "lr"):
            one, other = FRAME.index(f"{name}_{side}"), FRAME.index(f"{name}_{opposite}")
            # forces at a joint's limit are some hundred N m
            scale = max(1.0, np.abs(left[:, one]).max())
            np.testing.assert_allclose(left[:, one], right[:, other], atol=1e-9 * scale)
