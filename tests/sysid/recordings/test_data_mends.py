"""Damaged logs are mended by keys of the experiment file, which the advice of a check names."""

import re

import numpy as np
import pytest
import yaml
from driven_arms import Plant, experiment, model_of, record

from trueup.errors import TrueupError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

PLANT = Plant(joints=2)
RATE = 100.0
TURN = 2 * np.pi


@pytest.fixture(scope="module")
def clean(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clean")
    record(folder, PLANT)
    return np.loadtxt(folder / "arm.csv", delimiter=",", skiprows=1)


def prepared(folder, rows, entry=None, columns=None, header="t,q1,q2,v1,v2,u1,u2", more=None):
    """The experiment of a log, with keys of its recording and of its columns.

    The recordings are those of ``more``, each a change of the entry, where it is given.
    """
    (folder / "arm.xml").write_text(model_of(PLANT))
    np.savetxt(folder / "arm.csv", rows, delimiter=",", header=header, comments="", fmt="%.10g")
    content = yaml.safe_load(experiment(PLANT))
    recording = {**content["recordings"][0], **(entry or {})}
    recording["signals"] = {**recording["signals"], **(columns or {})}
    content["held_out"] = {"fraction": 0.0}
    content["recordings"] = [{**recording, **change} for change in more or [{}]]
    return prepare(parse_experiment(yaml.safe_dump(content, sort_keys=False)), folder)


def loaded(found):
    """Times and signals of the recordings, one after the other."""
    wholes = [t for group in found.training for t in group.measured_rollout]
    return (
        np.concatenate([w.sensordata.times for w in wholes]),
        np.concatenate([w.sensordata.data for w in wholes]),
    )


def again(rows, mask, columns):
    out = rows.copy()
    last = np.maximum.accumulate(np.where(mask, 0, np.arange(mask.size)))
    out[:, columns] = out[last][:, columns]
    return out


# --- frames and spikes ------------------------------------------------------------------------


def test_repeated_frames_are_left_out_by_motor_and_that_is_said(tmp_path, clean):
    rng = np.random.default_rng(0)
    masks = [rng.random(len(clean)) < share for share in (0.25, 0.15)]
    damaged = again(again(clean, masks[0], [1, 3]), masks[1], [2, 4])
    kept = prepared(tmp_path, damaged, {"leave_out": []})
    report = kept.recordings[0].quality
    (finding,) = report.of_check("stale")
    assert "leave_out: [repeats] replaces them" in finding.sentence
    found = prepared(tmp_path, damaged)
    assert not found.recordings[0].quality.of_check("stale")
    (note,) = [n for n in found.notes if "repeated frames are left out" in n]
    counts = [int(n) for n in re.findall(r"in (\d+) rows", note)]
    assert counts == pytest.approx([mask.sum() for mask in masks], rel=0.1)
    _, data = loaded(found)
    _, stale = loaded(kept)
    noise = np.abs(clean[:, 1:5] - data).mean(axis=0)
    assert (noise < 0.3 * np.abs(clean[:, 1:5] - stale).mean(axis=0)).all()


def test_a_measured_torque_in_a_frame_is_replaced_with_it(tmp_path, clean):
    plant = Plant(servo=False)
    record(tmp_path, plant)
    rows = np.loadtxt(tmp_path / "arm.csv", delimiter=",", skiprows=1)
    mask = np.random.default_rng(1).random(len(rows)) < 0.2
    text = experiment(plant, more="held_out: {fraction: 0}")
    (tmp_path / "arm.xml").write_text(model_of(plant))
    for columns in ([1, 2, 3], [1, 2]):
        damaged = again(rows, mask, columns)
        np.savetxt(tmp_path / "arm.csv", damaged, delimiter=",", header="t,q1,v1,u1",
                   comments="", fmt="%.10g")  # fmt: skip
        found = prepare(parse_experiment(text), tmp_path)
        control = found.training[0].measured_rollout[0].control
        torque = control.interpolate(rows[:, 0], "zoh")[:, 0]
        assert np.abs(torque - rows[:, 3]).max() < 0.2 * np.ptp(rows[:, 3])
        if columns == [1, 2]:
            np.testing.assert_allclose(torque, rows[:, 3])


def test_rows_in_which_a_motor_was_not_read_for_long_are_left_out(tmp_path, clean):
    mask = np.zeros(len(clean), bool)
    for start in range(30, 760, 60):
        mask[start : start + 12] = True
    damaged = again(clean, mask | (np.arange(len(clean)) % 7 == 0), [1, 3])
    times, data = loaded(prepared(tmp_path, damaged))
    assert not np.isin(np.round(times * RATE), np.flatnonzero(mask)[5:6]).any()
    assert 0.6 < len(times) / len(clean) < 0.9
    at = np.round(times * RATE).astype(int)
    assert np.abs(data[:, 0] - clean[at, 1]).max() < 0.02


@pytest.mark.parametrize("value", [-12.4222, 3.3])
def test_spikes_are_left_out_and_that_is_said(tmp_path, clean, value):
    damaged = clean.copy()
    damaged[50::100, 1] = value
    kept = prepared(tmp_path, damaged, {"leave_out": ["repeats"]})
    (finding,) = kept.recordings[0].quality.of_check("spikes")
    assert "leave_out: [spikes]" in finding.sentence
    found = prepared(tmp_path, damaged, {"leave_out": ["spikes"]})
    assert any("shoulder jumps away and back in 8 samples" in note for note in found.notes)
    np.testing.assert_allclose(loaded(found)[1], clean[:, 1:5], atol=2e-3)


def test_a_clean_log_stays_as_it_is(tmp_path, clean):
    found = prepared(tmp_path, clean)
    assert not [n for n in found.notes if "left out" in n or "unwrapped" in n]
    np.testing.assert_allclose(loaded(found)[1], clean[:, 1:5], rtol=1e-8)


# --- angles -----------------------------------------------------------------------------------


def test_a_wrapped_angle_is_refused_until_its_key_continues_it(tmp_path, clean):
    damaged = clean.copy()
    damaged[:, 1] = np.mod(8.0 * clean[:, 1], TURN)
    with pytest.raises(TrueupError, match=r"shoulder_qpos jumps by a whole turn .*unwrap: true"):
        prepared(tmp_path, damaged)
    key = {"shoulder_qpos": {"column": "q1", "unwrap": True, "scale": 1.0}}
    _, data = loaded(prepared(tmp_path, damaged, columns=key))
    off = data[:, 0] - 8.0 * clean[:, 1]
    np.testing.assert_allclose(off, np.round(off[0] / TURN) * TURN, atol=1e-8)


@pytest.mark.parametrize("given", [0, -4096])
def test_a_period_that_is_none_is_refused(tmp_path, clean, given):
    key = {"shoulder_qpos": {"column": "q1", "unwrap": given}}
    if given == 0:
        assert prepared(tmp_path, clean, columns=key).recordings
        return
    with pytest.raises(TrueupError, match="unwrap"):
        prepared(tmp_path, clean, columns=key)


# --- clocks -----------------------------------------------------------------------------------


def test_runs_of_one_file_are_recordings_by_their_number(tmp_path, clean):
    damaged = clean.copy()
    damaged[400:, 0] -= clean[400, 0]
    with pytest.raises(TrueupError, match=r"2 runs in one log.*run: 1 to run: 2.*Never sort"):
        prepared(tmp_path, damaged)
    parts = [{"name": "first", "run": 1}, {"name": "second", "run": 2}]
    times, data = loaded(prepared(tmp_path, damaged, more=parts))
    np.testing.assert_allclose(times, damaged[:, 0], atol=1e-9)
    np.testing.assert_allclose(data, clean[:, 1:5], rtol=1e-8)
    with pytest.raises(TrueupError, match=r"run is 3, but the clock of arm.csv shows 2 runs"):
        prepared(tmp_path, damaged, {"run": 3})


def test_a_counter_of_any_period_is_continued(tmp_path, clean):
    damaged = clean.copy()
    damaged[:, 0] = np.mod(clean[:, 0], 3.0)
    _, data = loaded(prepared(tmp_path, damaged, {"rollover": 3.0}))
    np.testing.assert_allclose(data, clean[:, 1:5], rtol=1e-8)
    with pytest.raises(TrueupError, match="correct rollover, or remove it"):
        prepared(tmp_path, damaged, {"rollover": 2.0})


REPAIRED = {
    "rows out of order": (lambda rows: rows[np.r_[0:300, 302, 301, 300, 303:800]], "runs backward"),
    "double rows": (lambda rows: rows[np.r_[0:300, 299:800]], "repeat the one before"),
    "missing values": (
        lambda rows: np.where((np.arange(800) % 200 == 7)[:, None] & (np.arange(7) == 3), np.nan,
                              rows),
        "NaN or infinite",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", REPAIRED)
def test_defects_are_refused_with_the_key_that_repairs_them(tmp_path, clean, kind):
    damage, words = REPAIRED[kind]
    damaged = damage(clean)
    with pytest.raises(TrueupError, match=f"{words}.*repair: true"):
        prepared(tmp_path, damaged)
    times, data = loaded(prepared(tmp_path, damaged, {"repair": True}))
    np.testing.assert_allclose(times, clean[:, 0], atol=1e-9)
    np.testing.assert_allclose(data, clean[:, 1:5], atol=0.05)


def test_a_scaled_time_axis_is_corrected_by_the_factor_of_the_advice(tmp_path, clean):
    damaged = clean.copy()
    damaged[:, 0] *= 3.3
    report = prepared(tmp_path, damaged).recordings[0].quality
    finding = report.of_check("position-velocity")[0]
    factor = float(re.search(r"time_scale: ([\d.]+\d)", finding.sentence)[1])
    assert factor == pytest.approx(1 / 3.3, rel=0.02)
    found = prepared(tmp_path, damaged, {"time_scale": factor})
    assert "they agree" in found.recordings[0].quality.of_check("position-velocity")[0].sentence


def test_a_late_column_is_taken_earlier_by_the_time_of_the_advice(tmp_path, clean):
    damaged = clean.copy()
    damaged[3:, 3:5] = clean[:-3, 3:5]
    report = prepared(tmp_path, damaged).recordings[0].quality
    late = {f.channel: f for f in report.of_check("lag")}
    assert set(late) == {"shoulder_qpos / shoulder_qvel", "elbow_qpos / elbow_qvel"}
    times = [float(re.search(r"late: ([\d.]+)", f.sentence)[1]) for f in late.values()]
    assert times == pytest.approx([0.03, 0.03], abs=0.004)
    keys = {
        f"{j}_qvel": {"column": f"v{k}", "late": 0.03} for j, k in (("shoulder", 1), ("elbow", 2))
    }
    found = prepared(tmp_path, damaged, columns=keys)
    assert not found.recordings[0].quality.of_check("lag")
    times, data = loaded(found)
    at = np.round(times * RATE).astype(int)
    np.testing.assert_allclose(data[:, 2:], clean[at, 3:5], atol=1e-6)


def test_a_late_control_is_taken_earlier(tmp_path, clean):
    damaged = clean.copy()
    damaged[2:, 5] = clean[:-2, 5]
    control = {"shoulder": {"column": "u1", "late": 0.02}, "elbow": "u2"}
    found = prepared(tmp_path, damaged, {"controls": control})
    whole = found.training[0].measured_rollout[0]
    times = whole.sensordata.times[:-3]
    sent = whole.control.interpolate(times + 1e-6, "zoh")
    at = np.round(times * RATE).astype(int)
    np.testing.assert_allclose(sent[:, :2], clean[at, 5:7], atol=1e-9)
    assert any("20 ms earlier" in note for note in found.notes)


# --- commands and ranges ----------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0, 1])
def test_a_command_that_is_a_copy_is_refused(tmp_path, clean, shift):
    damaged = clean.copy()
    damaged[: len(clean) - shift, 5:7] = clean[shift:, 1:3]
    with pytest.raises(TrueupError, match=r"shoulder \(control\) is a copy of shoulder_qpos"):
        prepared(tmp_path, damaged)


def test_commands_beyond_the_range_of_the_model_are_said_and_widened(tmp_path, clean):
    (tmp_path / "arm.xml").write_text(model_of(PLANT))
    text = experiment(PLANT)
    np.savetxt(tmp_path / "arm.csv", clean, delimiter=",", header="t,q1,q2,v1,v2,u1,u2",
               comments="", fmt="%.10g")  # fmt: skip
    model = model_of(PLANT).replace('joint="elbow" kp', 'joint="elbow" ctrlrange="-.1 .1" kp')
    (tmp_path / "arm.xml").write_text(model)
    found = prepare(parse_experiment(text), tmp_path)
    (finding,) = found.recordings[0].quality.of_check("limits")
    assert "ctrlrange of the actuator elbow of -0.1 to 0.1" in finding.sentence
    assert f"reaches {clean[:, 6].max():.4g} and {clean[:, 6].min():.4g}" in finding.sentence
    advice = re.search(r"elbow_ctrlrange: \{.*\}", finding.sentence)[0]
    text = text.replace("parameters:", f"parameters:\n  {advice}")
    mended = prepare(parse_experiment(text), tmp_path)
    problem = mended.motion_problem()
    variant = problem.variants[0].spec_at(problem.space.start).compile()
    low, high = variant.actuator("elbow").ctrlrange
    assert low <= clean[:, 6].min() + 1e-4 and high >= clean[:, 6].max() - 1e-4


def test_positions_and_torques_beyond_the_model_are_said(tmp_path, clean):
    plant = Plant(servo=False)
    record(tmp_path, plant)
    model = model_of(plant).replace('joint name="shoulder"', 'joint name="shoulder" range="-3 3"')
    model = model.replace('joint="shoulder"/>', 'joint="shoulder" forcerange="-1 1"/>')
    (tmp_path / "arm.xml").write_text(model)
    found = prepare(parse_experiment(experiment(plant)), tmp_path)
    position, torque = found.recordings[0].quality.of_check("limits")
    assert "beyond the range of the joint shoulder of -0.05236 to 0.05236" in position.sentence
    assert "beyond the forcerange of the actuator shoulder of -1 to 1" in torque.sentence
