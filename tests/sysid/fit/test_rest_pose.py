"""Recordings that begin at rest away from zero, under the weight of the arm."""

import numpy as np
import pytest

from resting_arm import TRUTH, delayed, sweep, write_experiment, write_log
from trueup.sysid import identify
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

DELAY = "  delay: {target: actuator/*/delay, start: 0.005, bounds: [0.002, 0.038], unit: s}"
PID = (
    '<pid name="ml" joint="lift" kp="60" ki="30" kv="1.5" input="pos"/>'
    '<pid name="mb" joint="bend" kp="50" ki="20" kv="1" imax="3" input="pos"/>'
)
SERVOS = {
    "whole delay": delayed(0.0193, "zoh"),
    "linear delay": delayed(0.0193, "linear"),
    "cubic delay": delayed(0.0193, "cubic"),
    "filter": '<position name="ml" joint="lift" kp="60" kv="2" timeconst="0.05"/>'
    '<general name="mb" joint="bend" dyntype="filter" dynprm="0.03" gainprm="40" '
    'biastype="affine" biasprm="0 -40 -1"/>',
    "pid": PID,
}


def _prepared(folder, text):
    return prepare(parse_experiment(text), folder)


def _early(prepared, sequences=None, seconds=0.25) -> float:
    """Residuals at the truth over the first time of each sequence, in standard deviations."""
    problem = prepared.problem(sequences=sequences)
    pairs = problem.predictions(problem.space.start[None])
    worst = []
    for sequence, (measured, predicted) in zip(problem.sequences, pairs, strict=True):
        first = sequence.times < sequence.times[0] + seconds
        error = measured[-1][first] - predicted[0][first]
        worst.append(np.sqrt(np.mean((error * sequence.weights) ** 2)))
    return max(worst)


@pytest.mark.parametrize("kind", SERVOS)
def test_the_first_residuals_at_the_truth_are_noise(tmp_path, kind):
    write_log(tmp_path, SERVOS[kind])
    prepared = _prepared(tmp_path, write_experiment(tmp_path, SERVOS[kind], values=TRUTH))
    assert len(prepared.parameters) == 2  # rest implies the integrals
    assert _early(prepared) < 2.0
    assert _early(prepared, prepared.held_out) < 3.0


def test_each_recording_begins_with_its_own_command_and_window_with_those_before(tmp_path):
    servos = delayed(0.0193)
    names = ("one", "two", "late")
    for k, name in enumerate(names):
        write_log(tmp_path, servos, sweep((0.5 - k, 0.9 - 0.7 * k)), name, seed=k)
    held_out = "held_out: {recordings: [late]}"
    text = write_experiment(tmp_path, servos, names, values=TRUTH, more=held_out)
    prepared = _prepared(tmp_path, text)
    assert _early(prepared) < 2.0
    assert _early(prepared, prepared.held_out) < 2.0
    cut = _prepared(tmp_path, text + "window: 0.3\n")
    assert len(cut.problem().sequences[0].windows) > 3
    assert _early(cut, seconds=9.0) < 2.0


@pytest.mark.parametrize("initial", ["measured", "estimated", "{qpos: {lift: L, bend: B}}"])
def test_a_start_that_is_estimated_given_or_trimmed_begins_likewise(tmp_path, initial):
    servos = delayed(0.0193)
    rows = write_log(tmp_path, servos)
    start = np.median(rows[:20, 1:3], axis=0)
    known = initial.replace("L", f"{start[0]}").replace("B", f"{start[1]}")
    text = write_experiment(tmp_path, servos, values=TRUTH, each=f", initial: {known}")
    assert _early(_prepared(tmp_path, text)) < 3.0
    # trimmed within the motion, commands before are those of the recording
    trimmed = f", initial: {initial}, trim: {{start: 0.9}}"
    if "qpos" not in initial:
        text = write_experiment(tmp_path, servos, values=TRUTH, each=trimmed)
        assert _early(_prepared(tmp_path, text)) < 6.0


def test_commands_before_the_trimmed_part_count_from_their_last_gap_on(tmp_path):
    servos = delayed(0.0193)
    rows = write_log(tmp_path, servos)
    rows[:60, 3:] = np.nan
    header = "t,s0,s1,u0,u1"
    np.savetxt(tmp_path / "run.csv", rows, delimiter=",", header=header, comments="", fmt="%.17g")
    trimmed = ", initial: estimated, trim: {start: 0.9}"
    text = write_experiment(tmp_path, servos, values=TRUTH, each=trimmed)
    assert _early(_prepared(tmp_path, text)) < 6.0


