import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trueup.errors import RecordingError, SignalError
from trueup.signals import (
    QUALITY_CHECKS,
    Recording,
    SignalType,
    Stream,
    TimeSeries,
    check_quality,
)
from trueup.signals.quality import check_clocks

RATE = 200.0
TIMES = np.arange(2000) / RATE
ROLES = {"u": "control", "q": "position", "v": "velocity"}
PAIRS = [("q", "v")]


def motion(times=TIMES):
    """A joint that follows its command 30 ms late, with its exact velocity."""
    random = np.random.default_rng(0)
    tones = 2 * np.pi * random.uniform(0.3, 4.0, 40)
    phases = random.uniform(0, 2 * np.pi, 40)
    late = np.outer(times - 0.03, tones) + phases
    return {
        "u": np.cos(np.outer(times, tones) + phases).mean(axis=1),
        "q": np.cos(late).mean(axis=1),
        "v": -(tones * np.sin(late)).mean(axis=1),
    }


def check(times=TIMES, channels=None, **settings_):
    settings_ = {"roles": ROLES, "pairs": PAIRS, **settings_}
    return check_quality(times, motion() if channels is None else channels, **settings_)


def only(report, name):
    findings = report.of_check(name)
    assert len(findings) == 1, [f.sentence for f in report.findings]
    return findings[0]


def changed(**replacements):
    return {**motion(), **replacements}


class TestClocks:
    def test_every_stream_of_a_recording_needs_a_usable_clock(self):
        good = Stream("a", TIMES, {"q": TIMES})
        jumps = Stream("b", np.r_[TIMES[:50], TIMES[50:] + 1e4], {"v": TIMES})
        check_clocks(Recording("run", (good, jumps)))
        for times, words in (
            (TIMES[:9], "9 samples: at least 10"),
            (np.r_[TIMES[:50], TIMES[:50]], "starts again once"),
            (np.r_[TIMES[:50], TIMES[49:60]], "repeat the one before: row 51"),
        ):
            bad = Stream("b", times, {"v": times})
            with pytest.raises(RecordingError, match=f"'run' .'v'. cannot be used.*{words}"):
                check_clocks(Recording("run", (good, bad)))


class TestGoodRecording:
    def test_nothing_but_information(self):
        report = check()
        assert report.usable
        assert {finding.severity for finding in report.findings} == {"info"}
        report.raise_if_unusable("run1")

    def test_delay_and_agreement_are_measured(self):
        report = check()
        assert only(report, "delay").figures["delay"] == pytest.approx(0.03, abs=1e-3)
        agreement = only(report, "position-velocity").figures
        assert agreement["ratio"] == pytest.approx(1.0, abs=0.01)
        assert agreement["correlation"] > 0.999
        assert only(report, "clock").figures["median_step"] == pytest.approx(1 / RATE)

    def test_plain_data_for_json(self):
        data = json.loads(json.dumps(check().to_dict()))
        assert data["usable"] is True
        assert data["trim"] == [TIMES[0], TIMES[-1]]
        assert {entry["check"] for entry in data["findings"]} <= set(QUALITY_CHECKS)

    @given(st.integers(0, 1000), st.integers(2, 400))
    @settings(max_examples=40, deadline=None)
    def test_any_recording_gets_a_report(self, seed, samples):
        random = np.random.default_rng(seed)
        times = np.cumsum(random.choice([0.0, -0.1, 0.01, 0.01, 0.01, 3.0], samples))
        if seed % 2:
            times = np.arange(samples) * 0.01
        values = random.choice([np.nan, 0.0, 1.0, 2.5, np.inf], (3, samples))
        if seed % 3:
            values = np.round(random.normal(size=(3, samples)), seed % 4)
        report = check(times, dict(zip("uqv", values)))
        json.dumps(report.to_dict())
        assert report.usable == (not report.of_severity("refuse"))
        order = [("refuse", "warning", "info").index(f.severity) for f in report.findings]
        assert order == sorted(order)


