"""Functions of Warp made from the text of functions compiled by numba."""

import enum
import math

import numpy as np
import pytest
from warp_models import needs_warp

from trueup.gait.compiled import compiled, compiled_once
from trueup.gait.walk.disturbance_kernel import noise_of

pytestmark = needs_warp

HALF, ODD = 0.5, (1, 3)
WIDE = np.uint64(0x9E3779B97F4A7C15)


class Place(enum.IntEnum):
    first = 0
    last = 3


RECORD = np.dtype(
    [
        ("count", np.int64),
        ("size", np.float64),
        ("key", np.uint64),
        ("on", np.bool_),
        ("pair", np.int64, (2,)),
        ("table", np.float64, (2, 3)),
    ]
)


@compiled
def swapped(values):
    a, b = values[0], values[1]
    a, b = b, a
    return a, b


@compiled
def filled(values, out):
    out[:] = HALF
    out[1:3] = values[Place.last]
    out[3:] = values[Place.first]


@compiled
def extremes(values, out):
    lowest, count, total = math.inf, 0, -0.0
    for k in range(len(values)):
        lowest = min(lowest, values[k])
        if values[k] > 0.0:
            count += 1
        total += values[k]
    out[0], out[1], out[2] = lowest, float(count), total
    out[3] = math.nan


@compiled
def chained(values, out):
    for k in range(out.shape[0]):
        out[k] = 1.0 if 0.1 <= values[k] < HALF and k not in (0, 2) else 0.0
        if k in ODD:
            out[k] += 10.0


@compiled
def calls(values, out):
    a, b = swapped(values)
    out[0], out[1] = a, b
    out[2] = np.sign(-values[0]) + np.floor(values[1]) + math.atan2(a, b)
    out[3] = np.maximum(a, np.minimum(b, 0.0))


@compiled
def noises(values, out):
    for k in range(len(out)):
        out[k] = noise_of(WIDE, np.uint64(k))


@compiled
def leaves_early(values, out):
    out[:] = 0.0
    for k in range(len(values)):
        if values[k] < 0.0:
            continue
        if values[k] > 1.0:
            return
        out[k] = math.sqrt(values[k])


@compiled
def of_another_module(values, out):
    out[0] = np.linalg.norm(values)


def _by_warp(function, values):
    from trueup.simulation.warp.devices import warp_modules
    from trueup.simulation.warp.numba_text import warp_function

    wp, _ = warp_modules()
    own = warp_function(function)

    def run(values: wp.array(dtype=float), out: wp.array(dtype=float)):  # pyright: ignore
        own(values, out)

    kernel = wp.Kernel(run, module=wp.get_module(f"{__name__}.{function.py_func.__name__}"))
    out = wp.zeros(4, dtype=wp.float32, device="cpu")
    given = wp.array(values.astype(np.float32), device="cpu")
    wp.launch(kernel, 1, [given, out], device="cpu")
    return out.numpy().astype(float)


TEXTS = (filled, extremes, chained, calls, noises, leaves_early)


@pytest.mark.parametrize("function", TEXTS, ids=lambda f: f.py_func.__name__)
def test_both_languages_read_a_text_alike(function):
    values = np.array([0.25, 1.75, -0.5, 0.4])
    wanted = np.full(4, 7.0)
    caller = compiled_once(_caller(function))
    caller(values, wanted)
    np.testing.assert_allclose(_by_warp(function, values), wanted, atol=1e-6)


def _caller(function):
    def call(values, out):
        function(values, out)

    return call


def test_a_name_without_counterpart_is_named():
    from trueup.simulation.warp.numba_text import warp_function

    with pytest.raises(TypeError, match=r"np\.linalg\.norm has no counterpart in Warp"):
        warp_function(of_another_module)


def test_records_are_structs_in_single_precision():
    from trueup.simulation.warp.numba_text import array_of, struct_of

    records = np.zeros(2, dtype=RECORD)
    records["count"], records["size"], records["on"] = [3, -4], [1.5, 0.1], [True, False]
    records["key"] = [int(WIDE), 7]
    records["pair"], records["table"] = [[1, 2], [3, 4]], np.arange(12.0).reshape(2, 2, 3)
    found = array_of(records, struct_of("Record", RECORD), "cpu").numpy()
    for name in RECORD.names:
        np.testing.assert_allclose(found[name], records[name], rtol=1e-7, err_msg=name)
    assert found["key"][0] == int(WIDE)
