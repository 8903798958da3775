"""Recordings become even features and torque, and broken ones are refused."""

import dataclasses
import json

import numpy as np
import pytest
from recorded_joints import joint_columns, write_csv

from trueup.errors import ColumnError, ExperimentError, RecordingError, SignalError, UnitError
from trueup.networks import (
    FEATURE_NAMES,
    DataSettings,
    TorqueTerms,
    check_data,
    read_series,
    split_global,
)
from trueup.networks.data.check import read_checked
from trueup.networks.data.settings import InertiaGroup

INERTIA = 0.02


@pytest.fixture
def folder(tmp_path):
    for name in ("low", "high"):
        write_csv(tmp_path / name / "run.csv", joint_columns())
    return tmp_path


def settings(folder, **more):
    groups = (InertiaGroup("a", "low", INERTIA), InertiaGroup("b", "high", 2 * INERTIA))
    return DataSettings(str(folder), **{"inertia_groups": groups, **more})


def test_default_layout_gives_features_in_order_and_in_si(folder):
    first, second = read_series(settings(folder))
    values = first.features(FEATURE_NAMES)
    times = np.arange(400) / 100
    omega = 2 * np.pi
    np.testing.assert_allclose(values[:, 0], 0.5 * np.sin(omega * times), atol=1e-9)
    np.testing.assert_allclose(values[:, 1], 0.6 * np.sin(omega * times), atol=1e-9)
    np.testing.assert_allclose(values[:, 2], 0.5 * omega * np.cos(omega * times), atol=1e-9)
    acceleration = -0.5 * omega**2 * np.sin(omega * times)
    np.testing.assert_allclose(first.torque, INERTIA * acceleration, atol=1e-9)
    np.testing.assert_allclose(second.torque, 2 * first.torque, atol=1e-9)
    assert (first.group, second.group) == ("a", "b")
    assert np.all(second.channels["inertia_kg_m2"] == 2 * INERTIA)
    assert len(first.sha256) == 64
    assert "net torque" in " ".join(first.notes)


def test_the_sign_of_the_velocity_is_kept(folder):
    velocity = read_series(settings(folder))[0].channels["current_ang_vel_rad_s"]
    assert velocity.min() < 0 < velocity.max()


def test_a_missing_gyro_axis_is_an_error_not_a_magnitude(folder):
    with pytest.raises(ColumnError, match="Gyro_X"):
        read_series(settings(folder, gyro_axis_for_ang_vel="Gyro_X"))


def test_stated_terms_make_the_target_motor_torque(folder):
    terms = TorqueTerms(
        gravity=0.3, gravity_angle=0.1, spring=2.0, spring_angle=0.2, coulomb=0.1, viscous=0.05
    )
    net = read_series(settings(folder))[0]
    motor = read_series(settings(folder, torque_terms=terms))[0]
    angle, velocity = (net.channels[n] for n in ("current_angle_rad", "current_ang_vel_rad_s"))
    wanted = net.torque + 0.3 * np.sin(angle - 0.1) + 2.0 * (angle - 0.2)
    wanted = wanted + 0.1 * np.tanh(velocity / 0.01) + 0.05 * velocity
    np.testing.assert_allclose(motor.torque, wanted, atol=1e-12)
    assert "motor torque" in " ".join(motor.notes)


def test_gravity_is_taken_from_a_tangential_accelerometer(tmp_path):
    columns = joint_columns()
    columns["Acc_Y"] = columns["Acc_Y"] + 9.81 * np.sin(np.radians(columns["Encoder_Angle"]))
    write_csv(tmp_path / "low" / "run.csv", columns)
    write_csv(tmp_path / "low" / "plain.csv", joint_columns())
    groups = (InertiaGroup("a", "low", INERTIA),)
    plain, _ = read_series(settings(tmp_path, inertia_groups=groups))
    _, corrected = read_series(settings(tmp_path, inertia_groups=groups, accel_gravity=9.81))
    np.testing.assert_allclose(corrected.torque, plain.torque, atol=1e-8)


