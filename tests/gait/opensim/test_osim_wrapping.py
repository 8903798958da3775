"""Shortest paths around surfaces, without MuJoCo."""

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from trueup.gait.opensim.model import Surface
from trueup.gait.opensim.wrapping import wrap


def surface(kind, radii, length=10.0, side=None):
    side = None if side is None else np.array(side, dtype=float)
    return Surface("s", "ground", kind, np.eye(4), np.broadcast_to(radii, 3), length, side)


def one(shape, start, end):
    found = wrap(shape, np.array([start], dtype=float), np.array([end], dtype=float))
    return bool(found.touches[0]), float(found.length[0])


def test_a_half_turn_around_a_cylinder():
    start, end = (1.0, -3.0, 0.0), (-1.0, -3.0, 0.0)
    touches, length = one(surface("cylinder", 1.0, side=(0, 1, 0)), start, end)
    assert touches and length == pytest.approx(6.0 + np.pi)


def test_a_helix_is_straight_when_it_is_developed():
    shape = surface("cylinder", 1.0)
    flat = one(shape, (-3, 0.2, 0), (2, -0.5, 0))[1]
    assert one(shape, (-3, 0.2, 0), (2, -0.5, 4))[1] == pytest.approx(np.hypot(flat, 4.0))


def test_paths_beside_within_and_beyond_are_straight():
    shape = surface("cylinder", 1.0, length=1.0)
    assert one(shape, (-3, 1.5, 0), (3, 1.5, 0)) == (False, 6.0)
    assert one(shape, (-3, 0, 0), (0.5, 0, 0)) == (False, 3.5)
    assert one(shape, (-3, 0, 2), (3, 0, 2)) == (False, 6.0)
    assert one(shape, (-3, 0, 0.1), (3, 0, 0.1))[0]


def test_a_side_decides_which_way():
    shape = surface("cylinder", 1.0, side=(0, 1, 0))
    assert one(shape, (-3, 1.5, 0), (3, 1.5, 0)) == (False, 6.0)  # already on that side
    low, high = one(shape, (-3, -0.9, 0), (3, -0.9, 0)), one(shape, (-3, 0.9, 0), (3, 0.9, 0))
    assert low[0] and high[0] and low[1] > high[1] + 0.5
    assert one(surface("cylinder", 1.0), (-3, -0.9, 0), (3, -0.9, 0))[1] == pytest.approx(high[1])


def test_a_sphere_is_wrapped_along_a_great_circle():
    far, angle = 2.0, np.deg2rad(170.0)
    end = (far * np.cos(angle), 0.6 * far * np.sin(angle), 0.8 * far * np.sin(angle))
    tangent = np.sqrt(far**2 - 1.0)
    expected = 2.0 * tangent + angle - 2.0 * np.arccos(1.0 / far)
    touches, length = one(surface("sphere", 1.0), (far, 0, 0), end)
    assert touches and length == pytest.approx(expected)


def test_a_round_ellipsoid_is_a_sphere():
    random = np.random.default_rng(3)
    start = random.normal(size=(60, 3))
    end = random.normal(size=(60, 3)) - 2.0 * start  # most lie behind the sphere
    start *= 2.0 / np.linalg.norm(start, axis=1, keepdims=True)
    end *= 1.7 / np.linalg.norm(end, axis=1, keepdims=True)
    round_, sphere = (wrap(surface(kind, 0.8), start, end) for kind in ("ellipsoid", "sphere"))
    assert (round_.touches == sphere.touches).all() and sphere.touches.sum() > 10
    assert round_.length == pytest.approx(sphere.length, abs=1e-8)


def test_an_ellipsoid_is_wrapped_by_the_shortest_way():
    # around the waist of a long one, over the short side of a flat one
    long_, start, end = surface("ellipsoid", (1, 1, 5)), (-2, 0.1, 0), (2, 0.1, 0)
    circle = one(surface("cylinder", 1.0), start, end)[1]
    assert one(long_, start, end)[1] == pytest.approx(circle, abs=1e-8)
    flat = one(surface("ellipsoid", (1, 1, 0.2)), start, end)[1]
    assert 4.0 < flat < circle - 0.3


def test_a_path_around_an_ellipsoid_is_the_shortest_in_a_plane():
    radii = np.array([1.0, 0.7, 0.5])
    start, end = np.array([-2.0, 0.3, 0.2]), np.array([1.8, 0.1, 0.4])
    # taut strings by another way: hulls of the ends and of sections of the ellipsoid
    along = (end - start) / np.linalg.norm(end - start)
    across = np.cross(along, (0.0, 0.0, 1.0))
    across /= np.linalg.norm(across)
    shortest = np.inf
    for turn in np.linspace(0.0, np.pi, 91):
        e2 = np.cos(turn) * across + np.sin(turn) * np.cross(along, across)
        normal = np.cross(along, e2) * radii
        height = (start / radii) @ normal / (normal @ normal)
        center = height * normal
        u = np.cross(normal, (0.3, 0.5, 0.8))
        u /= np.linalg.norm(u)
        v = np.cross(normal / np.linalg.norm(normal), u)
        angle = np.linspace(0.0, 2.0 * np.pi, 400)[:, None]
        radius = np.sqrt(1.0 - center @ center)
        section = (center + radius * (np.cos(angle) * u + np.sin(angle) * v)) * radii
        flat = np.vstack([start, end, section]) @ np.stack([along, e2], axis=1)
        order = list(ConvexHull(flat).vertices)
        first = order.index(0)
        order = order[first:] + order[:first]
        second = order.index(1)
        for way in (order[: second + 1], [*order[second:], 0]):
            shortest = min(shortest, np.linalg.norm(np.diff(flat[way], axis=0), axis=1).sum())
    found = one(surface("ellipsoid", radii), start, end)[1]
    assert found == pytest.approx(shortest, rel=2e-4)


@pytest.mark.parametrize("kind", ["sphere", "ellipsoid"])
def test_a_line_beside_a_sphere_is_straight_even_on_its_wrong_side(kind):
    # as in OpenSim, where only cylinders pull such a line around
    start, end = (-3, -1.2, 0), (3, -1.2, 0)
    assert one(surface(kind, 1.0, side=(0, 1, 0)), start, end) == (False, 6.0)
    assert one(surface("cylinder", 1.0, side=(0, 1, 0)), start, end)[0]
