"""A robot that rests away from zero: explanation, design and randomisation begin where it does."""

import numpy as np
import pytest

from resting_arm import START, TRUTH, delayed, sweep, write_experiment, write_log
from trueup import sysid
from trueup.design.motion.problem import motion_problem
from trueup.design.recording_noise import typical
from trueup.design.robot.designed_robot import designed_robot
from trueup.explain.log import explained_log, prepare_log
from trueup.randomise import export_randomisation
from trueup.sysid.experiment.file import parse_experiment

PROMPT = (
    '<position name="ml" joint="lift" kp="60" kv="2"/>'
    '<position name="mb" joint="bend" kp="40" kv="1"/>'
)
DELAY = "  delay: {target: actuator/*/delay, start: 0.01, bounds: [0.002, 0.038], unit: s}"


@pytest.mark.parametrize(("true", "late"), [(PROMPT, 0.0), (delayed(0.02), 0.02)])
def test_a_log_is_explained_from_the_pose_in_which_it_rests(tmp_path, true, late):
    write_log(tmp_path, true, duration=2.0)
    text = write_experiment(tmp_path, PROMPT, values=TRUTH)
    log = explained_log(prepare_log(parse_experiment(text), tmp_path), ["delay", "inertia"])
    x = log.start
    (element,) = log.columns["delay"]
    x[element] = late + log.offsets[element]
    ((measured, predicted),) = log.training.predictions(x[None])
    (sequence,) = log.training.sequences
    first = sequence.times < 0.25
    assert np.abs(measured[-1] - predicted[0])[first].max() < 6e-4


def test_a_designed_motion_begins_at_rest_for_each_draw(tmp_path):
    filters = (
        '<position name="ml" joint="lift" kp="60" kv="2" timeconst="0.05"/>'
        '<position name="mb" joint="bend" kp="40" kv="1" delay="0.02" nsample="20"/>'
    )
    more = "design: {duration: 2.0, rate: 100.0, draws: 3, pose: {lift: 0.5, bend: -0.9}}"
    experiment = parse_experiment(write_experiment(tmp_path, filters, more=more))
    robot = designed_robot(experiment, tmp_path, seed=0)
    noise = {name: typical("rad", 1e-4) for name in ("lift_qpos", "bend_qpos")}
    problem = motion_problem(robot, noise, 50, 100.0, ["motion"])
    ((_, predicted),) = problem.predictions(robot.draws)
    at_rest = robot.positions(robot.state[1:3])
    assert not np.allclose(at_rest, [0.5, -0.9], atol=0.01)  # the weight moves a servo
    np.testing.assert_allclose(predicted, np.broadcast_to(at_rest, predicted.shape), atol=1e-4)


def test_draws_of_a_robot_with_a_delay_reproduce_a_recording_that_begins_at_rest(tmp_path):
    for k, name in enumerate(("one", "two")):
        write_log(tmp_path, delayed(0.0193), sweep((0.5 - k, -0.9)), name, seed=k)
    held_out = "held_out: {recordings: [two]}"
    text = write_experiment(
        tmp_path, delayed(0.004), ("one", "two"), parameters=DELAY, more=held_out, values=START
    )
    run = tmp_path / "run"
    sysid.identify(parse_experiment(text), tmp_path, output=run, verbose=False)
    made = export_randomisation(run, tmp_path / "dr", draws=32, seed=1)
    column = dict(zip(made.draws.names, made.draws.values.T, strict=True))
    assert column["delay"].mean() == pytest.approx(0.0193, rel=0.02)
    assert column["armature"].mean() == pytest.approx(TRUTH["armature"], rel=0.02)