def test_zero_phase_filter_has_no_delay_and_the_causal_one_sees_no_future(tmp_path):
    columns = joint_columns(2000)
    columns["Acc_Y"] = np.where(columns["Time_ms"] < 10_000, 0.0, 1.0)
    write_csv(tmp_path / "low" / "run.csv", columns)
    options = {
        "inertia_groups": (InertiaGroup("a", "low", 0.2),),
        "filter_cutoff_freq_hz": 5.0,
        "filter_order": 2,
    }
    both = read_series(settings(tmp_path, **options))[0]
    causal = read_series(settings(tmp_path, filter_mode="causal", **options))[0]
    assert both.torque[999] == pytest.approx(0.5, abs=0.1)
    assert abs(both.torque[990]) > 0.01
    assert np.abs(causal.torque[:1000]).max() < 1e-12
    assert causal.torque[1100] == pytest.approx(1.0, abs=1e-3)
    assert "causal" in " ".join(causal.notes)
    assert "zero phase" in " ".join(both.notes)


def test_inputs_are_filtered_alike_on_request_and_commands_never(folder):
    plain = read_series(settings(folder))[0]
    filtered = read_series(settings(folder, filter_cutoff_freq_hz=1.0, filter_inputs=True))[0]
    target = plain.channels["target_angle_rad"]
    np.testing.assert_array_equal(filtered.channels["target_angle_rad"], target)
    assert np.abs(filtered.channels["current_angle_rad"]).max() < 0.49


def test_a_filter_above_half_the_rate_is_refused(folder):
    with pytest.raises(SignalError, match="below half the rate"):
        read_series(settings(folder, filter_cutoff_freq_hz=50.0))


def test_files_of_different_rates_are_refused_until_a_rate_is_given(folder):
    write_csv(folder / "high" / "run.csv", joint_columns(800, 200.0))
    with pytest.raises(RecordingError, match=r"100 Hz.*200 Hz.*data\.rate"):
        read_series(settings(folder))
    series = read_series(settings(folder, rate=100.0))
    assert {each.rate for each in series} == {100.0}
    assert [len(each) for each in series] == [400, 400]
    np.testing.assert_allclose(series[1].torque[50:350] / 2, series[0].torque[50:350], atol=2e-3)
    assert "resampled from 200 Hz" in " ".join(series[1].notes)


def test_jittering_samples_are_put_on_an_even_clock(tmp_path):
    random = np.random.default_rng(0)
    columns = joint_columns(1000)
    times = columns["Time_ms"] / 1e3 + random.uniform(-0.003, 0.003, 1000)
    columns["Time_ms"] = 1e3 * times
    columns["Encoder_Angle"] = np.degrees(0.5 * np.sin(2 * np.pi * times))
    columns["Commanded_Angle"] = np.floor(times / 0.1)
    write_csv(tmp_path / "low" / "run.csv", columns)
    series = read_series(settings(tmp_path, inertia_groups=(InertiaGroup("a", "low", 0.1),)))[0]
    clock = series.start + series.times
    angle = series.channels["current_angle_rad"]
    np.testing.assert_allclose(angle, 0.5 * np.sin(2 * np.pi * clock), atol=1e-3)
    # a command is held, never a value between two
    held = np.degrees(series.channels["target_angle_rad"])
    np.testing.assert_allclose(held, np.round(held), atol=1e-9)


def test_broken_times_are_refused_or_repaired(tmp_path):
    columns = joint_columns()
    # one time rounded onto its neighbour, and a tail whose clock stands still
    columns["Time_ms"][101] = columns["Time_ms"][100]
    tail = {name: np.append(values, values[-1:].repeat(5)) for name, values in columns.items()}
    write_csv(tmp_path / "low" / "run.csv", tail)
    options = {"inertia_groups": (InertiaGroup("a", "low", INERTIA),)}
    with pytest.raises(RecordingError, match=r"repeats.*6 times.*repair"):
        read_series(settings(tmp_path, **options))
    series = read_series(settings(tmp_path, repair=True, **options))[0]
    assert len(series) == 400
    wanted = 0.5 * np.sin(2 * np.pi * series.times)
    np.testing.assert_allclose(series.channels["current_angle_rad"], wanted, atol=1e-9)
    assert "1 times that were rounded onto the previous one moved" in series.notes[0]
    assert "5 rows" in series.notes[1]