class TestClock:
    def test_backwards(self):
        times = TIMES.copy()
        times[500:] -= 1.0
        finding = only(check(times), "time order")
        assert finding.severity == "refuse"
        assert "again once, first from 2.495 s to 1.5 s at row 501: 2 runs" in finding.sentence
        assert "run: 1 to run: 2" in finding.sentence

    def test_rows_out_of_order(self):
        times = TIMES.copy()
        times[[500, 501]] = times[[501, 500]]
        finding = only(check(times), "time order")
        assert finding.severity == "refuse"
        assert "backwards once, first from 2.505 s to 2.5 s at row 502" in finding.sentence
        assert "repair: true sorts the rows" in finding.sentence

    def test_duplicates_name_their_lines(self):
        times = TIMES.copy()
        times[[10, 700]] = times[[9, 699]]
        finding = only(check(times, first_line=2), "duplicate times")
        assert finding.severity == "refuse"
        assert "2 of 2000 times" in finding.sentence
        assert "lines 12, 702;" in finding.sentence
        assert "rows 11, 701;" in only(check(times), "duplicate times").sentence

    def test_nan_in_the_clock(self):
        times = TIMES.copy()
        times[3] = np.nan
        report = check(times)
        assert "the first at row 4" in only(report, "time order").sentence
        assert report.trim is None

    def test_gap(self):
        times = TIMES + 2.0 * (TIMES >= 4.0) + 0.1 * (TIMES >= 6.0)
        finding = only(check(times, motion(times)), "gaps")
        assert finding.severity == "warning"
        assert finding.figures["count"] == 2
        assert finding.figures["longest"] == pytest.approx(2.005)
        assert finding.figures["start_of_longest"] == pytest.approx(3.995)

    def test_gap_does_not_spoil_the_comparison_of_position_and_velocity(self):
        times = TIMES + 0.4 * np.floor(TIMES / 0.5)
        figures = only(check(times, motion(times)), "position-velocity").figures
        assert figures["correlation"] > 0.999

    @pytest.mark.parametrize(("spread", "severity"), [(0.01, "info"), (0.2, "warning")])
    def test_jitter(self, spread, severity):
        offsets = np.random.default_rng(0).normal(scale=spread / RATE / np.sqrt(2), size=2000)
        times = TIMES + np.clip(offsets, -0.4 / RATE, 0.4 / RATE)
        finding = only(check(times, motion(times)), "jitter")
        assert finding.severity == severity
        assert finding.figures["standard_deviation"] == pytest.approx(spread / RATE, rel=0.1)

    def test_rounded_times_do_not_jitter(self):
        assert not check(np.round(TIMES + 1.7e9, 6)).of_check("jitter")

    @pytest.mark.parametrize(("samples", "severity"), [(9, "refuse"), (40, "warning")])
    def test_too_few_samples(self, samples, severity):
        channels = {name: values[:samples] for name, values in motion().items()}
        finding = only(check(TIMES[:samples], channels), "samples")
        assert finding.severity == severity
        assert str(samples) in finding.sentence


