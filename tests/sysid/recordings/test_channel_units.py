"""Units of recorded columns against the quantities of a model's signals."""

import mujoco
import numpy as np
import pytest

from trueup.errors import UnitError
from trueup.sysid.experiment.file import parse_experiment
from trueup.sysid.experiment.preparation import prepare
from trueup.sysid.recordings.channel_units import check_unit

MODEL = """
<mujoco>
  <worldbody>
    <body>
      <joint name="hinge" axis="0 1 0" armature="0.1"/><geom size="0.1" contype="0"/>
      <site name="here"/>
    </body>
    <body><joint name="slide" type="slide"/><geom size="0.1" contype="0"/></body>
  </worldbody>
  <tendon><fixed name="sum"><joint joint="hinge" coef="1"/></fixed></tendon>
  <actuator><motor name="motor" joint="hinge"/></actuator>
  <sensor>
    <jointpos name="angle" joint="hinge"/><jointpos name="way" joint="slide"/>
    <gyro name="gyro" site="here"/><accelerometer name="shake" site="here"/>
    <jointactuatorfrc name="torque" joint="hinge"/><tendonpos name="tendon" tendon="sum"/>
  </sensor>
</mujoco>
"""


@pytest.mark.parametrize(
    ("signal", "unit"),
    [
        ("angle", "deg"), ("angle", "counts"), ("way", "mm"), ("gyro", "rpm"), ("shake", "gn"),
        ("torque", "mN m"), ("tendon", "deg"), ("tendon", "mm"), ("hinge_qvel", "turn/s"),
        ("slide_qpos", "m"),
    ],
)  # fmt: skip
def test_units_of_the_quantity_of_a_signal_fit(signal, unit):
    check_unit(mujoco.MjModel.from_xml_string(MODEL), "run", signal, "column", unit)


@pytest.mark.parametrize(
    ("signal", "unit", "words"),
    [
        ("angle", "mm",
         r"'angle' in rad \(angle\).*'c' is 'mm' \(length\).*Valid units are 'rad', 'mrad'"),
        ("angle", "N", r"'N' \(force\)"), ("angle", "ms", r"'ms' \(time\)"),
        ("angle", "rad/s", "angular velocity"), ("way", "deg", "'m', 'cm', 'mm'"),
        ("shake", "m/s", r"m/s\^2 \(acceleration\)"), ("torque", "A", r"N m \(torque\)"),
        ("hinge_qpos", "mm", "'hinge_qpos'"), ("hinge_qvel", "deg", "'rad/s', 'mrad/s'"),
    ],
)  # fmt: skip
def test_units_of_another_quantity_are_refused(signal, unit, words):
    with pytest.raises(UnitError, match=words):
        check_unit(mujoco.MjModel.from_xml_string(MODEL), "run", signal, "c", unit)


def test_an_experiment_with_a_unit_of_another_quantity_is_refused(tmp_path):
    (tmp_path / "model.xml").write_text(MODEL)
    t = 0.002 * np.arange(500)
    table = np.stack([t, np.sin(t), np.sin(9 * t)], axis=1)
    np.savetxt(tmp_path / "run.csv", table, delimiter=",", header="t,q,u", comments="")
    text = """
model: {file: model.xml}
recordings:
  - {file: run.csv, signals: {hinge_qpos: {column: q, unit: UNIT}}, controls: {motor: u}}
parameters: {armature: {target: joint/hinge/armature, bounds: [0.01, 1]}}
"""
    prepare(parse_experiment(text.replace("UNIT", "deg")), tmp_path)
    with pytest.raises(UnitError, match=r"recording 'run'.*'hinge_qpos'.*column 'q' is 'mm'"):
        prepare(parse_experiment(text.replace("UNIT", "mm")), tmp_path)