def test_a_delay_is_identified_from_a_robot_that_rests_away_from_zero(tmp_path):
    write_log(tmp_path, delayed(0.0193), duration=4.0)
    text = write_experiment(tmp_path, delayed(0.004), parameters=DELAY)
    found = identify(parse_experiment(text), tmp_path, output=tmp_path / "out", verbose=False)
    truth = np.array([TRUTH["armature"], TRUTH["damping"], 0.0193])
    np.testing.assert_allclose(found.solution.x, truth, rtol=0.02)
    low, high = found.solution.intervals.T
    spread = high - low
    assert ((low - spread <= truth) & (truth <= high + spread)).all()


def test_integrals_that_rest_does_not_imply_are_unknowns(tmp_path):
    moving = sweep(hold=-0.4)
    write_log(tmp_path, PID, moving, settle=2.0)
    text = write_experiment(tmp_path, PID, each=", initial: estimated")
    prepared = _prepared(tmp_path, text)
    names = {p.name for p in prepared.parameters.free}
    assert {"initial_ml_act_run", "initial_mb_act_run"} < names
    found = identify(parse_experiment(text), tmp_path, output=tmp_path / "out", verbose=False)
    values = dict(zip(found.problem.space.names, found.solution.x, strict=True))
    assert values["armature"] == pytest.approx(TRUTH["armature"], rel=0.1)
    assert values["damping"] == pytest.approx(TRUTH["damping"], rel=0.05)
    # friction may hold a part of the weight
    friction = "  f: {target: joint/*/frictionloss, bounds: [0, 1]}"
    write_log(tmp_path, PID)
    write_log(tmp_path, PID, sweep((-0.4, 0.6)), "two")
    both = write_experiment(tmp_path, PID, ("run", "two"), parameters=friction)
    names = set(_prepared(tmp_path, both).parameters)
    assert {"initial_ml_act_run", "initial_ml_act_two"} < names
    unseen = _prepared(tmp_path, both + "held_out: {recordings: [two]}\n")
    assert "initial_ml_act_two" not in unseen.parameters
    words = "two: the initial integral of 'ml', 'mb' is unknown"
    assert any(words in note for note in unseen.notes)
    # and nothing is unknown where the user has it, or the default is asked for
    own = "  i: {target: state/ml/act, start: 0, bounds: [-1, 1]}\n" + friction
    given = _prepared(tmp_path, write_experiment(tmp_path, PID, parameters=own))
    assert "initial_ml_act_run" not in given.parameters
    default = _prepared(tmp_path, write_experiment(tmp_path, PID, each=", initial: default"))
    assert len(default.parameters) == 2
    assert np.isfinite(default.training[0].initial_state[0]).all()


def test_measured_activations_win(tmp_path):
    def columns(data):
        return [*data.qpos, data.act[0], data.act[1]]

    write_log(tmp_path, PID, sweep(hold=-0.4), settle=0.5, columns=columns, noise=1e-6)
    signals = "lift_qpos: s0, bend_qpos: s1, ml_act: s2, mb_act: s3"
    text = write_experiment(tmp_path, PID, signals=signals, values=TRUTH)
    prepared = _prepared(tmp_path, text)
    assert len(prepared.parameters) == 2
    begun = prepared.training[0].initial_state[0]
    rows = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    np.testing.assert_allclose(begun[5:7], rows[0, 3:5], atol=1e-3)


def test_delayed_sensors_begin_with_their_first_value(tmp_path):
    sensors = "".join(
        f'<jointpos name="{j}_late" joint="{j}" delay="0.02" nsample="12" interp="linear"/>'
        for j in ("lift", "bend")
    )
    servos = delayed(0.0193)
    signals = "lift_qpos: s0, bend_qpos: s1, lift_late: s2, bend_late: s3"
    write_log(tmp_path, servos, sensors=sensors, columns=lambda d: [*d.qpos, *d.sensordata])
    text = write_experiment(
        tmp_path, servos, sensors=sensors, signals=signals, values=TRUTH,
        each=", initial: estimated",
    )  # fmt: skip
    text = text.replace('"*_qpos": {noise: 0.0001}', '"*": {noise: 0.0001}')
    assert _early(_prepared(tmp_path, text)) < 2.0
