"""Torques of an arm that rests away from zero: the simulation that checks them begins there."""

import numpy as np

from resting_arm import TRUTH, delayed, write_experiment, write_log
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare

SENSORS = (
    '<jointactuatorfrc name="tl" joint="lift"/><jointactuatorfrc name="tb" joint="bend"/>'
    '<jointvel name="vl" joint="lift"/><jointvel name="vb" joint="bend"/>'
)
SIGNALS = "lift_qpos: s0, bend_qpos: s1, tl: s2, tb: s3, vl: s4, vb: s5"


def test_the_simulation_that_checks_torques_begins_with_the_delayed_command_held(tmp_path):
    servos = delayed(0.0193)
    write_log(
        tmp_path, servos, sensors=SENSORS, noise=1e-5,
        columns=lambda data: [*data.qpos, *data.sensordata],
    )  # fmt: skip
    more = "search: {method: inverse-dynamics}\nheld_out: {fraction: 0}"
    text = write_experiment(
        tmp_path, servos, sensors=SENSORS, signals=SIGNALS, more=more, values=TRUTH
    )
    prepared = prepare(parse_experiment(text), tmp_path)
    # late servos are no source of torques: the measured ones are
    assert np.isfinite(prepared.problem().residuals(np.array([list(TRUTH.values())]))).all()
    problem = prepared.motion_problem()
    ((measured, predicted),) = problem.predictions(np.array([list(TRUTH.values())]))
    (sequence,) = problem.sequences
    first = sequence.times < 0.25
    places = {name: k for k, name in enumerate(sequence.channel_names)}
    error = np.abs(predicted[0] - measured[-1])[first].max(axis=0)
    assert error[[places["lift_qpos"], places["bend_qpos"]]].max() < 1e-4
    assert error[[places["tl"], places["tb"]]].max() < 5e-3