class TestValues:
    def test_nan(self):
        channels = motion()
        channels["q"][[300, 301, 900]] = np.nan, np.nan, np.inf
        finding = only(check(channels=channels), "finite")
        assert (finding.severity, finding.channel) == ("refuse", "q")
        assert "3 of 2000 values are NaN or infinite, the first at index 300 (1.5 s)" in (
            finding.sentence
        )

    def test_constant(self):
        channels = changed(temperature=np.full(2000, 31.0), v=np.zeros(2000))
        found = {f.channel: f.severity for f in check(channels=channels).of_check("constant")}
        assert found == {"temperature": "info", "v": "warning"}

    @pytest.mark.parametrize("limit", [0.05, 0.1, 0.2])
    def test_clipped_at_both_ends(self, limit):
        clipped = np.clip(motion()["u"], -limit, limit)
        findings = check(channels=changed(u=clipped)).of_check("saturation")
        assert {f.figures["level"] for f in findings} == {-limit, limit}
        for finding in findings:
            held = np.mean(clipped == finding.figures["level"])
            assert finding.severity == "warning"
            assert finding.figures["share"] == pytest.approx(held, rel=0.2)

    def test_clipped_counts_of_an_encoder(self):
        counts = np.round(np.clip(motion()["u"], -1.0, 0.1) * 5000)
        findings = check(channels=changed(u=counts)).of_check("saturation")
        assert [f.figures["level"] for f in findings] == [500.0]

    @pytest.mark.parametrize("resolution", [0.0, 1e-4, 1e-3, 2 * np.pi / 4096, 0.02])
    def test_turning_round_is_not_clipping(self, resolution):
        position = motion()["q"]
        if resolution:
            position = np.round(position / resolution) * resolution
        assert not check(channels=changed(q=position)).of_check("saturation")

    def test_rest_and_square_waves_are_not_clipping(self):
        square = np.sign(np.sin(3 * TIMES))
        staircase = np.repeat(np.random.default_rng(0).normal(size=40), 50)
        smooth = np.clip((TIMES - 2.0) / 3.0, 0.0, 1.0)
        arrival = smooth**3 * (10 - 15 * smooth + 6 * smooth**2)
        report = check(channels=changed(u=square, w=staircase, q=np.round(arrival, 4)))
        assert not report.of_check("saturation")

    @pytest.mark.parametrize("resolution", [2 * np.pi / 4096, 1e-3, 0.02])
    @pytest.mark.parametrize("digits", [15, 6, 4])
    def test_resolution_of_an_encoder(self, resolution, digits):
        position = np.round(np.round(motion()["q"] / resolution) * resolution, digits)
        finding = only(check(channels=changed(q=position)), "quantisation")
        assert finding.channel == "q"
        assert finding.figures["resolution"] == pytest.approx(resolution, rel=1e-3)
        assert finding.severity == ("warning" if resolution == 0.02 else "info")

    def test_continuous_values_have_no_resolution(self):
        assert not check().of_check("quantisation")


class TestUnits:
    @pytest.mark.parametrize(
        ("factor", "words"),
        [
            (180 / np.pi, "velocity looks like deg/s"),
            (np.pi / 180, "position looks like deg"),
            (30 / np.pi, "velocity looks like rpm"),
            (1000.0, "thousand times too large"),
            (-180 / np.pi, "velocity looks like deg/s.*sign is inverted"),
            (-1.0, "sign of one of them is inverted"),
        ],
    )
    def test_wrong_velocity(self, factor, words):
        noise = np.random.default_rng(1).normal(scale=0.01 * abs(factor), size=2000)
        report = check(channels=changed(v=factor * motion()["v"] + noise))
        finding = only(report, "position-velocity")
        assert finding.severity == "refuse"
        assert finding.figures["ratio"] == pytest.approx(factor, rel=0.01)
        with pytest.raises(RecordingError, match=words):
            report.raise_if_unusable("run1")

    def test_gear_ratio_is_a_warning(self):
        finding = only(check(channels=changed(v=100.0 * motion()["v"])), "position-velocity")
        assert finding.severity == "warning"
        assert finding.figures["ratio"] == pytest.approx(100.0, rel=0.01)
        assert "a gear ratio" in finding.sentence

    def test_unrelated_velocity(self):
        finding = only(check(channels=changed(v=motion()["v"][::-1])), "position-velocity")
        assert finding.severity == "warning"
        assert "weakly correlated" in finding.sentence

    def test_declared_units_are_converted(self):
        channels = changed(q=np.degrees(motion()["q"]), v=np.degrees(motion()["v"]))
        report = check(channels=channels, units={"q": "deg", "v": "deg/s"})
        assert "they agree" in only(report, "position-velocity").sentence
        report = check(channels=channels, units={"q": "deg"})
        assert "v" in only(report, "position-velocity").channel
        assert not report.usable

    def test_coarse_encoder_and_slow_motion(self):
        slow = 0.02 * np.sin(0.7 * TIMES)
        channels = changed(q=np.round(slow / 1.5e-3) * 1.5e-3, v=0.014 * np.cos(0.7 * TIMES))
        figures = only(check(channels=channels), "position-velocity").figures
        assert figures["ratio"] == pytest.approx(1.0, abs=0.05)

    def test_joint_at_180_rad(self):
        angle = np.degrees(motion()["q"] / np.ptp(motion()["q"])) * 2 * np.pi
        report = check(channels=changed(q=angle), pairs=[], units={"q": "rad"})
        finding = only(report, "units")
        assert finding.severity == "refuse"
        assert "is it in deg?" in finding.sentence
        assert not check(channels=changed(q=angle), pairs=[], units={"q": "deg"}).of_check("units")

    def test_wheel_is_a_warning_and_can_be_accepted(self):
        report = check(channels=changed(q=30.0 * TIMES), pairs=[])
        assert only(report, "units").severity == "warning"
        back_and_forth = changed(q=100.0 * np.sin(TIMES))
        assert not check(channels=back_and_forth, pairs=[]).usable
        report = check(channels=back_and_forth, pairs=[], accept=["units"])
        assert report.usable
        assert only(report, "units").severity == "warning"

    def test_slide_in_millimetres(self):
        report = check(channels=changed(q=1e3 * motion()["q"]), pairs=[], units={"q": "m"})
        assert "is it in mm?" in only(report, "units").sentence

    def test_clock_in_milliseconds(self):
        report = check(1e3 * TIMES)
        finding = only(report, "units")
        assert finding.severity == "refuse"
        assert "look like ms" in finding.sentence and "200 Hz" in finding.sentence
        assert "times are in ms" in only(report, "position-velocity").sentence

    def test_slow_clock_is_right_where_position_and_velocity_agree(self):
        times = np.arange(500.0)
        channels = {
            "u": np.sin(0.05 * times + 0.2),
            "q": np.sin(0.05 * times),
            "v": 0.05 * np.cos(0.05 * times),
        }
        assert check(times, channels).usable

    def test_wrapped_angle(self):
        angle = 4.0 * np.sin(0.8 * TIMES)
        wrapped = np.mod(angle + np.pi, 2 * np.pi) - np.pi
        report = check(channels=changed(q=wrapped, v=3.2 * np.cos(0.8 * TIMES)))
        assert only(report, "wrapping").severity == "refuse"
        assert "unwrap: true" in only(report, "wrapping").sentence
        assert "they agree" in only(report, "position-velocity").sentence


