"""A search resumed at any of its generations goes on bit for bit: methods, dimensions, sizes.

``benchmarks/resume_everywhere.py`` sweeps all dimensions from 2 to 100 and populations from 4 to
40; here are a few that meet each of the ways in which a state moves on.
"""

import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from trueup.fitting import SEARCH_METHODS


@pytest.fixture(scope="module")
def differences() -> Iterator[Callable[..., list[int]]]:
    folder = str(Path(__file__).resolve().parents[3] / "benchmarks")
    sys.path.insert(0, folder)
    yield import_module("resume_everywhere").differences
    sys.path.remove(folder)


# A population that is small for its dimension has its eigenbasis decomposed lazily.
@pytest.mark.parametrize(
    ("dimension", "population", "generations"),
    [(2, 4, 20), (3, 40, 12), (12, 5, 30), (40, 6, 51), (70, 6, 51), (70, 16, 12), (100, 4, 12)],
)
def test_cma_es_resumes_at_every_generation(differences, dimension, population, generations):
    assert differences("cmaes", dimension, population, generations) == []


@pytest.mark.parametrize("method", [name for name in SEARCH_METHODS if name != "cmaes"])
@pytest.mark.parametrize(("dimension", "population"), [(2, 4), (12, 40), (100, 6)])
def test_every_method_resumes_at_every_generation(differences, method, dimension, population):
    sized = SEARCH_METHODS[method].population is not None
    assert differences(method, dimension, population if sized else None, 12) == []
