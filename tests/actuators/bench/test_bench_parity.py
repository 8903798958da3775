"""The bench against rollouts of Better Actuator Models, to 1e-9."""

import json

import numpy as np
import pytest
from bench_logs import recorded_logs

from trueup.actuators import BenchSimulator, load_model

MODELS = ("m1", "m2", "m3", "m4", "m5", "m6")


@pytest.fixture(scope="module")
def logs(recorded_data, tmp_path_factory):
    return recorded_logs(recorded_data, tmp_path_factory.mktemp("as_reference"))


def bench(recorded_data, logs, name):
    model = load_model(recorded_data / "actuator_params" / "xl330" / f"{name}.json")
    return BenchSimulator(model, logs, scheme="bam")


@pytest.mark.parametrize("name", MODELS)
def test_positions_are_those_of_the_reference(recorded_data, logs, name):
    golden = np.load(recorded_data / "golden" / "bam_xl330_positions_dev.npz")
    simulator = bench(recorded_data, logs, name)
    motion = simulator.simulate()
    compared = 0
    for log, position in zip(logs, motion.position, strict=True):
        if f"{log.name}/{name}" in golden:
            compared += 1
            assert position[0, 0] == log.position[0]
            np.testing.assert_allclose(position[0], golden[f"{log.name}/{name}"], atol=1e-9)
    assert compared == 2


@pytest.mark.parametrize("name", MODELS)
def test_errors_are_those_of_the_reference(recorded_data, logs, name):
    golden = json.loads((recorded_data / "golden" / "bam_xl330_mae_dev.json").read_text())
    simulator = bench(recorded_data, logs, name)
    errors = simulator.log_costs(simulator.model.vector())[0]
    expected = [golden[log.name][name] for log in logs]
    np.testing.assert_allclose(errors, expected, atol=1e-9)
    # without cutting the logs to the shortest one
    assert {len(log) for log in logs} == {1200, 1201}
    assert simulator.costs(simulator.model.vector())[0] == pytest.approx(
        np.mean(expected), abs=1e-9
    )
