"""Frames that repeat, stuck encoders, spikes, copied commands, ranges and late channels."""

import numpy as np
import pytest

from trueup.signals import check_quality
from trueup.signals.checks.recorded import Channel, Limit
from trueup.signals.checks.spikes import spike_rows
from trueup.signals.checks.stale import repeats

RATE = 250.0
TIMES = np.arange(3000) / RATE
COUNT = 2 * np.pi / 8192


def motion(seed=0, speed=2.0, times=TIMES):
    """Angle and velocity of a joint."""
    rng = np.random.default_rng(seed)
    size, f, phase = rng.uniform((0.1, 0.2, 0), (0.4, 1.2, 6.3), (4, 3)).T
    inside = 2 * np.pi * f * np.outer(times, np.ones(4)) + phase
    q = speed * (size * np.sin(inside)).sum(axis=1)
    v = speed * (size * 2 * np.pi * f * np.cos(inside)).sum(axis=1)
    return q, v + 0.02 * rng.normal(size=v.size), rng


def again(rows, *columns):
    """Columns whose rows repeat the one before."""
    last = np.maximum.accumulate(np.where(rows, 0, np.arange(rows.size)))
    return [column[last] for column in columns]


def found(q, v=None, times=TIMES):
    return repeats(Channel("q", q, "position"), v, (), times).rows


@pytest.mark.parametrize("share", [0.1, 0.25, 0.4])
@pytest.mark.parametrize("step", [0.0, COUNT, 2 * np.pi / 4096])
def test_frames_that_repeat_are_found_row_by_row(share, step):
    q, v, rng = motion(3)
    q = np.round(q / step) * step if step else q
    rows = rng.random(q.size) < share
    rows[0] = False
    q, v = again(rows, q, v)
    rows_found = found(q, v)
    assert np.mean(rows_found[rows]) > 0.97
    assert np.mean(rows_found[~rows]) < 0.005


def test_bursts_of_lost_frames_are_found():
    q, v, _ = motion(1)
    rows = np.zeros(q.size, bool)
    for start in range(100, 2900, 170):
        rows[start : start + 4 + start % 17] = True
    q, v = again(rows, np.round(q / COUNT) * COUNT, v)
    rows_found = found(q, v)
    assert np.mean(rows_found[rows]) > 0.9
    assert np.mean(rows_found[~rows]) < 0.005


@pytest.mark.parametrize("motors", [2, 3, 6])
def test_motors_that_are_read_in_turn_hold_their_frames(motors):
    q, v, _ = motion(2)
    rows = np.arange(q.size) % motors != 0
    q, v = again(rows, q, v)
    rows_found = found(q, v)
    assert np.mean(rows_found[rows]) > 0.95
    assert not rows_found[~rows].any()


def by_ticks(q, v, rng):
    """A velocity that changes with the count of the encoder only."""
    q = np.round(0.1 * q / COUNT) * COUNT
    changes = np.diff(q, prepend=np.nan) != 0
    return again(~changes, q, 0.1 * v)


