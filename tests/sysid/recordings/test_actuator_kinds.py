"""What recordings, checks and torques take an actuator for follows from its type."""

import mujoco
import numpy as np
import pytest

from trueup.errors import TargetError
from trueup.signals import Recording, Stream
from trueup.sysid.assess.deciding_settings import loop_gains
from trueup.sysid.importing.columns.matching import commandable, match_columns
from trueup.sysid.importing.proposed_parameters import largest_torques
from trueup.sysid.model_modifier import get_actuator_pd_gains, is_position_actuator

_PID = '<pid name="a" joint="j" kp="20" ki="20" kv="0.5" input="pos"/>'
_VOLTAGE = '<dcmotor name="a" joint="j" motorconst="0.5" resistance="2" gear="3"/>'
_CONTROLLED = (
    '<dcmotor name="a" joint="j" motorconst="0.5" resistance="2" input="pos" '
    'controller="3 0 0.2 0 0 0"/>'
)


def _model(actuator: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(
        f"""
        <mujoco>
          <worldbody>
            <body name="arm">
              <joint name="j" axis="0 1 0" armature="0.02"/>
              <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.02" mass="0.5"/>
            </body>
          </worldbody>
          <actuator>{actuator}</actuator>
        </mujoco>"""
    )


@pytest.mark.parametrize(
    ("actuator", "quantity", "what"),
    [
        (_PID, "position", "position servo on j"),
        (_CONTROLLED, "position", "position servo on j"),
        (_VOLTAGE, "voltage", "motor with a voltage on j"),
        ('<intvelocity name="a" joint="j" kp="5"/>', "velocity", "velocity servo on j"),
        ('<velocity name="a" joint="j" kv="5"/>', "velocity", "velocity servo on j"),
        ('<motor name="a" joint="j"/>', "effort", "actuator on j"),
        # a torque motor whose bias is the back-EMF, which is no velocity servo
        ('<general name="a" joint="j" biastype="affine" biasprm="0 0 -0.3"/>', "effort",
         "actuator on j"),
    ],
)  # fmt: skip
def test_a_command_is_what_the_type_takes(actuator, quantity, what):
    place = commandable(_model(actuator))[0]
    assert (place.quantity, place.what) == (quantity, what)


def test_a_recorded_torque_is_no_voltage():
    times = np.arange(50) * 0.01
    columns = {"j_pos": np.sin(times), "j_torque": np.cos(times)}
    recording = Recording("log", (Stream("", times, columns),))
    _, controls = match_columns(recording, _model(_VOLTAGE))
    assert not controls


def test_the_torque_of_a_voltage_is_that_of_constant_and_resistance():
    commands = {"a": np.array([0.0, -4.0, 2.0])}
    assert largest_torques(_model(_VOLTAGE), commands) == {0: pytest.approx(4.0 * 0.5 / 2 * 3)}
    motor = '<motor name="a" joint="j" gear="5"/>'
    assert largest_torques(_model(motor), commands) == {0: pytest.approx(20.0)}
    for servo in (_PID, _CONTROLLED):
        assert largest_torques(_model(servo), commands) == {}


@pytest.mark.parametrize(
    ("actuator", "gain"),
    [
        ('<position name="a" joint="j" kp="9" kv="4"/>', "4"),
        ('<pid name="a" joint="j" kp="9" kv="4" input="pos"/>', "4"),
        ('<dcmotor name="a" joint="j" motorconst="2" resistance="0.5"/>', "8"),
        (_CONTROLLED.replace("0.2", "5"), "5"),
    ],
)
def test_the_damping_of_a_law_is_warned_of_by_its_type(actuator, gain):
    assert f"a velocity gain of {gain};" in loop_gains(_model(actuator))[0]


@pytest.mark.parametrize(
    "actuator",
    [
        '<motor name="a" joint="j"/>',
        # the first numbers of a cogging motor look like those of a servo's bias
        '<dcmotor name="a" joint="j" motorconst="0.01" resistance="2" cogging="0 7 -90"/>',
    ],
)
def test_a_law_without_damping_is_not_warned_of(actuator):
    assert loop_gains(_model(actuator)) == []


def test_gains_of_a_position_servo_are_those_of_no_other_type():
    """With equal gains a PID servo has the numbers of a position servo."""
    model = _model(_PID)
    assert not is_position_actuator(model.actuator("a"))
    with pytest.raises(TargetError, match="of the type 'pid'"):
        get_actuator_pd_gains(model, "a")
    model = _model('<position name="a" joint="j" kp="20" kv="0.5"/>')
    assert get_actuator_pd_gains(model, "a") == (20.0, 0.5)