def test_a_gap_in_the_clock_is_never_bridged(tmp_path):
    columns = joint_columns(600)
    kept = np.r_[0:200, 260:265, 300:600]
    gapped = {name: values[kept] for name, values in columns.items()}
    write_csv(tmp_path / "low" / "run.csv", gapped)
    write_csv(tmp_path / "low" / "whole.csv", columns)
    options = {"inertia_groups": (InertiaGroup("a", "low", INERTIA),)}
    first, second, whole = read_series(settings(tmp_path, **options))
    assert [each.name for each in (first, second, whole)] == ["run_part1", "run_part2", "whole"]
    assert [len(each) for each in (first, second)] == [200, 300]
    assert second.start == pytest.approx(3.0)
    np.testing.assert_allclose(second.torque, whole.torque[300:], atol=1e-9)
    assert "split at 2 gaps" in first.notes[0]
    assert "1 parts of fewer than 10 samples removed" in first.notes[0]
    findings = [f.sentence for f in check_data(settings(tmp_path, **options)).findings]
    assert any("plit at 2 gaps" in sentence for sentence in findings)
    # stretches of one file never stand in two parts of a split by file
    split = split_global([first, second, whole], 0.5, 0.5, by="file")
    assert sorted(len(part) for part in (split.training, split.validation)) == [1, 2]
    shreds = {name: values[np.arange(0, 600, 60)] for name, values in columns.items()}
    shreds["Time_ms"][1::2] = shreds["Time_ms"][::2] + 10.0
    write_csv(tmp_path / "low" / "run.csv", {n: v[:9] for n, v in shreds.items()})
    with pytest.raises(RecordingError, match="gaps"):
        read_series(settings(tmp_path, rate=100.0, **options))


def test_missing_values_are_refused_or_bridged(tmp_path):
    columns = joint_columns()
    columns["Acc_Y"][50:52] = np.nan
    write_csv(tmp_path / "low" / "run.csv", columns)
    options = {"inertia_groups": (InertiaGroup("a", "low", INERTIA),)}
    with pytest.raises(RecordingError, match="2 of 400 values of acceleration are not finite"):
        read_series(settings(tmp_path, **options))
    series = read_series(settings(tmp_path, repair=True, **options))[0]
    assert "2 missing values" in series.notes[0]


def test_a_long_hole_is_a_gap_and_never_a_straight_line(tmp_path):
    columns = joint_columns(600)
    write_csv(tmp_path / "low" / "whole.csv", columns)
    holed = {name: values.copy() for name, values in columns.items()}
    holed["Acc_Y"][200:206] = np.nan
    holed["Commanded_Angle"][205:208] = np.nan  # beside the hole: part of it
    holed["Commanded_Angle"][400:405] = np.nan
    holed["Gyro_Z"][:3] = np.nan
    holed["Encoder_Angle"][-2:] = np.nan
    write_csv(tmp_path / "low" / "run.csv", holed)
    options = {"inertia_groups": (InertiaGroup("a", "low", INERTIA),), "repair": True}
    first, second, whole = read_series(settings(tmp_path, **options))
    assert [(each.start, len(each)) for each in (first, second)] == [
        (pytest.approx(0.03), 197),
        (pytest.approx(2.08), 390),
    ]
    np.testing.assert_allclose(first.torque, whole.torque[3:200], atol=1e-9)
    np.testing.assert_allclose(second.torque, whole.torque[208:598], atol=1e-9)
    # five commands in a row are missing: the last one is held, not drawn on to the next
    goal = second.channels["target_angle_rad"]
    np.testing.assert_allclose(goal[192:197], whole.channels["target_angle_rad"][399], atol=1e-9)
    np.testing.assert_allclose(goal[197:], whole.channels["target_angle_rad"][405:598], atol=1e-9)
    notes = " ".join(second.notes)
    assert "13 rows removed" in notes
    assert "5 missing values of target_angle_rad held" in notes
    assert "split at 1 gaps" in notes