class TestMotion:
    def resting(self, head=1.5, tail=2.0, noise=0.0):
        times = np.arange(int((head + tail + 10.0) * RATE)) / RATE
        inside = np.clip(times - head, 0.0, 10.0)
        channels = {name: values - values[0] for name, values in motion(inside).items()}
        channels["v"] = np.gradient(channels["q"], times)
        random = np.random.default_rng(2)
        return times, {n: v + noise * random.normal(size=v.size) for n, v in channels.items()}

    @pytest.mark.parametrize("noise", [0.0, 1e-3, 5e-3])
    def test_rest_at_both_ends(self, noise):
        times, channels = self.resting(noise=noise)
        report = check(times + 50.0, channels)
        figures = only(report, "rest").figures
        assert figures["head"] == pytest.approx(1.5, abs=0.05)
        assert figures["tail"] == pytest.approx(2.0, abs=0.05)
        assert report.trim == pytest.approx((51.4, 61.6), abs=0.05)

    def test_rest_at_one_end(self):
        times, channels = self.resting(tail=0.0)
        assert "for the first 1.5" in only(check(times, channels), "rest").sentence
        assert "last" not in only(check(times, channels), "rest").sentence

    def test_mostly_rest_is_a_warning(self):
        times, channels = self.resting(head=9.0, tail=9.0)
        assert only(check(times, channels), "rest").severity == "warning"

    def test_constant_control(self):
        report = check(channels=changed(u=np.full(2000, 0.3)))
        assert not report.usable
        with pytest.raises(
            RecordingError, match=r"'run 7' cannot be used.*\n.*control is constant"
        ):
            report.raise_if_unusable("run 7")

    def test_free_swing_is_accepted_on_request(self):
        report = check(channels=changed(u=np.zeros(2000)), accept=["excitation"])
        assert report.usable
        assert only(report, "excitation").severity == "warning"

    def test_nothing_moves(self):
        flicker = np.random.default_rng(0).integers(0, 2, 2000) * 1e-4
        report = check(channels=changed(q=0.7 + flicker, v=np.zeros(2000)))
        assert not report.usable
        assert "no position or velocity moves" in only(report, "excitation").sentence

    def test_noise_is_not_motion(self):
        noise = np.random.default_rng(0).normal(size=(2, 2000))
        report = check(channels=changed(q=0.7 + 1e-3 * noise[0], v=0.1 * noise[1]))
        assert not report.usable

    def test_one_of_two_joints_rests(self):
        flicker = np.random.default_rng(0).integers(0, 2, 2000) * 1e-4
        report = check(channels=changed(q2=flicker), roles={**ROLES, "q2": "position"})
        assert report.usable
        finding = only(report, "excitation")
        assert (finding.severity, finding.channel) == ("warning", "q2")

    def test_small_motion_is_motion(self):
        small = {name: 1e-6 * values for name, values in motion().items()}
        assert check(channels=small).usable

    def test_white_noise_is_excitation(self):
        noise = np.random.default_rng(0).normal(size=2000)
        turned = np.convolve(noise, np.ones(100) / 100)[:2000]
        report = check(channels=changed(u=noise, q=np.cumsum(turned) / RATE, v=turned))
        assert report.usable
        assert report.of_check("delay")

    def test_late_response_is_a_warning(self):
        late = np.interp(TIMES - 0.2, TIMES, motion()["q"])
        finding = only(check(channels=changed(q=late), pairs=[]), "delay")
        assert finding.severity == "warning"
        assert finding.figures["delay"] == pytest.approx(0.23, abs=2e-3)

    def test_delay_of_a_long_recording_is_taken_where_the_command_moves(self):
        times = np.arange(130_000) / 500.0
        moving = motion(np.arange(10_000) / 500.0)
        channels = {
            name: np.concatenate(
                (np.full(119_000, moving[name][0]), moving[name], np.full(1_000, moving[name][-1]))
            )
            for name in ("u", "q")
        }
        report = check_quality(times, channels, roles={"u": "control", "q": "position"})
        assert only(report, "delay").figures["delay"] == pytest.approx(0.03, abs=1e-3)
        assert only(report, "rest").figures["head"] == pytest.approx(238.0, abs=0.1)

    def test_each_control_finds_its_response(self):
        channels = motion()
        other = np.interp(TIMES[::-1], TIMES, channels["u"])
        answers = {
            "q1": channels["q"],
            "q2": np.interp(TIMES - 0.05, TIMES, other),
            "q3": np.cos(TIMES),
        }
        roles = {"a": "control", "b": "control"} | dict.fromkeys(answers, "position")
        report = check_quality(TIMES, {"a": other, "b": channels["u"], **answers}, roles=roles)
        assert {f.channel for f in report.of_check("delay")} == {"a / q2", "b / q1"}
        report = check_quality(
            TIMES,
            {"a": other, "b": channels["u"], **answers},
            roles=roles,
            responses={"a": "q3"},
        )
        assert [f.channel for f in report.of_check("delay")] == ["a / q3"]


