"""Samples that were logged twice are found, and genuine repetitions are not."""

import numpy as np
import pytest

from trueup.signals import check_quality

COUNT = 2 * np.pi / 4096


def motion(rng: np.random.Generator, rate: float, speed: float = 1.0) -> tuple[np.ndarray, ...]:
    times = np.arange(round(8 * rate)) / rate
    size, f, phase = rng.uniform((0.2, 0.1, 0), (1, 1.5, 6.3), (4, 3)).T
    return times, (speed * size * np.sin(2 * np.pi * np.outer(times, f) + phase)).sum(axis=1)


def stale(times, values, roles="position"):
    found = check_quality(times, {"q": values, "u": times}, roles={"q": roles, "u": "control"})
    return found.of_check("stale")


@pytest.mark.parametrize("share", [0.05, 0.15, 0.4])
@pytest.mark.parametrize("rate", [100.0, 500.0])
@pytest.mark.parametrize("step", [0.0, COUNT])
def test_rows_that_were_logged_again_are_counted(share, rate, step):
    rng = np.random.default_rng(3)
    times, values = motion(rng, rate, 2.0)
    values = values + 2e-4 * rng.normal(size=values.size)
    values = np.round(values / step) * step if step else values
    for row in np.flatnonzero(rng.random(values.size) < share):
        values[row] = values[max(row - 1, 0)]
    (found,) = stale(times, values)
    assert found.severity == "warning"
    assert found.cause == "stale frames"
    assert found.figures["share"] == pytest.approx(share, rel=0.4)
    assert "the first at" in found.sentence


def test_a_sensor_that_is_slower_than_the_log_is_stale():
    rng = np.random.default_rng(0)
    times, values = motion(rng, 500.0, 2.0)
    (found,) = stale(times, values[np.arange(values.size) // 5 * 5])
    assert found.figures["share"] == pytest.approx(0.8, abs=0.05)


GENUINE = {
    "quantised and slow": lambda q, rng: np.round(0.05 * q / COUNT) * COUNT,
    "quantised": lambda q, rng: np.round(q / COUNT) * COUNT,
    "noisy and quantised": lambda q, rng: (
        np.round((q + 2e-4 * rng.normal(size=q.size)) / COUNT) * COUNT
    ),
    "four decimals": lambda q, rng: np.round(q, 4),
    "four digits": lambda q, rng: np.array([float(f"{v:.4g}") for v in q]),
    "encoder, then four digits": lambda q, rng: np.array(
        [float(f"{v:.4g}") for v in np.round(q / COUNT) * COUNT]
    ),
    "rests half of the time": lambda q, rng: np.where(np.arange(q.size) < q.size // 2, q, q[-1]),
    "without noise": lambda q, rng: q,
}


@pytest.mark.parametrize("kind", GENUINE)
@pytest.mark.parametrize("rate", [50.0, 100.0, 1000.0])
def test_genuine_repetition_is_not_stale(kind, rate):
    alarms = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        times, values = motion(rng, rate)
        alarms += bool(stale(times, GENUINE[kind](values, rng)))
    assert alarms == 0