def test_a_channel_that_is_missing_almost_everywhere_is_refused(tmp_path):
    columns = joint_columns()
    columns["Acc_Y"][np.arange(400) % 50 > 0] = np.nan
    write_csv(tmp_path / "low" / "run.csv", columns)
    groups = (InertiaGroup("a", "low", INERTIA),)
    message = r"\('acceleration'\) cannot be used: The recording has 8 samples: at least 10"
    with pytest.raises(RecordingError, match=message):
        read_series(settings(tmp_path, inertia_groups=groups, repair=True))


@pytest.mark.parametrize("repair", [False, True])
def test_a_channel_of_nan_is_refused_whatever_is_asked(tmp_path, repair):
    columns = joint_columns()
    columns["Gyro_Z"][:] = np.nan
    write_csv(tmp_path / "low" / "run.csv", columns)
    groups = (InertiaGroup("a", "low", INERTIA),)
    with pytest.raises(RecordingError, match="current_ang_vel_rad_s contains no finite value"):
        read_series(settings(tmp_path, inertia_groups=groups, repair=repair))
    assert not check_data(settings(tmp_path, inertia_groups=groups, repair=repair)).usable


def test_a_group_folder_that_does_not_exist_is_an_error(folder):
    groups = (InertiaGroup("a", "low", 0.1), InertiaGroup("c", "0.02kgm2", 0.02))
    with pytest.raises(RecordingError, match=r"no folder '0.02kgm2'.*'high', 'low'"):
        read_series(settings(folder, inertia_groups=groups))


def test_a_bad_file_is_an_error_not_skipped(folder):
    (folder / "low" / "zzz.csv").write_text("this,is\nno,recording\n")
    with pytest.raises(RecordingError, match=r"zzz\.csv|Time|time"):
        read_series(settings(folder))


def test_a_rate_far_from_what_was_recorded_is_refused(folder):
    with pytest.raises(RecordingError, match=r"1e\+09 Hz.*run\.csv.*100 Hz.*at most 1000 Hz"):
        read_series(settings(folder, rate=1e9))
    with pytest.raises(RecordingError, match=r"1e-09 Hz.*3\.99 s long.*at least"):
        read_series(settings(folder, rate=1e-9))
    assert len(read_series(settings(folder, rate=1000.0))[0]) == 3991


@pytest.mark.parametrize("pattern", ["/tmp/*", ""])
def test_a_pattern_that_leads_out_of_the_folder_is_refused(folder, pattern):
    with pytest.raises(ExperimentError, match="names within the folder"):
        read_series(settings(folder, pattern=pattern))


def test_groups_come_from_the_list_in_the_folder(folder):
    listed = [{"id": "l", "folder": "low", "inertia": 0.1245}]
    (folder / "inertia_groups.json").write_text(json.dumps(listed))
    series = read_series(DataSettings(str(folder)))
    assert [each.group for each in series] == ["l"]
    assert series[0].channels["inertia_kg_m2"][0] == 0.1245
    # the folder of one group alone is known by the list beside it
    (alone,) = read_series(DataSettings(str(folder / "low")))
    assert (alone.group, alone.channels["inertia_kg_m2"][0]) == ("l", 0.1245)
    (folder / "inertia_groups.json").write_text('{"id": 1}')
    with pytest.raises(ExperimentError, match=r"inertia_groups\.json must be a list"):
        read_series(DataSettings(str(folder)))
    listed[0]["inertia"] = "0.1"
    (folder / "inertia_groups.json").write_text(json.dumps(listed))
    with pytest.raises(ExperimentError, match=r"json\.inertia is '0\.1'; .*without quotes"):
        read_series(DataSettings(str(folder)))