class TestArguments:
    def test_time_series_brings_roles_and_pairs(self):
        channels = motion()
        mapping = {
            "m_ctrl": (SignalType.MjCtrl, np.array([2])),
            "j_qpos": (SignalType.MjStateQPos, np.array([0])),
            "j_qvel": (SignalType.MjStateQVel, np.array([1])),
            "imu": (SignalType.MjSensor, np.array([0, 1])),
        }
        data = np.stack([channels["q"], channels["v"], channels["u"]], axis=1)
        report = check_quality(TimeSeries(TIMES, data, mapping))
        assert only(report, "position-velocity").channel == "j_qpos / j_qvel"
        assert only(report, "delay").channel == "m_ctrl / j_qpos"
        with pytest.raises(SignalError, match="no signal mapping"):
            check_quality(TimeSeries(TIMES, data))

    def test_wide_channel_is_checked_by_column(self):
        wide = np.zeros((2000, 2))
        wide[:, 0] = np.sin(TIMES)
        wide[4, 1] = np.nan
        assert only(check_quality(TIMES, {"imu": wide}), "finite").channel == "imu[1]"

    @pytest.mark.parametrize(
        ("settings_", "message"),
        [
            ({"roles": {"qq": "position"}}, r"unknown channel 'qq' in roles. Did you mean 'q'"),
            ({"roles": {"q": "positon"}}, "Did you mean 'position'"),
            ({"pairs": [("q", "w")]}, r"unknown channel 'w' in pairs.*'u', 'q', 'v'"),
            ({"pairs": ["qv"]}, "a pair must be"),
            ({"units": {"x": "rad"}}, "unknown channel 'x' in units"),
            ({"responses": {"u": "x"}}, "unknown channel 'x' in responses"),
            ({"accept": ["unit"]}, "Did you mean 'units'"),
            ({"accept": ["finite"]}, "cannot be accepted"),
        ],
    )
    def test_wrong_arguments(self, settings_, message):
        with pytest.raises(SignalError, match=message):
            check(**settings_)

    def test_length(self):
        with pytest.raises(SignalError, match=r"'q' has shape \(1999,\), the clock has 2000"):
            check(channels=changed(q=TIMES[1:]))


