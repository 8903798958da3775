"""Factorisations of designs that fall apart into blocks."""

import mujoco
import numpy as np
import pytest

from trueup.sysid.torque.block_factors import blocks, minimum_norm, triangle
from trueup.sysid.torque.link_regressor import link_regressor

_LEGS = """
<mujoco><worldbody><body name="base"><geom size=".1" mass="5"/>{legs}</body></worldbody></mujoco>
"""
_LEG = """
<body name="hip{k}" pos="0 {k} 0"><joint name="hip{k}" axis="1 0 0"/><geom size=".05" mass="1"/>
  <body name="knee{k}" pos="0 0 -.3"><joint name="knee{k}" axis="0 1 0"/>
    <geom size=".04" pos=".01 0 -.1" mass=".5"/></body></body>
"""


@pytest.fixture
def rng():
    """Random numbers."""
    return np.random.default_rng(3)


@pytest.fixture
def scattered(rng):
    """A matrix of three blocks, with rows and columns in any order, and some of zeros."""
    whole = np.zeros((90, 14))
    for rows, columns in ((slice(0, 40), [0, 1, 2]), (slice(40, 45), [3]), (slice(45, 85), [5, 7])):
        part = rng.normal(size=(rows.stop - rows.start, len(columns)))
        whole[rows, columns] = part
    whole[45:85, 8] = whole[45:85, 5] - whole[45:85, 7]  # dependent
    whole[2, 9:12] = 1.0  # more columns than rows, with a row of the first block
    return whole[rng.permutation(90)][:, rng.permutation(14)]


def test_blocks_share_no_row_and_no_column(scattered):
    parts = list(blocks(scattered))

    assert sorted(len(columns) for _, columns in parts) == [1, 3, 6]
    rest = scattered.copy()
    for rows, columns in parts:
        rest[np.ix_(rows, columns)] = 0.0
    assert not rest.any()
    assert len(np.unique(np.concatenate([rows for rows, _ in parts]))) == 85


def test_triangle_of_blocks_is_that_of_the_whole(scattered, rng):
    right = rng.normal(size=90)

    R, turned = triangle(scattered, right)

    assert np.allclose(R, np.triu(R))
    assert np.allclose(R.T @ R, scattered.T @ scattered)
    assert np.allclose(R.T @ turned, scattered.T @ right)


@pytest.mark.parametrize("several", [(), (3,)])
def test_least_squares_of_blocks_is_that_of_the_whole(scattered, rng, several):
    right = rng.normal(size=(90, *several))

    found = minimum_norm(scattered, right)

    fitted = scattered @ np.linalg.lstsq(scattered, right, rcond=None)[0]
    assert np.allclose(scattered @ found.values, fitted)
    assert found.rank == np.linalg.matrix_rank(scattered)


def test_legs_of_a_fixed_base_are_factorised_one_by_one(rng):
    legs = "".join(_LEG.format(k=k) for k in range(4))
    model = mujoco.MjModel.from_xml_string(_LEGS.format(legs=legs))
    Y = link_regressor(model, *rng.normal(size=(3, 50, model.nv)))

    parts = list(blocks(Y.reshape(-1, Y.shape[2])))

    assert [len(rows) for rows, _ in parts] == [100] * 4
    assert max(len(columns) for _, columns in parts) <= 20