def test_torque_without_inertia_is_an_error(folder):
    with pytest.raises(ExperimentError, match="no inertia"):
        read_series(settings(folder / "low", inertia_groups=()))


def bench(tmp_path, **more):
    times = np.arange(300) / 1000
    for name in ("PMS1", "PMS2", "Nm1"):
        write_csv(
            tmp_path / f"{name}_exp.csv",
            {
                "t": times,
                "posAct": np.sin(9 * times),
                "posDes": np.sin(9 * times + 0.1),
                "velAct": 9 * np.cos(9 * times),
                "torAct": np.cos(times),
                "torEst": np.cos(times) + 0.1,
                "Temp": 30 + times,
            },
        )
    columns = {
        "current_angle_rad": "posAct",
        "target_angle_rad": "posDes",
        "current_ang_vel_rad_s": {"column": "velAct", "unit": "rad/s"},
        "temperature_c": {"column": "Temp", "unit": "degC"},
        "torque": "torAct",
        "reference_torque": "torEst",
    }
    return DataSettings(str(tmp_path), **{"columns": columns, **more})


def test_any_recording_by_column_mapping(tmp_path):
    series = read_series(bench(tmp_path, group_pattern="^(PMS|Nm)"))
    assert [each.group for each in series] == ["Nm", "PMS", "PMS"]
    first = series[0]
    assert first.rate == 1000.0
    np.testing.assert_allclose(first.reference_torque - first.torque, 0.1, atol=1e-9)
    assert first.channels["temperature_c"][0] == pytest.approx(30.0, abs=1e-9)
    assert "angle_error_rad" in first.channels
    ungrouped = read_series(bench(tmp_path))
    assert [each.group for each in ungrouped] == ["Nm1_exp", "PMS1_exp", "PMS2_exp"]


def test_threads_read_the_same(tmp_path):
    one, many = read_series(bench(tmp_path)), read_series(bench(tmp_path, num_workers=3))
    for a, b in zip(one, many, strict=True):
        assert a.name == b.name
        np.testing.assert_array_equal(a.torque, b.torque)


def test_a_target_can_be_any_column(tmp_path):
    columns = {k: v for k, v in bench(tmp_path).columns.items() if k != "torque"}
    series = read_series(bench(tmp_path, columns=columns, target_name="torEst"))
    np.testing.assert_array_equal(series[0].torque, series[0].reference_torque)
    with pytest.raises(ExperimentError, match="remove one of them"):
        read_series(bench(tmp_path, target_name="torEst"))
    with pytest.raises(ColumnError, match="the torque has no column"):
        read_series(bench(tmp_path, columns=columns))


def test_columns_that_do_not_fit_are_named(tmp_path):
    columns = dict(bench(tmp_path).columns)
    wrong = {**columns, "current_ang_vel_rad_s": {"column": "velAct", "unit": "A"}}
    with pytest.raises(UnitError, match="angular velocity"):
        read_series(bench(tmp_path, columns=wrong))
    with pytest.raises(ColumnError, match=r"velAcc.*'velAct'"):
        read_series(bench(tmp_path, columns={**columns, "current_ang_vel_rad_s": "velAcc"}))
    with pytest.raises(ColumnError, match="current_a"):
        read_series(bench(tmp_path, features=("current_a",)))
    with pytest.raises(ExperimentError, match=r"unknown signal 'torq'.*'torque'"):
        bench(tmp_path, columns={"torq": "torAct"})


def test_a_recording_without_clock_takes_the_stated_rate(tmp_path):
    columns = {name: values for name, values in joint_columns().items() if name != "Time_ms"}
    write_csv(tmp_path / "low" / "run.csv", columns)
    options = {"inertia_groups": (InertiaGroup("a", "low", INERTIA),)}
    with pytest.raises(ColumnError, match="time"):
        read_series(settings(tmp_path, **options))
    series = read_series(settings(tmp_path, fallback_sampling_frequency=100.0, **options))[0]
    assert (series.rate, len(series)) == (100.0, 400)