def resting(q, v, rng):
    where = np.where((np.arange(q.size) // 500) % 2 == 0, np.arange(q.size), 0)
    where = np.maximum.accumulate(where)
    q, v = np.round(q[where] / COUNT) * COUNT, v[where]
    return q, np.where(np.diff(where, prepend=-1) == 0, 0.0, v)


GENUINE = {
    "as recorded": lambda q, v, rng: (q, v),
    "14 bits": lambda q, v, rng: (np.round(q / COUNT) * COUNT, v),
    "slow, 12 bits at 1 kHz": lambda q, v, rng: (np.round(0.02 * q / 1.5e-3) * 1.5e-3, 0.02 * v),
    "velocity of a slower loop": lambda q, v, rng: (
        np.round(q / COUNT) * COUNT, v[np.arange(v.size) // 4 * 4]
    ),
    "velocity by ticks": by_ticks,
    "resting": resting,
    "without noise": lambda q, v, rng: (q, np.gradient(q, TIMES)),
    "four decimals": lambda q, v, rng: (np.round(q, 4), np.round(v, 2)),
}  # fmt: skip


@pytest.mark.parametrize("kind", GENUINE)
def test_genuine_repetition_is_no_old_frame(kind):
    alarms = 0
    for seed in range(20):
        q, v, rng = motion(seed, 0.5 + seed % 3)
        alarms += bool(found(*GENUINE[kind](q, v, rng)).any())
    assert alarms == 0


def test_a_stuck_encoder_is_named_with_the_part_to_leave_out():
    q, v, _ = motion(4)
    rows = np.zeros(q.size, bool)
    rows[1200:1300] = True
    (q,) = again(rows, q)
    report = check_quality(TIMES, {"q": q, "v": v}, roles={"q": "position", "v": "velocity"})
    (stuck,) = report.of_check("stuck")
    assert stuck.cause == "a stuck encoder"
    assert stuck.figures["start"] == pytest.approx(4.8, abs=0.02)
    assert stuck.figures["end"] == pytest.approx(5.2, abs=0.02)
    assert "trim: {end: 4.8" in stuck.sentence and "trim: {start: 5.2" in stuck.sentence


@pytest.mark.parametrize("size", [-12.4, 0.4, 1e6])
@pytest.mark.parametrize("width", [1, 2])
def test_spikes_are_found_one_by_one(size, width):
    q, _, rng = motion(5)
    q += 3e-4 * rng.normal(size=q.size)
    rows = np.zeros(q.size, bool)
    for start in range(60, 2900, 240):
        rows[start : start + width] = True
    spiky = np.where(rows, size if abs(size) > 1 else q + size, q)
    np.testing.assert_array_equal(spike_rows(spiky), rows)
    assert "leave_out: [spikes]" in spikes_of(spiky)[0].sentence


def spikes_of(q):
    return check_quality(TIMES, {"q": q}, roles={"q": "position"}).of_check("spikes")


CLEAN = {
    "motion": lambda q, rng: q,
    "noise": lambda q, rng: q + 2e-3 * rng.normal(size=q.size),
    "heavy tails": lambda q, rng: q + 3e-4 * rng.standard_t(3, size=q.size),
    "quantised": lambda q, rng: np.round(q / 0.01) * 0.01,
    "steps": lambda q, rng: np.sign(q),
    "a stop": lambda q, rng: np.clip(q, -0.3, 0.3),
    "corners": lambda q, rng: np.abs(q),
    "a restart": lambda q, rng: np.where(TIMES > 6, q + 3.0, q),
    "rest": lambda q, rng: np.where(TIMES > 2, q[500], q),
}


@pytest.mark.parametrize("kind", CLEAN)
def test_other_samples_are_no_spikes(kind):
    alarms = 0
    for seed in range(20):
        q, _, rng = motion(seed)
        alarms += bool(spike_rows(CLEAN[kind](q, rng)).any())
    assert alarms == 0


@pytest.mark.parametrize("rows", [-3, -1, 0, 1, 2])
def test_a_command_that_is_a_copy_is_refused(rows):
    q, _, _ = motion(6)
    q = np.round(q / COUNT) * COUNT
    copied = np.roll(q, -rows)
    report = check_quality(
        TIMES[5:-5],
        {"cmd": copied[5:-5], "q": q[5:-5]},
        roles={"cmd": "control", "q": "position"},
        targets={"cmd": "q"},
    )
    (copy,) = report.of_check("copy")
    assert copy.severity == "refuse"
    assert "cmd is a copy of q" in copy.sentence
    assert ("row" in copy.sentence.split(":")[0]) == (rows != 0)


def test_a_servo_that_follows_well_is_no_copy():
    for lag in (0, 1, 5):
        q, _, rng = motion(7)
        late = np.roll(q, lag) + 1e-4 * rng.normal(size=q.size)
        late = np.round(late / COUNT) * COUNT
        report = check_quality(
            TIMES, {"u": q, "q": late}, roles={"u": "control"}, targets={"u": "q"}
        )
        assert not report.of_check("copy")


def test_values_beyond_a_range_are_said_with_both_numbers():
    q, _, rng = motion(8)
    q = 1.3 * q / np.abs(q).max() + 1e-3 * rng.normal(size=q.size)
    limit = Limit(-1.0, 1.0, "the range of the joint knee", "it stops", "joint/knee/range")
    (beyond,) = check_quality(TIMES, {"q": q}, limits={"q": limit}).of_check("limits")
    assert (
        "q reaches" in beyond.sentence and "range of the joint knee of -1 to 1" in beyond.sentence
    )
    assert "target: joint/knee/range" in beyond.sentence
    at_it = np.clip(q, -1.0, 1.0) + 1e-3 * rng.normal(size=q.size)
    assert not check_quality(TIMES, {"q": at_it}, limits={"q": limit}).of_check("limits")


@pytest.mark.parametrize("lag", [0.01, 0.032, -0.012])
def test_a_late_velocity_is_found_with_its_delay(lag):
    q, _, rng = motion(9)
    _, v, _ = motion(9, times=TIMES - lag)
    report = check_quality(
        TIMES, {"q": q + 2e-4 * rng.normal(size=q.size), "v": v}, pairs=[("q", "v")],
        roles={"q": "position", "v": "velocity"},
    )  # fmt: skip
    (late,) = report.of_check("lag")
    assert late.figures["lag"] == pytest.approx(lag, abs=0.001)
    assert f"late: {late.figures['lag']:.3g}" in late.sentence


def test_velocities_of_their_position_are_not_late():
    alarms = 0
    for seed in range(60):
        q, v, rng = motion(seed)
        q = (q + 2e-4 * rng.normal(size=q.size), np.round(q / COUNT) * COUNT)[seed % 2]
        report = check_quality(
            TIMES, {"q": q, "v": v}, pairs=[("q", "v")], roles={"q": "position", "v": "velocity"}
        )
        alarms += bool(report.of_check("lag"))
    assert alarms == 0


def test_a_time_axis_that_is_too_long_is_named_with_its_factor():
    q, v, _ = motion(10)
    report = check_quality(
        3.3 * TIMES, {"q": q, "v": v}, pairs=[("q", "v")], roles={"q": "position", "v": "velocity"}
    )
    (ratio,) = report.of_check("position-velocity")
    assert ratio.severity == "warning"
    assert "time axis" in ratio.sentence and "time_scale: 0.30" in ratio.sentence
