"""Groups of recordings that are made of trajectories: they have to fit the model of the group."""

import mujoco
import numpy as np
import pytest

from trueup.errors import SignalError
from trueup.signals import TimeSeries
from trueup.simulation import ModelSequences, create_initial_state

HINGE = """<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody>
<actuator><motor joint="a"/></actuator><sensor><jointpos name="q" joint="a"/></sensor></mujoco>"""


@pytest.fixture
def group():
    spec = mujoco.MjSpec.from_string(HINGE)
    model, times = spec.compile(), 0.01 * np.arange(5.0)
    sensors = TimeSeries(times, np.zeros((5, 1)), TimeSeries.compute_all_sensor_mapping(model))
    controls = TimeSeries(times, np.zeros((5, 1)))
    return ModelSequences("own", spec, ["s"], [create_initial_state(model, [0.1])], [controls],
                          [sensors])  # fmt: skip


def test_trajectories_keep_all_but_their_names_and_model(group):
    made = ModelSequences.from_trajectories("new", group.spec, ["t"], group.measured_rollout)
    (own,), (now,) = group.measured_rollout, made.measured_rollout
    assert (made.name, made.sequence_name, now.name) == ("new", ["t"], "t")
    assert now.model is made.gt_model is not group.gt_model
    assert now.sensordata is own.sensordata and now.control is own.control
    np.testing.assert_array_equal(made.initial_state[0], group.initial_state[0])


def test_trajectories_of_another_model_are_refused(group):
    other = mujoco.MjSpec.from_string(HINGE.replace('<motor joint="a"/>', 2 * '<motor joint="a"/>'))
    with pytest.raises(SignalError, match=r"'s' of 'other'.*2 actuators"):
        ModelSequences.from_trajectories("other", other, ["s"], group.measured_rollout)
    with pytest.raises(SignalError, match="other"):
        ModelSequences.from_trajectories("other", group.spec, [], group.measured_rollout)