def test_a_turned_gyro_is_found(tmp_path):
    columns = joint_columns()
    columns["Gyro_Z"] = -columns["Gyro_Z"]
    write_csv(tmp_path / "low" / "run.csv", columns)
    found = check_data(settings(tmp_path, inertia_groups=(InertiaGroup("a", "low", 0.1),)))
    assert not found.usable
    with pytest.raises(RecordingError, match="sign of one of them is inverted"):
        found.raise_if_unusable()


def test_what_is_known_to_be_right_can_be_accepted(tmp_path):
    columns = joint_columns()
    columns["Gyro_Z"] = -columns["Gyro_Z"]
    columns["Acc_Y"][:] = 0.0
    write_csv(tmp_path / "low" / "run.csv", columns)
    groups = (InertiaGroup("a", "low", 0.1),)
    given = settings(tmp_path, inertia_groups=groups)
    with pytest.raises(RecordingError, match=r"data\.accept=\[position-velocity\]"):
        read_checked(given)
    accepted = settings(tmp_path, inertia_groups=groups, accept=("position-velocity",))
    with pytest.raises(RecordingError, match=r"is constant(.|\n)*data\.accept=\[torque\]"):
        read_checked(accepted)
    assert not check_data(accepted).usable
    series, found = read_checked(
        settings(tmp_path, inertia_groups=groups, accept=("position-velocity", "torque"))
    )
    assert len(series[0]) == 400
    warnings = [f.check for f in found.all_findings if f.severity == "warning"]
    assert {"position-velocity", "torque"} <= set(warnings)
    assert len(read_checked(given, refuse=False)[0][0]) == 400
    with pytest.raises(ExperimentError, match=r"accept is 'finite'; it must be one of .*'torque'"):
        settings(tmp_path, accept=("finite",))


def test_a_wheel_and_a_free_joint_can_be_accepted(tmp_path):
    columns = joint_columns()
    turned = {n: 60 * v if n in ("Encoder_Angle", "Gyro_Z") else v for n, v in columns.items()}
    free = {**turned, "Commanded_Angle": np.full(400, 7.0)}
    groups = (InertiaGroup("a", "low", 0.1),)
    for columns, kind in ((turned, "units"), (free, "command")):
        write_csv(tmp_path / "low" / "run.csv", columns)
        with pytest.raises(RecordingError, match=rf"data\.accept=\[{kind}\]"):
            read_checked(settings(tmp_path, inertia_groups=groups))
        given = settings(tmp_path, inertia_groups=groups, accept=(kind,))
        _, found = read_checked(given)
        assert kind in {f.check for f in found.doubtful}


def test_one_recording_without_a_command_that_changes_is_no_reason_to_refuse(folder):
    columns = joint_columns()
    columns["Commanded_Angle"][:] = 7.0
    write_csv(folder / "low" / "run.csv", columns)
    assert check_data(settings(folder)).usable


def test_a_joint_that_follows_a_torque_may_turn_far(tmp_path):
    times = np.arange(600) / 100
    columns = {"t": times, "q": 30 * np.sin(times), "v": 30 * np.cos(times), "goal": 0 * times,
               "u": np.cos(times), "tau": np.sin(2 * times)}  # fmt: skip
    names = {"current_angle_rad": "q", "current_ang_vel_rad_s": "v", "target_angle_rad": "goal",
             "commanded_torque_nm": "u", "torque": "tau"}  # fmt: skip
    write_csv(tmp_path / "run.csv", columns)
    found = check_data(DataSettings(str(tmp_path), columns=names))
    assert found.usable
    assert "units" in {f.check for f in found.doubtful}
    write_csv(tmp_path / "run.csv", {**columns, "goal": columns["q"]})
    assert not check_data(DataSettings(str(tmp_path), columns=names)).usable


