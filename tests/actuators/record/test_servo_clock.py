"""Readings of a servo with a clock of its own have the times at which it measured."""

import numpy as np
import pytest

from trueup.actuators import record
from trueup.actuators.record.control_tables import XL320, XL330
from trueup.actuators.record.servo_clock import PERIOD, TICK, ServoClock


def exchanges(rng, samples=6000, period=0.02):
    """Times of questions, measurements and answers [s]; one of five answers is late."""
    before = period * np.arange(samples) + rng.uniform(0.0, 2e-4, samples)
    wait = rng.uniform(1e-4, 4e-4, samples)
    answer = rng.uniform(1e-4, 4e-4, samples)
    late = rng.random(samples) < 0.2
    side = rng.random(samples) < 0.5
    wait[late & side] += rng.uniform(2e-3, 0.015, (late & side).sum())
    answer[late & ~side] += rng.uniform(2e-3, 0.015, (late & ~side).sum())
    return before, before + wait, before + wait + answer


def times(ticks, before, after):
    clock = ServoClock()
    found = [clock.time_of(*row) for row in zip(ticks, before, after, strict=True)]
    return np.array(found), clock


@pytest.mark.parametrize("drift", [0.0, 1e-4, -1e-4])
@pytest.mark.parametrize("start", [0.0, PERIOD - 0.01, 17.3])
def test_late_answers_do_not_move_the_times(drift, start):
    before, measured, after = exchanges(np.random.default_rng(3))
    ticks = np.floor(((1 + drift) * measured + start) % PERIOD / TICK) * TICK
    found, clock = times(ticks, before, after)
    assert not clock.contradicted
    assert (found >= before).all() and (found <= after).all()
    error = np.abs(found - measured)[50:]
    assert error.max() < 2.5e-3 and error.mean() < 5e-4
    middle = np.abs((before + after) / 2 - measured)[50:]
    assert middle.max() > 7e-3 and middle.mean() > 8e-4


def test_a_gap_of_some_periods_is_counted():
    before, measured, after = exchanges(np.random.default_rng(4), 300)
    for each in (before, measured, after):
        each[150:] += 2.4 * PERIOD
    found, clock = times(np.floor(measured % PERIOD / TICK) * TICK, before, after)
    # the clocks have drifted apart by an unknown amount in the meantime
    assert not clock.contradicted and np.abs(found - measured)[50:150].max() < 2.5e-3


@pytest.mark.parametrize(
    "ticks",
    [
        lambda measured: np.zeros_like(measured),
        lambda measured: 1.01 * measured % PERIOD,
        lambda measured: -measured % PERIOD,
        lambda measured: np.random.default_rng(1).uniform(0, PERIOD, len(measured)),
    ],
    ids=["constant", "fast", "backwards", "random"],
)
def test_numbers_that_are_no_clock_are_not_used(ticks):
    before, measured, after = exchanges(np.random.default_rng(5))
    found, clock = times(ticks(measured), before, after)
    assert clock.contradicted
    assert (found >= before).all() and (found <= after).all()
    np.testing.assert_array_equal(found[3000:], ((before + after) / 2)[3000:])


def test_a_servo_without_a_clock_has_the_middle():
    assert ServoClock().time_of(None, 1.0, 1.5) == 1.25


@pytest.mark.parametrize(("table", "has_clock"), [(XL330, True), (XL320, False)])
def test_the_tick_is_read_with_the_measurements(table, has_clock):
    with (
        record.SimulatedServo(table) as servo,
        record.DynamixelDriver(servo.port, table.motor) as driver,
    ):
        first = driver.read().tick
        instructions = servo.instructions
        second = driver.read().tick
        assert servo.instructions == instructions + 1
    assert (first is None) == (not has_clock)
    assert second is None or 0.0 <= first <= second < PERIOD
