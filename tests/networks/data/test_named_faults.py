"""Faults of recordings that the check names, by file: signs, times, units and copies."""

import numpy as np
import pytest

from trueup.networks import ActuatorSeries, DataSettings
from trueup.networks.data.check import check_data
from trueup.networks.data.motion_agreement import motion_findings
from trueup.networks.data.odd_torques import odd_torques

RATE = 250.0
COLUMNS = {
    "target_angle_rad": {"column": "cmd", "unit": "rad"},
    "current_angle_rad": {"column": "q", "unit": "rad"},
    "current_ang_vel_rad_s": {"column": "v", "unit": "rad/s"},
    "torque": {"column": "tau", "unit": "N m"},
}


def joint(seed: int, seconds: float = 8.0) -> np.ndarray:
    """Time, target, angle, velocity and torque of a pendulum under a PD law with friction."""
    random = np.random.default_rng(seed)
    count = int(seconds * RATE)
    times = np.arange(count) / RATE
    parts = zip(random.uniform(0.3, 2.5, 4), random.uniform(0, 6, 4), strict=True)
    target = sum(0.3 * np.sin(2 * np.pi * f * times + p) for f, p in parts)
    q, v, tau = (np.zeros(count) for _ in range(3))
    for k in range(count - 1):
        tau[k] = np.clip(20 * (target[k] - q[k]) - 0.5 * v[k], -6, 6) - 0.2 * np.tanh(v[k] / 0.05)
        v[k + 1] = v[k] + (tau[k] - 0.8 * np.sin(q[k])) / 0.05 / RATE
        q[k + 1] = q[k] + v[k + 1] / RATE
    tau[-1] = tau[-2]
    noise = random.normal(size=(3, count)) * np.array([[2e-4], [0.01], [0.03]])
    return np.stack([times, target, q + noise[0], v + noise[1], tau + noise[2]])


LOGS = [joint(seed) for seed in range(4)]
TIME, TARGET, ANGLE, VELOCITY, TORQUE = range(5)


def changed(row: int, change, only: int | None = None) -> list[np.ndarray]:
    found = [log.copy() for log in LOGS]
    for number, log in enumerate(found):
        if only is None or number == only:
            log[row] = change(log[row])
    return found


def later(seconds: float):
    return lambda values: np.roll(values, round(seconds * RATE))


def checked(folder, logs, **settings):
    folder.mkdir()
    for number, log in enumerate(logs):
        np.savetxt(
            folder / f"r{number}.csv", log.T, delimiter=",", header="t,cmd,q,v,tau", comments="",
            fmt="%.8g",
        )  # fmt: skip
    return check_data(DataSettings(str(folder), columns=COLUMNS, time="t", **settings))


def sentences(found) -> str:
    return "\n".join(each.sentence for each in found.doubtful)


def test_right_recordings_have_no_finding(tmp_path):
    assert checked(tmp_path / "right", LOGS).doubtful == ()


@pytest.mark.parametrize("only", [None, 2])
def test_a_reversed_command_is_refused_with_its_files(tmp_path, only):
    found = checked(tmp_path / "data", changed(TARGET, np.negative, only))
    assert not found.usable
    assert "follows the target angle with the other sign in " in sentences(found)
    assert ("all recordings" in sentences(found)) == (only is None)
    assert ("'r2.csv'" in sentences(found)) == (only is not None)
    accepted = checked(tmp_path / "again", changed(TARGET, np.negative, only), accept=("command",))
    assert accepted.usable and "other sign" in sentences(accepted)


@pytest.mark.parametrize("only", [None, 2])
def test_a_reversed_torque_is_named_with_its_files(tmp_path, only):
    said = sentences(checked(tmp_path / "data", changed(TORQUE, np.negative, only)))
    assert "accelerates the joint against its direction" in said
    assert said.startswith("The torque of 4 recordings" if only is None else "r2: the torque")
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("delay", [-0.1, -0.02, 0.04, 0.1, 0.3])
@pytest.mark.parametrize("only", [None, 2])
def test_torques_at_other_times_are_named_with_their_delay(delay, only):
    series = series_of(changed(TORQUE, later(delay), only))
    found = odd_torques(series, tuple(COLUMNS)[:3])
    assert [each.name for each in found] == ["" if only is None else "r2"]
    assert found[0].delay == pytest.approx(delay, abs=0.005)  # type: ignore[union-attr]
    side = "later" if delay > 0 else "earlier"
    assert f"ms {side} than the motion that it causes" in found[0].sentence


def test_small_delays_and_motions_that_the_torque_does_not_cause_are_not_named():
    assert motion_findings(series_of(changed(TORQUE, later(0.004))))[0] == []
    random = np.random.default_rng(3)
    pushed = changed(TORQUE, lambda values: random.normal(size=len(values)))
    assert motion_findings(series_of(pushed)) == ([], set())


def series_of(logs) -> list[ActuatorSeries]:
    names = tuple(COLUMNS)
    return [
        ActuatorSeries(
            f"r{number}", "one", RATE, dict(zip(names[:3], log[1:4], strict=True)), log[TORQUE]
        )
        for number, log in enumerate(logs)
    ]


def test_torques_in_millimetres_are_named(tmp_path):
    logs = changed(TORQUE, lambda values: 1000.0 * values)
    assert "if it is in mN m" in sentences(checked(tmp_path / "size", logs))
    columns = {**COLUMNS, "reference_torque": {"column": "est", "unit": "N m"}}
    (tmp_path / "ratio").mkdir()
    for number, log in enumerate(logs):
        rows = np.vstack([log, log[TORQUE] / 1000.0])
        np.savetxt(
            tmp_path / "ratio" / f"r{number}.csv", rows.T, delimiter=",",
            header="t,cmd,q,v,tau,est", comments="",
        )  # fmt: skip
    found = check_data(DataSettings(str(tmp_path / "ratio"), columns=columns, time="t"))
    assert not found.usable
    assert "'r3.csv (reference_torque)': one of them is in mN m" in sentences(found)


@pytest.mark.parametrize("part", [slice(None), slice(500, 1300)])
def test_a_copied_recording_is_refused(tmp_path, part):
    copy = LOGS[1][:, part].copy()
    copy[TIME] -= copy[TIME, 0]
    found = checked(tmp_path / "data", [*LOGS, copy])
    assert not found.usable
    assert "r4.csv is a copy of r1.csv" in sentences(found)
    assert checked(tmp_path / "again", [*LOGS, copy], accept=("copies",)).usable


def test_a_command_that_repeats_the_measurement_is_refused(tmp_path):
    logs = [log.copy() for log in LOGS]
    logs[0][TARGET] = logs[0][ANGLE]
    found = checked(tmp_path / "data", logs)
    assert "r0.csv: target_angle_rad is a copy of current_angle_rad" in sentences(found)
    assert not found.usable


def test_a_recording_of_ten_samples_is_refused(tmp_path):
    found = checked(tmp_path / "data", [*LOGS, LOGS[0][:, :10]])
    assert not found.usable
    assert "r4.csv: It has 10 samples, of which a network learns nothing" in sentences(found)