def test_a_wheel_that_turns_one_way_is_not_in_degrees(tmp_path):
    columns = joint_columns()
    columns["Encoder_Angle"] = 3000.0 * np.arange(400) / 400
    columns["Gyro_Z"] = np.full(400, 750.0)
    columns["Commanded_Angle"] = columns["Encoder_Angle"] + 10.0
    write_csv(tmp_path / "low" / "run.csv", columns)
    assert check_data(settings(tmp_path, inertia_groups=(InertiaGroup("a", "low", 0.1),))).usable


def test_one_stretch_at_rest_refuses_no_recording(tmp_path):
    columns = joint_columns(600)
    columns["Acc_Y"][:200] = 0.0
    kept = np.r_[0:200, 300:600]
    write_csv(tmp_path / "low" / "run.csv", {n: v[kept] for n, v in columns.items()})
    given = settings(tmp_path, inertia_groups=(InertiaGroup("a", "low", 0.1),))
    assert [np.ptp(each.torque) > 0 for each in read_series(given)] == [False, True]
    assert check_data(given).usable


def test_a_turned_gyro_is_found_behind_a_broken_clock(tmp_path):
    columns = joint_columns()
    columns["Gyro_Z"] = -columns["Gyro_Z"]
    columns["Time_ms"][7] = columns["Time_ms"][6]
    write_csv(tmp_path / "low" / "run.csv", columns)
    groups = (InertiaGroup("a", "low", 0.1),)
    found = check_data(settings(tmp_path, inertia_groups=groups, repair=True))
    severities = {f.check: f.severity for f in found.files[0].quality.findings}
    assert severities["duplicate times"] == "warning"
    assert severities["position-velocity"] == "refuse"


def test_reading_writes_nothing_into_the_data_folder(folder):
    before = sorted(folder.rglob("*"))
    check_data(settings(folder))
    read_series(settings(folder))
    assert sorted(folder.rglob("*")) == before


def test_good_recordings_pass_and_their_state_is_told(folder):
    write_csv(folder / "high" / "run.csv", joint_columns(frequency=1.2))
    found = check_data(settings(folder))
    assert found.usable
    found.raise_if_unusable()
    sentences = " ".join(finding.sentence for finding in found.findings)
    assert "2 recordings of 2 groups" in sentences
    assert "100 Hz as recorded" in sentences
    json.dumps(found.to_dict())


def test_clipping_repeats_and_rates_are_found(folder):
    columns = joint_columns(800, 200.0)
    columns["Acc_Y"] = np.clip(columns["Acc_Y"], -1.0, 1.0)
    columns["Time_ms"][5] = columns["Time_ms"][4]
    write_csv(folder / "high" / "run.csv", columns)
    found = check_data(settings(folder))
    checks = {finding.check for file in found.files for finding in file.quality.findings}
    assert {"saturation", "duplicate times"} <= checks
    assert any(f.check == "rates" and f.severity == "refuse" for f in found.findings)
    repaired = check_data(settings(folder, repair=True, rate=100.0))
    assert repaired.usable


