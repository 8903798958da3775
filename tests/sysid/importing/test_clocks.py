"""Clocks of recordings for a new experiment file."""

import numpy as np
import pytest

from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.importing.template import propose_experiment

MODEL = """
<mujoco>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0" armature="0.05"/>
      <geom type="capsule" fromto="0 0 0 0 0 -0.3" size="0.02" mass="0.5"/>
    </body>
  </worldbody>
  <actuator><motor name="motor" joint="hinge"/></actuator>
</mujoco>
"""


@pytest.mark.parametrize(("unit", "counts"), [("s", 1.0), ("ms", 1e3), ("us", 1e6), ("ns", 1e9)])
@pytest.mark.parametrize("column", ["t", "time", "stamp"])
def test_the_unit_of_a_clock_is_found_from_its_rate(tmp_path, column, unit, counts):
    times = 0.002 * np.arange(500)
    rows = np.stack([times * counts, np.sin(3 * times), 3 * np.cos(3 * times), np.cos(times)], 1)
    log, model = tmp_path / "run.csv", tmp_path / "model.xml"
    head = f"{column},hinge_pos,hinge_vel,hinge_torque"
    np.savetxt(log, rows, delimiter=",", header=head, comments="", fmt="%.12g")
    model.write_text(MODEL)
    proposal = propose_experiment(model, [log], tmp_path)
    experiment = parse_experiment(proposal.text)
    assert (experiment.recordings[0].time, experiment.recordings[0].time_unit or "s") == (
        column,
        unit,
    )
    (sequence,) = prepare(experiment, tmp_path).problem().sequences
    np.testing.assert_allclose(np.diff(sequence.times), 0.002, rtol=1e-6)
