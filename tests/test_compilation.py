"""Compilation with a cache on disk: nothing stale, nothing of another variant, nothing needed."""

import importlib
import os
import subprocess
import sys
import textwrap

import numba
import numpy as np
import pytest

from trueup.compilation import njit_on_disk, source_digest

HELPERS = """
import numba
GRAVITY = {gravity}

@numba.njit
def weight(mass):
    return {sign}mass * GRAVITY
"""
MODEL = """
import cache_helpers
from cache_helpers import weight
from trueup.compilation import njit_on_disk

def torque(mass):
    return weight(mass) + cache_helpers.GRAVITY * 0.0 + later(mass)

compiled = njit_on_disk(torque)

import numba
@numba.njit
def later(mass):
    return {later}

def variant(factor):
    def scaled(value):
        return factor * value
    return njit_on_disk(scaled)
"""


@pytest.fixture
def model(tmp_path, monkeypatch):
    """The module above, written with values and imported as a new process would."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def imported(gravity=10.0, sign="", later="0.0"):
        text = HELPERS.format(gravity=gravity, sign=sign)
        for name, content in (
            ("cache_helpers", text),
            ("cache_model", MODEL.format(later=later)),
        ):
            file = tmp_path / f"{name}.py"
            if not file.exists() or file.read_text() != textwrap.dedent(content):
                file.write_text(textwrap.dedent(content))
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        return importlib.import_module("cache_model")

    yield imported
    for name in ("cache_helpers", "cache_model"):
        sys.modules.pop(name, None)


def hits(dispatcher):
    return sum(dispatcher.stats.cache_hits.values())


def test_another_process_loads_what_was_compiled(model):
    first, second = model().compiled, model().compiled
    assert first(2.0) == second(2.0) == 20.0
    assert hits(first) == 0 and hits(second) == 1


def test_a_file_with_another_time_loads_what_was_compiled(model, tmp_path):
    assert model().compiled(2.0) == 20.0
    for file in tmp_path.glob("*.py"):  # as in a new checkout
        os.utime(file, (1e9, 1e9))
    again = model().compiled
    assert again(2.0) == 20.0 and hits(again) == 1


@pytest.mark.parametrize(
    ("change", "expected"),
    [({"gravity": 5.0}, 10.0), ({"sign": "-"}, -20.0), ({"later": "mass"}, 22.0)],
    ids=["constant of another file", "function of another file", "function further down"],
)
def test_a_change_in_anything_that_is_compiled_in_compiles_anew(model, change, expected):
    assert model().compiled(2.0) == 20.0
    changed = model(**change).compiled
    assert changed(2.0) == expected
    assert hits(changed) == 0


def test_variants_that_two_processes_save_at_once_stay_apart(model, tmp_path):
    """Each process saves without knowing of the other's file; either index may be the last."""
    module = model()
    indices = []
    for factor in (2.0, 3.0):
        assert module.variant(factor)(1.5) == factor * 1.5
        (index,) = (tmp_path / "__pycache__").glob("*scaled*.nbi")
        indices.append(index.read_bytes())
        index.unlink()
    for factor, content in zip((2.0, 3.0), indices, strict=True):
        index.write_bytes(content)
        loaded = module.variant(factor)
        assert loaded(1.5) == factor * 1.5
        assert hits(loaded) == 1


def test_what_cannot_be_read_is_compiled_in_each_process(model):
    module = model()
    module.later = numba.cfunc("float64(float64)")(lambda mass: 3.0)
    assert source_digest(numba.njit(module.torque)) is None
    compiled = njit_on_disk(module.torque)
    assert compiled(2.0) == 23.0
    again = njit_on_disk(module.torque)
    assert again(2.0) == 23.0 and hits(again) == 0


def test_a_function_without_a_file_is_compiled():
    namespace = {}
    # as in an install where no folder can be written
    exec(compile("def double(value):\n    return 2.0 * value\n", "<nowhere>", "exec"), namespace)
    with pytest.raises(RuntimeError, match="cannot cache"):
        numba.njit(cache=True)(namespace["double"])
    assert njit_on_disk(namespace["double"], "float64(float64)")(1.5) == 3.0


def test_a_digest_changes_with_options_arrays_and_closures():
    table = np.arange(3.0)

    def closed(factor):
        return lambda index: factor * index

    def of_table(index):
        return table[index]

    digests = {
        source_digest(numba.njit(closed(1.0))),
        source_digest(numba.njit(closed(2.0))),
        source_digest(numba.njit(fastmath=True)(closed(2.0))),
        source_digest(numba.njit(of_table)),
    }
    table[1] = 7.0
    digests.add(source_digest(numba.njit(of_table)))
    assert len(digests) == 5 and None not in digests
    assert source_digest(numba.njit(closed(1.0))) in digests


def test_a_digest_is_the_same_in_every_process():
    program = """
import numba
from trueup.compilation import source_digest
def is_late(mode):
    return mode in {"late", "later", "latest", "last"}
print(source_digest(numba.njit(fastmath={"reassoc", "contract", "nsz"})(is_late)))
"""
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(3)
    }
    assert len(digests) == 1 and "None" not in digests.pop()