def test_settings_survive_json(folder):
    given = settings(
        folder,
        columns={"current_angle_rad": {"column": "posAct", "unit": "deg"}, "torque": "t"},
        torque_terms=TorqueTerms(spring=1.0),
        features=("current_angle_rad",),
    )
    again = DataSettings.from_dict(json.loads(json.dumps(given.to_dict())))
    assert dataclasses.asdict(again) == dataclasses.asdict(given)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sequence_length": 2}, "unknown key 'sequence_length'"),
        ({"torque_terms": {"springs": 1.0}}, "unknown key 'springs'.*'spring'"),
        ({"inertia_groups": [{"id": "a", "dir": "low"}]}, "unknown key 'dir'"),
        ({"inertia_groups": [{"id": "a"}]}, "folder"),
        ({"filter_mode": "zero-phase"}, "zero_phase"),
        ({"global_train_ratio": 0.9, "global_val_ratio": 0.2}, "add up"),
        ({"radius_accel": 0.0}, "positive"),
        ({"batch_size": 0}, "at least 1"),
        ({"batch_size": 2.5}, r"data\.batch_size is 2\.5; expected int"),
        ({"num_workers": 1.5}, r"data\.num_workers is 1\.5; expected int"),
        ({"pattern": 3}, r"data\.pattern is 3; expected str"),
        ({"repair": "maybe"}, r"data\.repair is 'maybe'; expected bool"),
        ({"rate": "abc"}, r"data\.rate is 'abc'; expected float"),
        ({"rate": float("inf")}, r"data\.rate is inf; expected a finite number"),
        ({"radius_accel": True}, r"data\.radius_accel is True; expected float"),
        ({"radius_accel": float("inf")}, r"data\.radius_accel is inf"),
        ({"accel_gravity": "abc"}, r"data\.accel_gravity is 'abc'; expected float"),
        ({"torque_terms": {"viscous": "abc"}}, r"torque_terms\.viscous is 'abc'; expected float"),
        ({"torque_terms": 3}, r"data\.torque_terms is 3; expected keys 'gravity'"),
        ({"features": "current_angle_rad"}, r"expected a list, such as \[current_angle_rad\]"),
        ({"inertia_groups": [{"id": 1, "folder": "a"}]}, r"inertia_groups\[0\]\.id is 1"),
        ({"columns": 3}, "expected keys with values"),
    ],
)
def test_wrong_settings_are_refused(changes, message):
    with pytest.raises(ExperimentError, match=message):
        DataSettings.from_dict({"data_base_dir": "x", **changes})


def test_the_bench_with_a_rounded_clock(recorded_data):
    columns = {
        "current_angle_rad": "posAct",
        "target_angle_rad": "posDes",
        "current_ang_vel_rad_s": "velAct",
        "torque": "torAct",
        "reference_torque": "torEst",
    }
    bench = DataSettings(
        str(recorded_data / "hej90_bench"), columns=columns, pattern="Nm35*", repair=True
    )
    (series,) = read_series(bench)
    assert (series.rate, len(series)) == (1000.0, 9760)
    # times rounded down by a step, and a tail of 250 rows in which the clock stands still
    assert series.notes[:3] == (
        "10 times that were rounded onto the previous one moved",
        "250 rows with a duplicate time removed",
        "1000 Hz as recorded",
    )


def test_targets_that_torque_overrules_follow_the_motion(tmp_path):
    for name in ("angle", "torque"):
        columns = joint_columns()
        columns["torque_set"] = 0.3 * columns["Acc_Y"]
        columns["speed_set"] = 0.0 * columns["Gyro_Z"]
        if name == "torque":
            columns["Commanded_Angle"] = 0.0 * columns["Commanded_Angle"] + 4.0
        write_csv(tmp_path / f"{name}.csv", columns)
    mapped = {
        "current_angle_rad": {"column": "Encoder_Angle", "unit": "deg"},
        "target_angle_rad": {"column": "Commanded_Angle", "unit": "deg"},
        "current_ang_vel_rad_s": {"column": "Gyro_Z", "unit": "deg/s"},
        "target_ang_vel_rad_s": {"column": "speed_set", "unit": "deg/s"},
        "commanded_torque_nm": "torque_set",
        "torque": "Acc_Y",
    }
    given = {"columns": mapped, "features": ("angle_error_rad",)}
    by_angle, by_torque = read_series(DataSettings(str(tmp_path), **given))
    assert np.ptp(by_angle.channels["angle_error_rad"]) > 0.1
    assert not by_angle.channels["target_ang_vel_rad_s"].any()
    assert not by_torque.channels["angle_error_rad"].any()
    velocity = by_torque.channels["current_ang_vel_rad_s"]
    assert np.array_equal(by_torque.channels["target_ang_vel_rad_s"], velocity)
    assert "driven by torque" in " ".join(by_torque.notes)
    kept = read_series(DataSettings(str(tmp_path), **given, idle_target="keep"))[1]
    assert np.ptp(kept.channels["angle_error_rad"]) > 0.1