def ur10e(recorded_data, file):
    rows = np.genfromtxt(recorded_data / "ur10e" / file, delimiter=",")
    channels, roles, pairs = {}, {}, []
    for joint in range(6):
        names = f"q{joint + 1}", f"dq{joint + 1}", f"i{joint + 1}"
        for name, column, role in zip(names, (1, 7, 19), ("position", "velocity", "control")):
            channels[name], roles[name] = rows[:, column + joint], role
        pairs.append(names[:2])
    return rows[:, 0], channels, roles, pairs


class TestRecordings:
    def test_arm_rests_at_both_ends_and_its_clock_jitters(self, recorded_data):
        times, channels, roles, pairs = ur10e(
            recorded_data, "identification_data/ur-20_01_31-load.csv"
        )
        report = check_quality(times, channels, roles=roles, pairs=pairs)
        assert report.usable
        rest = only(report, "rest").figures
        assert rest["head"] == pytest.approx(3.69, abs=0.05)
        assert rest["tail"] == pytest.approx(2.81, abs=0.05)
        jitter = only(report, "jitter")
        assert jitter.severity == "warning"
        assert jitter.figures["largest"] == pytest.approx(2e-3, rel=0.01)
        agreement = report.of_check("position-velocity")
        assert len(agreement) == 6
        assert all(f.figures["ratio"] == pytest.approx(1.0, abs=0.005) for f in agreement)
        assert not report.of_check("saturation")

    def test_velocity_in_degrees_is_refused(self, recorded_data):
        times, channels, roles, pairs = ur10e(
            recorded_data, "identification_data/ur-20_01_31-load.csv"
        )
        channels["dq3"] = np.degrees(channels["dq3"])
        report = check_quality(times, channels, roles=roles, pairs=pairs)
        (refusal,) = report.of_severity("refuse")
        assert refusal.channel == "q3 / dq3"
        assert "deg/s" in refusal.sentence

    def test_arm_that_holds_a_pose_is_refused(self, recorded_data):
        times, channels, roles, pairs = ur10e(recorded_data, "validation_data/ur-20_01_17-p1.csv")
        report = check_quality(times, channels, roles=roles, pairs=pairs)
        with pytest.raises(RecordingError, match="no position or velocity moves"):
            report.raise_if_unusable("p1")

    def test_axis_on_a_clean_clock(self, recorded_data):
        from scipy.io import loadmat

        columns = loadmat(recorded_data / "emps" / "DATA_EMPS.mat")
        channels = {name: columns[name][:, 0] for name in ("qg", "qm", "vir")}
        report = check_quality(
            columns["t"][:, 0],
            channels,
            roles={"qg": "control", "qm": "position"},
            units={"qm": "m", "qg": "m"},
        )
        assert {finding.check for finding in report.findings} == {"clock", "delay"}
        assert only(report, "delay").figures["delay"] == pytest.approx(0.007, abs=0.002)

    def test_servo_with_a_twelve_bit_encoder(self, recorded_data):
        file = recorded_data / "xl330_bench" / "xl330_kp100_sin_sin.json"
        entries = json.loads(file.read_text())["entries"]
        times, position, speed, goal = (
            np.array([entry[key] for entry in entries], dtype=float)
            for key in ("timestamp", "position", "speed", "goal_position")
        )
        report = check(times, {"u": goal, "q": position, "v": speed})
        assert report.usable
        steps = {f.channel: f.figures["resolution"] for f in report.of_check("quantisation")}
        assert steps["q"] == pytest.approx(2 * np.pi / 4096, rel=1e-4)
        # The servo counts its speed in 0.229 turns a minute.
        assert steps["v"] == pytest.approx(0.229 * 2 * np.pi / 60, rel=1e-3)
